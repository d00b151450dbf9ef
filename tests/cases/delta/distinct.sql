-- title: distinct rows
SELECT DISTINCT region, cust FROM orders
---- plan
internal table state_df5f44a3 (region, cust, _trickle_n)
  kept per (region, cust)
    _trickle_n = COUNT(*): merged
  Aggregate by [region, cust] compute [COUNT(*) AS _trickle_n]
    Project [region, cust]
      Scan orders [cust, region]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_key_0` AS `region`,
        `_trickle_key_1` AS `cust`,
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
      SELECT `_trickle_r`.`region`, `_trickle_r`.`cust`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_s`.`region` AS `region`, `_trickle_s`.`cust` AS `cust`, `_trickle_t`.`_trickle_n` AS `_trickle_old__trickle_n`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` ELSE `_trickle_s`.`_trickle_n` END AS `_trickle_n`, NOT `_trickle_t`.`_trickle_there` IS NULL AS `_trickle_there`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` = 0 ELSE `_trickle_s`.`_trickle_n` <= 0 END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` LEFT JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t` ON `_trickle_t`.`region` IS NOT DISTINCT FROM `_trickle_s`.`region` AND `_trickle_t`.`cust` IS NOT DISTINCT FROM `_trickle_s`.`cust`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          `_trickle_x`.`region`,
          `_trickle_x`.`cust`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT `region`, `cust`, COUNT(*) AS `_trickle_n` FROM (SELECT `region`, `cust` FROM `after`.`orders` AS `q2` WHERE KEY_RANGE(`region`, `step`.`groups`.`region`, NULLS) AND KEY_RANGE(`cust`, `step`.`groups`.`cust`, NULLS)) AS `q1` LEFT SEMI JOIN (SELECT `region` AS `_trickle_group_0`, `cust` AS `_trickle_group_1` FROM `step`.`groups` AS `q4`) AS `q3` ON `region` IS NOT DISTINCT FROM `_trickle_group_0` AND `cust` IS NOT DISTINCT FROM `_trickle_group_1` GROUP BY `region`, `cust`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`region`, `_trickle_r`.`cust`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`region` AS `region`, `_trickle_x`.`cust` AS `cust`, `_trickle_x`.`_trickle_old__trickle_n` AS `_trickle_old__trickle_n`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`_trickle_n` ELSE `_trickle_x`.`_trickle_n` END AS `_trickle_n`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON `_trickle_x`.`region` IS NOT DISTINCT FROM `_trickle_r`.`region` AND `_trickle_x`.`cust` IS NOT DISTINCT FROM `_trickle_r`.`cust`) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

public table (region, cust)
  kept by key (region, cust)
  Project [region, cust]
    Scan internal:state_df5f44a3 [region, cust]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `region`,
        `cust`,
        `_trickle_weight`
      FROM (
        SELECT
          `region`,
          `cust`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM `changes`.`internal:state_df5f44a3` AS `q2`
        GROUP BY
          `region`,
          `cust`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: union
SELECT region FROM orders UNION SELECT name FROM cust
---- plan
internal table state_f3513d59 (region_2, _trickle_n)
  kept per (region_2)
    _trickle_n = COUNT(*): merged
  Aggregate by [region_2] compute [COUNT(*) AS _trickle_n]
    UnionAll [region_2]
      Project [region]
        Scan orders [region]
      Project [name]
        Scan cust [name]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_key_0` AS `region_2`,
        `_trickle_n`,
        `_trickle_lost`
      FROM (
        SELECT
          `region_2` AS `_trickle_key_0`,
          SUM(`_trickle_weight`) AS `_trickle_n`,
          SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END) AS `_trickle_lost`
        FROM (
          SELECT
            `region` AS `region_2`,
            `_trickle_weight`
          FROM `changes`.`orders` AS `q3`
          UNION ALL
          SELECT
            `name` AS `region_2`,
            `_trickle_weight`
          FROM `changes`.`cust` AS `q4`
        ) AS `q2`
        GROUP BY
          `region_2`
      ) AS `q1`
      WHERE
        `_trickle_n` <> 0
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`region_2`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_s`.`region_2` AS `region_2`, `_trickle_t`.`_trickle_n` AS `_trickle_old__trickle_n`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` ELSE `_trickle_s`.`_trickle_n` END AS `_trickle_n`, NOT `_trickle_t`.`_trickle_there` IS NULL AS `_trickle_there`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` = 0 ELSE `_trickle_s`.`_trickle_n` <= 0 END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` LEFT JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t` ON `_trickle_t`.`region_2` IS NOT DISTINCT FROM `_trickle_s`.`region_2`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          `_trickle_x`.`region_2`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT `region_2`, COUNT(*) AS `_trickle_n` FROM (SELECT `region` AS `region_2` FROM `after`.`orders` AS `q2` WHERE KEY_RANGE(`region`, `step`.`groups`.`region_2`, NULLS) UNION ALL SELECT `name` AS `region_2` FROM `after`.`cust` AS `q3` WHERE KEY_RANGE(`name`, `step`.`groups`.`region_2`, NULLS)) AS `q1` LEFT SEMI JOIN (SELECT `region_2` AS `_trickle_group_0` FROM `step`.`groups` AS `q5`) AS `q4` ON `region_2` IS NOT DISTINCT FROM `_trickle_group_0` GROUP BY `region_2`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`region_2`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`region_2` AS `region_2`, `_trickle_x`.`_trickle_old__trickle_n` AS `_trickle_old__trickle_n`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`_trickle_n` ELSE `_trickle_x`.`_trickle_n` END AS `_trickle_n`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON `_trickle_x`.`region_2` IS NOT DISTINCT FROM `_trickle_r`.`region_2`) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

public table (region)
  kept by key (region)
  Project [region_2 AS region]
    Scan internal:state_f3513d59 [region_2]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `region`,
        `_trickle_weight`
      FROM (
        SELECT
          `region_2` AS `region`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM `changes`.`internal:state_f3513d59` AS `q2`
        GROUP BY
          `region_2`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come
