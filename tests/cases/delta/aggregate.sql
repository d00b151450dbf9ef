-- title: the columns suffice as state
SELECT region, COUNT(*) AS n, COUNT(qty) AS c, SUM(qty) AS s, AVG(qty) AS a FROM orders GROUP BY region
---- plan
public table (region, n, c, s, a)
  kept per (region)
    n = COUNT(*): merged
    c = COUNT(qty): merged
    s = SUM(qty): merged
    a = AVG(qty): computed from its sum and count
  Aggregate by [region] compute [COUNT(*) AS n, COUNT(qty) AS c, SUM(qty) AS s, AVG(qty) AS a]
    Scan orders [region, qty]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_key_0` AS `region`,
        `_trickle_n`,
        `_trickle_lost`,
        `_trickle_change_c`,
        `_trickle_change_s`
      FROM (
        SELECT
          `region` AS `_trickle_key_0`,
          SUM(`_trickle_weight`) AS `_trickle_n`,
          SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END) AS `_trickle_lost`,
          SUM(CASE WHEN NOT `qty` IS NULL THEN `_trickle_weight` ELSE 0 END) AS `_trickle_change_c`,
          SUM(CAST(`qty` AS BIGINT) * `_trickle_weight`) AS `_trickle_change_s`
        FROM `changes`.`orders` AS `q2`
        GROUP BY
          `region`
      ) AS `q1`
      WHERE
        `_trickle_n` <> 0 OR `_trickle_change_c` <> 0 OR `_trickle_change_s` <> 0
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_n`, `_trickle_r`.`_trickle_old_c`, `_trickle_r`.`_trickle_old_s`, `_trickle_r`.`_trickle_old_a`, `_trickle_r`.`n`, `_trickle_r`.`c`, `_trickle_r`.`s`, `_trickle_r`.`a`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_c` IS NOT DISTINCT FROM `_trickle_r`.`c` AND `_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND (`_trickle_r`.`_trickle_old_a` IS NOT DISTINCT FROM `_trickle_r`.`a` AND CAST(`_trickle_r`.`_trickle_old_a` AS STRING) IS NOT DISTINCT FROM CAST(`_trickle_r`.`a` AS STRING)) AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_c` IS NOT DISTINCT FROM `_trickle_r`.`c` AND `_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND (`_trickle_r`.`_trickle_old_a` IS NOT DISTINCT FROM `_trickle_r`.`a` AND CAST(`_trickle_r`.`_trickle_old_a` AS STRING) IS NOT DISTINCT FROM CAST(`_trickle_r`.`a` AS STRING)) AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_s`.`region` AS `region`, `_trickle_t`.`n` AS `_trickle_old_n`, `_trickle_t`.`c` AS `_trickle_old_c`, `_trickle_t`.`s` AS `_trickle_old_s`, `_trickle_t`.`a` AS `_trickle_old_a`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`n` + `_trickle_s`.`_trickle_n` ELSE `_trickle_s`.`_trickle_n` END AS `n`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`c` + `_trickle_s`.`_trickle_change_c` ELSE `_trickle_s`.`_trickle_change_c` END AS `c`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN CASE WHEN `_trickle_t`.`c` + `_trickle_s`.`_trickle_change_c` > 0 THEN CAST(COALESCE(`_trickle_t`.`s`, 0) + COALESCE(`_trickle_s`.`_trickle_change_s`, 0) AS DECIMAL(38, 0)) END ELSE CASE WHEN `_trickle_s`.`_trickle_change_c` > 0 THEN CAST(`_trickle_s`.`_trickle_change_s` AS DECIMAL(38, 0)) END END AS `s`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN CASE WHEN `_trickle_t`.`c` + `_trickle_s`.`_trickle_change_c` > 0 THEN CAST(CASE WHEN `_trickle_t`.`c` + `_trickle_s`.`_trickle_change_c` > 0 THEN CAST(COALESCE(`_trickle_t`.`s`, 0) + COALESCE(`_trickle_s`.`_trickle_change_s`, 0) AS DECIMAL(38, 0)) END AS DOUBLE) / (`_trickle_t`.`c` + `_trickle_s`.`_trickle_change_c`) END ELSE CASE WHEN `_trickle_s`.`_trickle_change_c` > 0 THEN CAST(CASE WHEN `_trickle_s`.`_trickle_change_c` > 0 THEN CAST(`_trickle_s`.`_trickle_change_s` AS DECIMAL(38, 0)) END AS DOUBLE) / `_trickle_s`.`_trickle_change_c` END END AS `a`, NOT `_trickle_t`.`_trickle_there` IS NULL AS `_trickle_there`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`n` + `_trickle_s`.`_trickle_n` = 0 ELSE `_trickle_s`.`_trickle_n` <= 0 END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` LEFT JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t` ON `_trickle_t`.`region` IS NOT DISTINCT FROM `_trickle_s`.`region`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          `_trickle_x`.`region`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT `region`, COUNT(*) AS `n`, COUNT(`qty`) AS `c`, SUM(`qty`) AS `s`, AVG(`qty`) AS `a` FROM (SELECT `region`, `qty` FROM `after`.`orders` AS `q2` WHERE KEY_RANGE(`region`, `step`.`groups`.`region`, NULLS)) AS `q1` LEFT SEMI JOIN (SELECT `region` AS `_trickle_group_0` FROM `step`.`groups` AS `q4`) AS `q3` ON `region` IS NOT DISTINCT FROM `_trickle_group_0` GROUP BY `region`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_n`, `_trickle_r`.`_trickle_old_c`, `_trickle_r`.`_trickle_old_s`, `_trickle_r`.`_trickle_old_a`, `_trickle_r`.`n`, `_trickle_r`.`c`, `_trickle_r`.`s`, `_trickle_r`.`a`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_c` IS NOT DISTINCT FROM `_trickle_r`.`c` AND `_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND (`_trickle_r`.`_trickle_old_a` IS NOT DISTINCT FROM `_trickle_r`.`a` AND CAST(`_trickle_r`.`_trickle_old_a` AS STRING) IS NOT DISTINCT FROM CAST(`_trickle_r`.`a` AS STRING)) AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_c` IS NOT DISTINCT FROM `_trickle_r`.`c` AND `_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND (`_trickle_r`.`_trickle_old_a` IS NOT DISTINCT FROM `_trickle_r`.`a` AND CAST(`_trickle_r`.`_trickle_old_a` AS STRING) IS NOT DISTINCT FROM CAST(`_trickle_r`.`a` AS STRING)) AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`region` AS `region`, `_trickle_x`.`_trickle_old_n` AS `_trickle_old_n`, `_trickle_x`.`_trickle_old_c` AS `_trickle_old_c`, `_trickle_x`.`_trickle_old_s` AS `_trickle_old_s`, `_trickle_x`.`_trickle_old_a` AS `_trickle_old_a`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`n` ELSE `_trickle_x`.`n` END AS `n`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`c` ELSE `_trickle_x`.`c` END AS `c`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`s` ELSE `_trickle_x`.`s` END AS `s`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`a` ELSE `_trickle_x`.`a` END AS `a`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON `_trickle_x`.`region` IS NOT DISTINCT FROM `_trickle_r`.`region`) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

-- title: a sum needs companions
SELECT region, SUM(amount) AS s FROM orders GROUP BY region
---- plan
internal table state_e2326da9 (region, s, _trickle_n, _trickle_count_s)
  kept per (region)
    s = SUM(amount): merged
    _trickle_n = COUNT(*): merged
    _trickle_count_s = COUNT(amount): merged
  Aggregate by [region] compute [SUM(amount) AS s, COUNT(*) AS _trickle_n, COUNT(amount) AS _trickle_count_s]
    Scan orders [region, amount]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_key_0` AS `region`,
        `_trickle_n`,
        `_trickle_lost`,
        `_trickle_change_s`,
        `_trickle_change__trickle_count_s`
      FROM (
        SELECT
          `region` AS `_trickle_key_0`,
          SUM(`_trickle_weight`) AS `_trickle_n`,
          SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END) AS `_trickle_lost`,
          CAST(SUM(`amount` * CAST(`_trickle_weight` AS DECIMAL(10, 0))) AS DECIMAL(38, 2)) AS `_trickle_change_s`,
          SUM(CASE WHEN NOT `amount` IS NULL THEN `_trickle_weight` ELSE 0 END) AS `_trickle_change__trickle_count_s`
        FROM `changes`.`orders` AS `q2`
        GROUP BY
          `region`
      ) AS `q1`
      WHERE
        `_trickle_n` <> 0
        OR `_trickle_change_s` <> 0
        OR `_trickle_change__trickle_count_s` <> 0
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_s`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_old__trickle_count_s`, `_trickle_r`.`s`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_count_s`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND `_trickle_r`.`_trickle_old__trickle_count_s` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_s` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND `_trickle_r`.`_trickle_old__trickle_count_s` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_s` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_s`.`region` AS `region`, `_trickle_t`.`s` AS `_trickle_old_s`, `_trickle_t`.`_trickle_n` AS `_trickle_old__trickle_n`, `_trickle_t`.`_trickle_count_s` AS `_trickle_old__trickle_count_s`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN CASE WHEN `_trickle_t`.`_trickle_count_s` + `_trickle_s`.`_trickle_change__trickle_count_s` > 0 THEN CAST(COALESCE(`_trickle_t`.`s`, 0) + COALESCE(`_trickle_s`.`_trickle_change_s`, 0) AS DECIMAL(38, 2)) END ELSE CASE WHEN `_trickle_s`.`_trickle_change__trickle_count_s` > 0 THEN CAST(`_trickle_s`.`_trickle_change_s` AS DECIMAL(38, 2)) END END AS `s`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` ELSE `_trickle_s`.`_trickle_n` END AS `_trickle_n`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_count_s` + `_trickle_s`.`_trickle_change__trickle_count_s` ELSE `_trickle_s`.`_trickle_change__trickle_count_s` END AS `_trickle_count_s`, NOT `_trickle_t`.`_trickle_there` IS NULL AS `_trickle_there`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` = 0 ELSE `_trickle_s`.`_trickle_n` <= 0 END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` LEFT JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t` ON `_trickle_t`.`region` IS NOT DISTINCT FROM `_trickle_s`.`region`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          `_trickle_x`.`region`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT `region`, SUM(`amount`) AS `s`, COUNT(*) AS `_trickle_n`, COUNT(`amount`) AS `_trickle_count_s` FROM (SELECT `region`, `amount` FROM `after`.`orders` AS `q2` WHERE KEY_RANGE(`region`, `step`.`groups`.`region`, NULLS)) AS `q1` LEFT SEMI JOIN (SELECT `region` AS `_trickle_group_0` FROM `step`.`groups` AS `q4`) AS `q3` ON `region` IS NOT DISTINCT FROM `_trickle_group_0` GROUP BY `region`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_s`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_old__trickle_count_s`, `_trickle_r`.`s`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_count_s`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND `_trickle_r`.`_trickle_old__trickle_count_s` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_s` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND `_trickle_r`.`_trickle_old__trickle_count_s` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_s` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`region` AS `region`, `_trickle_x`.`_trickle_old_s` AS `_trickle_old_s`, `_trickle_x`.`_trickle_old__trickle_n` AS `_trickle_old__trickle_n`, `_trickle_x`.`_trickle_old__trickle_count_s` AS `_trickle_old__trickle_count_s`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`s` ELSE `_trickle_x`.`s` END AS `s`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`_trickle_n` ELSE `_trickle_x`.`_trickle_n` END AS `_trickle_n`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`_trickle_count_s` ELSE `_trickle_x`.`_trickle_count_s` END AS `_trickle_count_s`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON `_trickle_x`.`region` IS NOT DISTINCT FROM `_trickle_r`.`region`) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

public table (region, s)
  kept by key (region)
  Project [region, s]
    Scan internal:state_e2326da9 [region, s]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `region`,
        `s`,
        `_trickle_weight`
      FROM (
        SELECT
          `region`,
          `s`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM `changes`.`internal:state_e2326da9` AS `q2`
        GROUP BY
          `region`,
          `s`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: extrema need none
SELECT region, MIN(qty) AS lo, MAX(amount) AS hi FROM orders GROUP BY region
---- plan
public table (region, lo, hi)
  kept per (region)
    lo = MIN(qty): merged on insert, recomputed for groups that lost their extremum
    hi = MAX(amount): merged on insert, recomputed for groups that lost their extremum
  Aggregate by [region] compute [MIN(qty) AS lo, MAX(amount) AS hi]
    Scan orders [region, amount, qty]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_key_0` AS `region`,
        SUM(`_trickle_weight`) AS `_trickle_n`,
        SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END) AS `_trickle_lost`,
        MIN(CASE WHEN `_trickle_weight` > 0 THEN `qty` END) AS `_trickle_new_lo`,
        MIN(CASE WHEN `_trickle_weight` < 0 THEN `qty` END) AS `_trickle_gone_lo`,
        MAX(CASE WHEN `_trickle_weight` > 0 THEN `amount` END) AS `_trickle_new_hi`,
        MAX(CASE WHEN `_trickle_weight` < 0 THEN `amount` END) AS `_trickle_gone_hi`
      FROM (
        SELECT
          `region` AS `_trickle_key_0`,
          `amount`,
          `qty`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM `changes`.`orders` AS `q2`
        GROUP BY
          `region`,
          `amount`,
          `qty`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
      GROUP BY
        `_trickle_key_0`
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_lo`, `_trickle_r`.`_trickle_old_hi`, `_trickle_r`.`lo`, `_trickle_r`.`hi`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_lo` IS NOT DISTINCT FROM `_trickle_r`.`lo` AND `_trickle_r`.`_trickle_old_hi` IS NOT DISTINCT FROM `_trickle_r`.`hi` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_lo` IS NOT DISTINCT FROM `_trickle_r`.`lo` AND `_trickle_r`.`_trickle_old_hi` IS NOT DISTINCT FROM `_trickle_r`.`hi` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_s`.`region` AS `region`, `_trickle_t`.`lo` AS `_trickle_old_lo`, `_trickle_t`.`hi` AS `_trickle_old_hi`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN LEAST(`_trickle_t`.`lo`, `_trickle_s`.`_trickle_new_lo`) ELSE `_trickle_s`.`_trickle_new_lo` END AS `lo`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN GREATEST(`_trickle_t`.`hi`, `_trickle_s`.`_trickle_new_hi`) ELSE `_trickle_s`.`_trickle_new_hi` END AS `hi`, NOT `_trickle_t`.`_trickle_there` IS NULL AS `_trickle_there`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN FALSE ELSE `_trickle_s`.`_trickle_n` <= 0 END AS `_trickle_empty`, `_trickle_s`.`_trickle_lost` <> 0 AND (((`_trickle_t`.`lo` IS NULL AND `_trickle_s`.`_trickle_new_lo` IS NULL) OR (`_trickle_s`.`_trickle_gone_lo` <= `_trickle_t`.`lo` AND (`_trickle_s`.`_trickle_new_lo` IS NULL OR `_trickle_s`.`_trickle_new_lo` > `_trickle_s`.`_trickle_gone_lo`))) OR ((`_trickle_t`.`hi` IS NULL AND `_trickle_s`.`_trickle_new_hi` IS NULL) OR (`_trickle_s`.`_trickle_gone_hi` >= `_trickle_t`.`hi` AND (`_trickle_s`.`_trickle_new_hi` IS NULL OR `_trickle_s`.`_trickle_new_hi` < `_trickle_s`.`_trickle_gone_hi`)))) AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` LEFT JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t` ON `_trickle_t`.`region` IS NOT DISTINCT FROM `_trickle_s`.`region`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          `_trickle_x`.`region`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT `region`, MIN(`qty`) AS `lo`, MAX(`amount`) AS `hi` FROM (SELECT `region`, `amount`, `qty` FROM `after`.`orders` AS `q2` WHERE KEY_RANGE(`region`, `step`.`groups`.`region`, NULLS)) AS `q1` LEFT SEMI JOIN (SELECT `region` AS `_trickle_group_0` FROM `step`.`groups` AS `q4`) AS `q3` ON `region` IS NOT DISTINCT FROM `_trickle_group_0` GROUP BY `region`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_lo`, `_trickle_r`.`_trickle_old_hi`, `_trickle_r`.`lo`, `_trickle_r`.`hi`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_lo` IS NOT DISTINCT FROM `_trickle_r`.`lo` AND `_trickle_r`.`_trickle_old_hi` IS NOT DISTINCT FROM `_trickle_r`.`hi` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_lo` IS NOT DISTINCT FROM `_trickle_r`.`lo` AND `_trickle_r`.`_trickle_old_hi` IS NOT DISTINCT FROM `_trickle_r`.`hi` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`region` AS `region`, `_trickle_x`.`_trickle_old_lo` AS `_trickle_old_lo`, `_trickle_x`.`_trickle_old_hi` AS `_trickle_old_hi`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`lo` ELSE `_trickle_x`.`lo` END AS `lo`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`hi` ELSE `_trickle_x`.`hi` END AS `hi`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON `_trickle_x`.`region` IS NOT DISTINCT FROM `_trickle_r`.`region`) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

-- title: floating sums need none
SELECT region, SUM(price) AS s FROM orders GROUP BY region
---- plan
public table (region, s)
  kept per (region)
    s = SUM(price): added on insert, recomputed for groups that lost rows
  Aggregate by [region] compute [SUM(price) AS s]
    Scan orders [region, price]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_key_0` AS `region`,
        SUM(`_trickle_weight`) AS `_trickle_n`,
        SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END) AS `_trickle_lost`,
        SUM(CAST(`price` AS DOUBLE) * `_trickle_weight`) AS `_trickle_change_s`
      FROM (
        SELECT
          `region` AS `_trickle_key_0`,
          CAST(`price` AS STRING) AS `_trickle_text_1`,
          ANY_VALUE(`price`) AS `price`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM `changes`.`orders` AS `q2`
        GROUP BY
          `region`,
          CAST(`price` AS STRING)
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
      GROUP BY
        `_trickle_key_0`
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_s`, `_trickle_r`.`s`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND ((`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND CAST(`_trickle_r`.`_trickle_old_s` AS STRING) IS NOT DISTINCT FROM CAST(`_trickle_r`.`s` AS STRING)) AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND ((`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND CAST(`_trickle_r`.`_trickle_old_s` AS STRING) IS NOT DISTINCT FROM CAST(`_trickle_r`.`s` AS STRING)) AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_s`.`region` AS `region`, `_trickle_t`.`s` AS `_trickle_old_s`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN CAST(COALESCE(`_trickle_t`.`s` + `_trickle_s`.`_trickle_change_s`, `_trickle_t`.`s`, `_trickle_s`.`_trickle_change_s`) AS DOUBLE) ELSE CAST(`_trickle_s`.`_trickle_change_s` AS DOUBLE) END AS `s`, NOT `_trickle_t`.`_trickle_there` IS NULL AS `_trickle_there`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN FALSE ELSE `_trickle_s`.`_trickle_n` <= 0 END AS `_trickle_empty`, `_trickle_s`.`_trickle_lost` <> 0 OR COALESCE(ABS(`_trickle_t`.`s` + `_trickle_s`.`_trickle_change_s`) * 1000.0 < ABS(`_trickle_t`.`s`) + ABS(`_trickle_s`.`_trickle_change_s`) OR (ABS(`_trickle_t`.`s`) <= 1.7976931348623157E308 AND NOT ABS(`_trickle_t`.`s` + `_trickle_s`.`_trickle_change_s`) <= 1.7976931348623157E308), FALSE) AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` LEFT JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t` ON `_trickle_t`.`region` IS NOT DISTINCT FROM `_trickle_s`.`region`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          `_trickle_x`.`region`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT `region`, SUM(`price`) AS `s` FROM (SELECT `region`, `price` FROM `after`.`orders` AS `q2` WHERE KEY_RANGE(`region`, `step`.`groups`.`region`, NULLS)) AS `q1` LEFT SEMI JOIN (SELECT `region` AS `_trickle_group_0` FROM `step`.`groups` AS `q4`) AS `q3` ON `region` IS NOT DISTINCT FROM `_trickle_group_0` GROUP BY `region`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_s`, `_trickle_r`.`s`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND ((`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND CAST(`_trickle_r`.`_trickle_old_s` AS STRING) IS NOT DISTINCT FROM CAST(`_trickle_r`.`s` AS STRING)) AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND ((`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND CAST(`_trickle_r`.`_trickle_old_s` AS STRING) IS NOT DISTINCT FROM CAST(`_trickle_r`.`s` AS STRING)) AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`region` AS `region`, `_trickle_x`.`_trickle_old_s` AS `_trickle_old_s`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`s` ELSE `_trickle_x`.`s` END AS `s`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON `_trickle_x`.`region` IS NOT DISTINCT FROM `_trickle_r`.`region`) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

-- title: recomputed
SELECT region, COUNT(DISTINCT cust) AS c FROM orders GROUP BY region
---- plan
internal table state_e03ec8cb (_trickle_by_region, _trickle_once_c_0, _trickle_n)
  kept per (_trickle_by_region, _trickle_once_c_0)
    _trickle_n = COUNT(*): merged
  Aggregate by [region AS _trickle_by_region, cust AS _trickle_once_c_0] compute [COUNT(*) AS _trickle_n]
    Scan orders [cust, region]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_key_0` AS `_trickle_by_region`,
        `_trickle_key_1` AS `_trickle_once_c_0`,
        `_trickle_n`,
        `_trickle_lost`
      FROM (
        SELECT
          `region` AS `_trickle_key_0`,
          `cust` AS `_trickle_key_1`,
          SUM(`_trickle_weight`) AS `_trickle_n`,
          SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END) AS `_trickle_lost`
        FROM `changes`.`orders` AS `q2`
        GROUP BY
          `region`,
          `cust`
      ) AS `q1`
      WHERE
        `_trickle_n` <> 0
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`_trickle_by_region`, `_trickle_r`.`_trickle_once_c_0`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_s`.`_trickle_by_region` AS `_trickle_by_region`, `_trickle_s`.`_trickle_once_c_0` AS `_trickle_once_c_0`, `_trickle_t`.`_trickle_n` AS `_trickle_old__trickle_n`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` ELSE `_trickle_s`.`_trickle_n` END AS `_trickle_n`, NOT `_trickle_t`.`_trickle_there` IS NULL AS `_trickle_there`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` = 0 ELSE `_trickle_s`.`_trickle_n` <= 0 END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` LEFT JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t` ON `_trickle_t`.`_trickle_by_region` IS NOT DISTINCT FROM `_trickle_s`.`_trickle_by_region` AND `_trickle_t`.`_trickle_once_c_0` IS NOT DISTINCT FROM `_trickle_s`.`_trickle_once_c_0`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          `_trickle_x`.`_trickle_by_region`,
          `_trickle_x`.`_trickle_once_c_0`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT `region` AS `_trickle_by_region`, `cust` AS `_trickle_once_c_0`, COUNT(*) AS `_trickle_n` FROM (SELECT `cust`, `region` FROM `after`.`orders` AS `q2` WHERE KEY_RANGE(`region`, `step`.`groups`.`_trickle_by_region`, NULLS) AND KEY_RANGE(`cust`, `step`.`groups`.`_trickle_once_c_0`, NULLS)) AS `q1` LEFT SEMI JOIN (SELECT `_trickle_by_region` AS `_trickle_group_0`, `_trickle_once_c_0` AS `_trickle_group_1` FROM `step`.`groups` AS `q4`) AS `q3` ON `region` IS NOT DISTINCT FROM `_trickle_group_0` AND `cust` IS NOT DISTINCT FROM `_trickle_group_1` GROUP BY `region`, `cust`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`_trickle_by_region`, `_trickle_r`.`_trickle_once_c_0`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`_trickle_by_region` AS `_trickle_by_region`, `_trickle_x`.`_trickle_once_c_0` AS `_trickle_once_c_0`, `_trickle_x`.`_trickle_old__trickle_n` AS `_trickle_old__trickle_n`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`_trickle_n` ELSE `_trickle_x`.`_trickle_n` END AS `_trickle_n`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON `_trickle_x`.`_trickle_by_region` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_by_region` AND `_trickle_x`.`_trickle_once_c_0` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_once_c_0`) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

internal table state_bed77c62 (region, c, _trickle_n)
  kept per (region)
    c = COUNT(_trickle_once_c_0): merged
    _trickle_n = COUNT(*): merged
  Aggregate by [_trickle_by_region AS region] compute [COUNT(_trickle_once_c_0) AS c, COUNT(*) AS _trickle_n]
    Project [_trickle_by_region, _trickle_once_c_0]
      Scan internal:state_e03ec8cb [_trickle_by_region, _trickle_once_c_0, _trickle_n]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_key_0` AS `region`,
        `_trickle_n`,
        `_trickle_lost`,
        `_trickle_change_c`
      FROM (
        SELECT
          `_trickle_by_region` AS `_trickle_key_0`,
          SUM(`_trickle_weight`) AS `_trickle_n`,
          SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END) AS `_trickle_lost`,
          SUM(CASE WHEN NOT `_trickle_once_c_0` IS NULL THEN `_trickle_weight` ELSE 0 END) AS `_trickle_change_c`
        FROM `changes`.`internal:state_e03ec8cb` AS `q2`
        GROUP BY
          `_trickle_by_region`
      ) AS `q1`
      WHERE
        `_trickle_n` <> 0 OR `_trickle_change_c` <> 0
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_c`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`c`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_c` IS NOT DISTINCT FROM `_trickle_r`.`c` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_c` IS NOT DISTINCT FROM `_trickle_r`.`c` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_s`.`region` AS `region`, `_trickle_t`.`c` AS `_trickle_old_c`, `_trickle_t`.`_trickle_n` AS `_trickle_old__trickle_n`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`c` + `_trickle_s`.`_trickle_change_c` ELSE `_trickle_s`.`_trickle_change_c` END AS `c`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` ELSE `_trickle_s`.`_trickle_n` END AS `_trickle_n`, NOT `_trickle_t`.`_trickle_there` IS NULL AS `_trickle_there`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` = 0 ELSE `_trickle_s`.`_trickle_n` <= 0 END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` LEFT JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t` ON `_trickle_t`.`region` IS NOT DISTINCT FROM `_trickle_s`.`region`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          `_trickle_x`.`region`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT `_trickle_by_region` AS `region`, COUNT(`_trickle_once_c_0`) AS `c`, COUNT(*) AS `_trickle_n` FROM (SELECT `_trickle_by_region`, `_trickle_once_c_0` FROM `after`.`internal:state_e03ec8cb` AS `q2` WHERE KEY_RANGE(`_trickle_by_region`, `step`.`groups`.`region`, NULLS)) AS `q1` LEFT SEMI JOIN (SELECT `region` AS `_trickle_group_0` FROM `step`.`groups` AS `q4`) AS `q3` ON `_trickle_by_region` IS NOT DISTINCT FROM `_trickle_group_0` GROUP BY `_trickle_by_region`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_c`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`c`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_c` IS NOT DISTINCT FROM `_trickle_r`.`c` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_c` IS NOT DISTINCT FROM `_trickle_r`.`c` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`region` AS `region`, `_trickle_x`.`_trickle_old_c` AS `_trickle_old_c`, `_trickle_x`.`_trickle_old__trickle_n` AS `_trickle_old__trickle_n`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`c` ELSE `_trickle_x`.`c` END AS `c`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`_trickle_n` ELSE `_trickle_x`.`_trickle_n` END AS `_trickle_n`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON `_trickle_x`.`region` IS NOT DISTINCT FROM `_trickle_r`.`region`) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

public table (region, c)
  kept by key (region)
  Project [region, c]
    Scan internal:state_bed77c62 [region, c]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `region`,
        `c`,
        `_trickle_weight`
      FROM (
        SELECT
          `region`,
          `c`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM `changes`.`internal:state_bed77c62` AS `q2`
        GROUP BY
          `region`,
          `c`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: one row
SELECT COUNT(*) AS n, MAX(qty) AS hi FROM orders
---- plan
public table (n, hi)
  kept as one row
    n = COUNT(*): merged
    hi = MAX(qty): merged on insert, recomputed for groups that lost their extremum
  Aggregate by [] compute [COUNT(*) AS n, MAX(qty) AS hi]
    Scan orders [qty]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_n`,
        `_trickle_lost`,
        `_trickle_new_hi`,
        `_trickle_gone_hi`
      FROM (
        SELECT
          COALESCE(SUM(`_trickle_weight`), 0) AS `_trickle_n`,
          COALESCE(SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END), 0) AS `_trickle_lost`,
          MAX(CASE WHEN `_trickle_weight` > 0 THEN `qty` END) AS `_trickle_new_hi`,
          MAX(CASE WHEN `_trickle_weight` < 0 THEN `qty` END) AS `_trickle_gone_hi`,
          COUNT(*) AS `_trickle_seen`
        FROM (
          SELECT
            `qty`,
            SUM(`_trickle_weight`) AS `_trickle_weight`
          FROM `changes`.`orders` AS `q3`
          GROUP BY
            `qty`
        ) AS `q2`
        WHERE
          `_trickle_weight` <> 0
      ) AS `q1`
      WHERE
        `_trickle_seen` <> 0
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`_trickle_old_n`, `_trickle_r`.`_trickle_old_hi`, `_trickle_r`.`n`, `_trickle_r`.`hi`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_hi` IS NOT DISTINCT FROM `_trickle_r`.`hi` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_hi` IS NOT DISTINCT FROM `_trickle_r`.`hi` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_t`.`n` AS `_trickle_old_n`, `_trickle_t`.`hi` AS `_trickle_old_hi`, `_trickle_t`.`n` + `_trickle_s`.`_trickle_n` AS `n`, GREATEST(`_trickle_t`.`hi`, `_trickle_s`.`_trickle_new_hi`) AS `hi`, TRUE AS `_trickle_there`, FALSE AS `_trickle_empty`, `_trickle_s`.`_trickle_lost` <> 0 AND ((`_trickle_t`.`hi` IS NULL AND `_trickle_s`.`_trickle_new_hi` IS NULL) OR (`_trickle_s`.`_trickle_gone_hi` >= `_trickle_t`.`hi` AND (`_trickle_s`.`_trickle_new_hi` IS NULL OR `_trickle_s`.`_trickle_new_hi` < `_trickle_s`.`_trickle_gone_hi`))) AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` CROSS JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          TRUE AS `_trickle_flag`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT COUNT(*) AS `n`, MAX(`qty`) AS `hi` FROM `after`.`orders` AS `q1`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`_trickle_old_n`, `_trickle_r`.`_trickle_old_hi`, `_trickle_r`.`n`, `_trickle_r`.`hi`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_hi` IS NOT DISTINCT FROM `_trickle_r`.`hi` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_hi` IS NOT DISTINCT FROM `_trickle_r`.`hi` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`_trickle_old_n` AS `_trickle_old_n`, `_trickle_x`.`_trickle_old_hi` AS `_trickle_old_hi`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`n` ELSE `_trickle_x`.`n` END AS `n`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`hi` ELSE `_trickle_x`.`hi` END AS `hi`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON TRUE) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

-- title: over a join, with HAVING
SELECT c.name, SUM(o.qty) AS s FROM orders o JOIN cust c ON o.cust = c.id GROUP BY c.name HAVING SUM(o.qty) > 3
---- plan
internal table state_e3cdd368 (name, s, _trickle_n, _trickle_count_s)
  kept per (name)
    s = SUM(qty): merged
    _trickle_n = COUNT(*): merged
    _trickle_count_s = COUNT(qty): merged
  Aggregate by [name] compute [SUM(qty) AS s, COUNT(*) AS _trickle_n, COUNT(qty) AS _trickle_count_s]
    Join cust = id
      Scan orders [cust, qty]
      Scan cust [id, name]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_key_0` AS `name`,
        `_trickle_n`,
        `_trickle_lost`,
        `_trickle_change_s`,
        `_trickle_change__trickle_count_s`
      FROM (
        SELECT
          `name` AS `_trickle_key_0`,
          SUM(`_trickle_weight`) AS `_trickle_n`,
          SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END) AS `_trickle_lost`,
          SUM(CAST(`qty` AS BIGINT) * `_trickle_weight`) AS `_trickle_change_s`,
          SUM(CASE WHEN NOT `qty` IS NULL THEN `_trickle_weight` ELSE 0 END) AS `_trickle_change__trickle_count_s`
        FROM (
          SELECT
            `qty`,
            `name`,
            `_trickle_weight`
          FROM (
            SELECT
              `cust`,
              `qty`,
              `_trickle_weight`
            FROM `changes`.`orders` AS `q4`
          ) AS `q3`
          JOIN (
            SELECT
              `id`,
              `name`
            FROM `before`.`cust` AS `q6`
            WHERE
              KEY_RANGE(`id`, `changes`.`orders`.`cust`)
          ) AS `q5`
            ON `cust` = `id`
          UNION ALL
          SELECT
            `qty`,
            `name`,
            `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `name`,
              `_trickle_weight`
            FROM `changes`.`cust` AS `q8`
          ) AS `q7`
          JOIN (
            SELECT
              `cust`,
              `qty`
            FROM `after`.`orders` AS `q10`
            WHERE
              KEY_RANGE(`cust`, `changes`.`cust`.`id`)
          ) AS `q9`
            ON `cust` = `id`
        ) AS `q2`
        GROUP BY
          `name`
      ) AS `q1`
      WHERE
        `_trickle_n` <> 0
        OR `_trickle_change_s` <> 0
        OR `_trickle_change__trickle_count_s` <> 0
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`name`, `_trickle_r`.`_trickle_old_s`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_old__trickle_count_s`, `_trickle_r`.`s`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_count_s`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND `_trickle_r`.`_trickle_old__trickle_count_s` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_s` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND `_trickle_r`.`_trickle_old__trickle_count_s` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_s` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_s`.`name` AS `name`, `_trickle_t`.`s` AS `_trickle_old_s`, `_trickle_t`.`_trickle_n` AS `_trickle_old__trickle_n`, `_trickle_t`.`_trickle_count_s` AS `_trickle_old__trickle_count_s`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN CASE WHEN `_trickle_t`.`_trickle_count_s` + `_trickle_s`.`_trickle_change__trickle_count_s` > 0 THEN CAST(COALESCE(`_trickle_t`.`s`, 0) + COALESCE(`_trickle_s`.`_trickle_change_s`, 0) AS DECIMAL(38, 0)) END ELSE CASE WHEN `_trickle_s`.`_trickle_change__trickle_count_s` > 0 THEN CAST(`_trickle_s`.`_trickle_change_s` AS DECIMAL(38, 0)) END END AS `s`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` ELSE `_trickle_s`.`_trickle_n` END AS `_trickle_n`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_count_s` + `_trickle_s`.`_trickle_change__trickle_count_s` ELSE `_trickle_s`.`_trickle_change__trickle_count_s` END AS `_trickle_count_s`, NOT `_trickle_t`.`_trickle_there` IS NULL AS `_trickle_there`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` = 0 ELSE `_trickle_s`.`_trickle_n` <= 0 END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` LEFT JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t` ON `_trickle_t`.`name` IS NOT DISTINCT FROM `_trickle_s`.`name`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          `_trickle_x`.`name`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT `name`, SUM(`qty`) AS `s`, COUNT(*) AS `_trickle_n`, COUNT(`qty`) AS `_trickle_count_s` FROM (SELECT `name` AS `_trickle_group_0` FROM `step`.`groups` AS `q2`) AS `q1` JOIN (SELECT `id`, `name` FROM `after`.`cust` AS `q4` WHERE KEY_RANGE(`name`, `step`.`groups`.`name`, NULLS)) AS `q3` ON `name` IS NOT DISTINCT FROM `_trickle_group_0` JOIN (SELECT `cust`, `qty` FROM `after`.`orders` AS `q6`) AS `q5` ON `cust` = `id` GROUP BY `name`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`name`, `_trickle_r`.`_trickle_old_s`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_old__trickle_count_s`, `_trickle_r`.`s`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_count_s`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND `_trickle_r`.`_trickle_old__trickle_count_s` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_s` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND `_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND `_trickle_r`.`_trickle_old__trickle_count_s` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_s` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`name` AS `name`, `_trickle_x`.`_trickle_old_s` AS `_trickle_old_s`, `_trickle_x`.`_trickle_old__trickle_n` AS `_trickle_old__trickle_n`, `_trickle_x`.`_trickle_old__trickle_count_s` AS `_trickle_old__trickle_count_s`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`s` ELSE `_trickle_x`.`s` END AS `s`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`_trickle_n` ELSE `_trickle_x`.`_trickle_n` END AS `_trickle_n`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`_trickle_count_s` ELSE `_trickle_x`.`_trickle_count_s` END AS `_trickle_count_s`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON `_trickle_x`.`name` IS NOT DISTINCT FROM `_trickle_r`.`name`) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

public table (name, s)
  kept by key (name)
  Project [name, s]
    Filter s > 3
      Scan internal:state_e3cdd368 [name, s]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `name`,
        `s`,
        `_trickle_weight`
      FROM (
        SELECT
          `name`,
          `s`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM `changes`.`internal:state_e3cdd368` AS `q2`
        WHERE
          `s` > 3
        GROUP BY
          `name`,
          `s`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: a scalar subquery
SELECT id FROM orders WHERE qty > (SELECT AVG(qty) FROM orders)
---- plan
internal table state_65c76c9b (_trickle_sum_avg_qty, _trickle_count_avg_qty)
  kept as one row
    _trickle_sum_avg_qty = SUM(qty_2): merged
    _trickle_count_avg_qty = COUNT(qty_2): merged
  Aggregate by [] compute [SUM(qty_2) AS _trickle_sum_avg_qty, COUNT(qty_2) AS _trickle_count_avg_qty]
    Scan orders [qty AS qty_2]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_n`,
        `_trickle_lost`,
        `_trickle_change__trickle_sum_avg_qty`,
        `_trickle_change__trickle_count_avg_qty`
      FROM (
        SELECT
          COALESCE(SUM(`_trickle_weight`), 0) AS `_trickle_n`,
          COALESCE(SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END), 0) AS `_trickle_lost`,
          SUM(CAST(`qty` AS BIGINT) * `_trickle_weight`) AS `_trickle_change__trickle_sum_avg_qty`,
          COALESCE(SUM(CASE WHEN NOT `qty` IS NULL THEN `_trickle_weight` ELSE 0 END), 0) AS `_trickle_change__trickle_count_avg_qty`
        FROM `changes`.`orders` AS `q2`
      ) AS `q1`
      WHERE
        `_trickle_n` <> 0
        OR `_trickle_change__trickle_sum_avg_qty` <> 0
        OR `_trickle_change__trickle_count_avg_qty` <> 0
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`_trickle_old__trickle_sum_avg_qty`, `_trickle_r`.`_trickle_old__trickle_count_avg_qty`, `_trickle_r`.`_trickle_sum_avg_qty`, `_trickle_r`.`_trickle_count_avg_qty`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_sum_avg_qty` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_sum_avg_qty` AND `_trickle_r`.`_trickle_old__trickle_count_avg_qty` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_avg_qty` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_sum_avg_qty` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_sum_avg_qty` AND `_trickle_r`.`_trickle_old__trickle_count_avg_qty` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_avg_qty` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_t`.`_trickle_sum_avg_qty` AS `_trickle_old__trickle_sum_avg_qty`, `_trickle_t`.`_trickle_count_avg_qty` AS `_trickle_old__trickle_count_avg_qty`, CASE WHEN `_trickle_t`.`_trickle_count_avg_qty` + `_trickle_s`.`_trickle_change__trickle_count_avg_qty` > 0 THEN CAST(COALESCE(`_trickle_t`.`_trickle_sum_avg_qty`, 0) + COALESCE(`_trickle_s`.`_trickle_change__trickle_sum_avg_qty`, 0) AS BIGINT) END AS `_trickle_sum_avg_qty`, `_trickle_t`.`_trickle_count_avg_qty` + `_trickle_s`.`_trickle_change__trickle_count_avg_qty` AS `_trickle_count_avg_qty`, TRUE AS `_trickle_there`, FALSE AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` CROSS JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          TRUE AS `_trickle_flag`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT SUM(`qty`) AS `_trickle_sum_avg_qty`, COUNT(`qty`) AS `_trickle_count_avg_qty` FROM `after`.`orders` AS `q1`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`_trickle_old__trickle_sum_avg_qty`, `_trickle_r`.`_trickle_old__trickle_count_avg_qty`, `_trickle_r`.`_trickle_sum_avg_qty`, `_trickle_r`.`_trickle_count_avg_qty`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_sum_avg_qty` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_sum_avg_qty` AND `_trickle_r`.`_trickle_old__trickle_count_avg_qty` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_avg_qty` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_sum_avg_qty` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_sum_avg_qty` AND `_trickle_r`.`_trickle_old__trickle_count_avg_qty` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_count_avg_qty` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`_trickle_old__trickle_sum_avg_qty` AS `_trickle_old__trickle_sum_avg_qty`, `_trickle_x`.`_trickle_old__trickle_count_avg_qty` AS `_trickle_old__trickle_count_avg_qty`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`_trickle_sum_avg_qty` ELSE `_trickle_x`.`_trickle_sum_avg_qty` END AS `_trickle_sum_avg_qty`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`_trickle_count_avg_qty` ELSE `_trickle_x`.`_trickle_count_avg_qty` END AS `_trickle_count_avg_qty`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON TRUE) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

public table (id)
  kept row by row
  Project [id]
    Join qty > avg_qty
      Scan orders [id, qty]
      Project [CASE WHEN _trickle_count_avg_qty > 0 THEN CAST(_trickle_sum_avg_qty AS DOUBLE) / _trickle_count_avg_qty END AS avg_qty]
        Scan internal:state_65c76c9b [_trickle_sum_avg_qty, _trickle_count_avg_qty]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `id`,
        `_trickle_weight`
      FROM (
        SELECT
          `id`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `qty`,
              `_trickle_weight`
            FROM `changes`.`orders` AS `q4`
          ) AS `q3`
          JOIN (
            SELECT
              CASE
                WHEN `_trickle_count_avg_qty` > 0
                THEN CAST(`_trickle_sum_avg_qty` AS DOUBLE) / `_trickle_count_avg_qty`
              END AS `avg_qty`
            FROM `before`.`internal:state_65c76c9b` AS `q6`
          ) AS `q5`
            ON `qty` > `avg_qty`
          UNION ALL
          SELECT
            `id`,
            `_trickle_weight`
          FROM (
            SELECT
              CASE
                WHEN `_trickle_count_avg_qty` > 0
                THEN CAST(`_trickle_sum_avg_qty` AS DOUBLE) / `_trickle_count_avg_qty`
              END AS `avg_qty`,
              `_trickle_weight`
            FROM `changes`.`internal:state_65c76c9b` AS `q8`
          ) AS `q7`
          JOIN (
            SELECT
              `id`,
              `qty`
            FROM `after`.`orders` AS `q10`
          ) AS `q9`
            ON `qty` > `avg_qty`
        ) AS `q2`
        GROUP BY
          `id`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: the change of a sum of long integers may not fit
SELECT region, COUNT(*) AS n, SUM(id) AS s FROM orders GROUP BY region
---- plan
public table (region, n, s)
  kept per (region)
    n = COUNT(*): merged
    s = SUM(id): merged, recomputed for groups whose change does not fit the type
  Aggregate by [region] compute [COUNT(*) AS n, SUM(id) AS s]
    Scan orders [id, region]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_key_0` AS `region`,
        `_trickle_n`,
        `_trickle_lost`,
        `_trickle_change_s`,
        `_trickle_unfit_s`
      FROM (
        SELECT
          `region` AS `_trickle_key_0`,
          SUM(`_trickle_weight`) AS `_trickle_n`,
          SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END) AS `_trickle_lost`,
          TRY_SUM(TRY_MULTIPLY(CAST(`id` AS BIGINT), `_trickle_weight`)) AS `_trickle_change_s`,
          COUNT(`id`) > COUNT(TRY_MULTIPLY(CAST(`id` AS BIGINT), `_trickle_weight`))
          OR (
            TRY_SUM(TRY_MULTIPLY(CAST(`id` AS BIGINT), `_trickle_weight`)) IS NULL
            AND COUNT(`id`) > 0
          ) AS `_trickle_unfit_s`
        FROM `changes`.`orders` AS `q2`
        GROUP BY
          `region`
      ) AS `q1`
      WHERE
        `_trickle_n` <> 0 OR `_trickle_change_s` <> 0 OR `_trickle_unfit_s`
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_n`, `_trickle_r`.`_trickle_old_s`, `_trickle_r`.`n`, `_trickle_r`.`s`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_s`.`region` AS `region`, `_trickle_t`.`n` AS `_trickle_old_n`, `_trickle_t`.`s` AS `_trickle_old_s`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`n` + `_trickle_s`.`_trickle_n` ELSE `_trickle_s`.`_trickle_n` END AS `n`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN CASE WHEN `_trickle_t`.`n` + `_trickle_s`.`_trickle_n` > 0 THEN CAST(COALESCE(`_trickle_t`.`s`, 0) + COALESCE(`_trickle_s`.`_trickle_change_s`, 0) AS DECIMAL(38, 0)) END ELSE CASE WHEN `_trickle_s`.`_trickle_n` > 0 THEN CAST(`_trickle_s`.`_trickle_change_s` AS DECIMAL(38, 0)) END END AS `s`, NOT `_trickle_t`.`_trickle_there` IS NULL AS `_trickle_there`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`n` + `_trickle_s`.`_trickle_n` = 0 ELSE `_trickle_s`.`_trickle_n` <= 0 END AS `_trickle_empty`, `_trickle_s`.`_trickle_unfit_s` OR FALSE AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` LEFT JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t` ON `_trickle_t`.`region` IS NOT DISTINCT FROM `_trickle_s`.`region`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          `_trickle_x`.`region`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT `region`, COUNT(*) AS `n`, SUM(`id`) AS `s` FROM (SELECT `id`, `region` FROM `after`.`orders` AS `q2` WHERE KEY_RANGE(`region`, `step`.`groups`.`region`, NULLS)) AS `q1` LEFT SEMI JOIN (SELECT `region` AS `_trickle_group_0` FROM `step`.`groups` AS `q4`) AS `q3` ON `region` IS NOT DISTINCT FROM `_trickle_group_0` GROUP BY `region`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`region`, `_trickle_r`.`_trickle_old_n`, `_trickle_r`.`_trickle_old_s`, `_trickle_r`.`n`, `_trickle_r`.`s`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_n` IS NOT DISTINCT FROM `_trickle_r`.`n` AND `_trickle_r`.`_trickle_old_s` IS NOT DISTINCT FROM `_trickle_r`.`s` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`region` AS `region`, `_trickle_x`.`_trickle_old_n` AS `_trickle_old_n`, `_trickle_x`.`_trickle_old_s` AS `_trickle_old_s`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`n` ELSE `_trickle_x`.`n` END AS `n`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`s` ELSE `_trickle_x`.`s` END AS `s`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON `_trickle_x`.`region` IS NOT DISTINCT FROM `_trickle_r`.`region`) AS `_trickle_r`
    write transitions: each touched group as it was and as it is
