-- title: rows that have a partner
SELECT id, name FROM cust c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id AND o.qty > 1)
---- plan
public table (id, name)
  kept row by row
  Project [id, name]
    Match semi cust = id
      Scan cust [id, name]
      Filter qty > 1
        Scan orders [cust, qty]
  if all inputs change, a small change goes through:
    compute shared_1: used in several places
      SELECT
        `cust`
      FROM (
        SELECT
          `cust`,
          `qty`
        FROM `after`.`orders` AS `q2`
        WHERE
          `qty` > 1 AND KEY_RANGE(`cust`, `changes`.`orders`.`cust`)
      ) AS `q1`
      LEFT SEMI JOIN (
        SELECT
          `cust` AS `_trickle_join_0`
        FROM `changes`.`orders` AS `q4`
        WHERE
          `qty` > 1
      ) AS `q3`
        ON `cust` = `_trickle_join_0`
    compute delta: the change
      SELECT
        `id`,
        `name`,
        `_trickle_weight`
      FROM (
        SELECT
          `id`,
          `name`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `name`,
            `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `name`,
              `_trickle_weight`
            FROM `changes`.`cust` AS `q4`
          ) AS `q3`
          LEFT SEMI JOIN (
            SELECT
              `cust`,
              `qty`
            FROM (
              SELECT
                `cust`,
                `qty`
              FROM `after`.`orders` AS `q7`
              WHERE
                `qty` > 1 AND KEY_RANGE(`cust`, `changes`.`cust`.`id`)
            ) AS `q6`
            LEFT SEMI JOIN (
              SELECT
                `id` AS `_trickle_join_0`
              FROM `changes`.`cust` AS `q9`
            ) AS `q8`
              ON `cust` = `_trickle_join_0`
          ) AS `q5`
            ON `cust` = `id`
          UNION ALL
          SELECT
            `id`,
            `name`,
            CAST(CASE WHEN `_trickle_now` THEN 1 ELSE -1 END AS BIGINT) AS `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `name`,
              `_trickle_now`,
              EXISTS(
                SELECT
                  1
                FROM (
                  SELECT
                    `cust`
                  FROM (
                    SELECT
                      `cust`,
                      SUM(`_trickle_weight`) AS `_trickle_weight`
                    FROM (
                      SELECT
                        `cust`,
                        CAST(1 AS BIGINT) AS `_trickle_weight`
                      FROM `step`.`shared_1` AS `q22`
                      UNION ALL
                      SELECT
                        `cust`,
                        -`_trickle_weight` AS `_trickle_weight`
                      FROM `changes`.`orders` AS `q23`
                      WHERE
                        `qty` > 1
                    ) AS `q21`
                    GROUP BY
                      `cust`
                  ) AS `q20`
                  WHERE
                    `_trickle_weight` > 0
                ) AS `q19`
                WHERE
                  `q19`.`cust` = `q11`.`id`
              ) AS `_trickle_then`
            FROM (
              SELECT
                `id`,
                `name`,
                EXISTS(
                  SELECT
                    1
                  FROM (
                    SELECT
                      `cust`
                    FROM `step`.`shared_1` AS `q18`
                  ) AS `q17`
                  WHERE
                    `q17`.`cust` = `q12`.`id`
                ) AS `_trickle_now`
              FROM (
                SELECT
                  `id`,
                  `name`
                FROM (
                  SELECT
                    `id`,
                    `name`
                  FROM `before`.`cust` AS `q14`
                  WHERE
                    KEY_RANGE(`id`, `changes`.`orders`.`cust`)
                ) AS `q13`
                LEFT SEMI JOIN (
                  SELECT
                    `cust`,
                    `qty`
                  FROM `changes`.`orders` AS `q16`
                  WHERE
                    `qty` > 1
                ) AS `q15`
                  ON `cust` = `id`
              ) AS `q12`
            ) AS `q11`
          ) AS `q10`
          WHERE
            `_trickle_now` <> `_trickle_then`
        ) AS `q2`
        GROUP BY
          `id`,
          `name`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: rows that have none
SELECT id, name FROM cust c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id)
---- plan
public table (id, name)
  kept row by row
  Project [id, name]
    Match anti cust = id
      Scan cust [id, name]
      Scan orders [cust]
  if all inputs change, a small change goes through:
    compute shared_1: used in several places
      SELECT
        `cust`
      FROM (
        SELECT
          `cust`
        FROM `after`.`orders` AS `q2`
        WHERE
          KEY_RANGE(`cust`, `changes`.`orders`.`cust`)
      ) AS `q1`
      LEFT SEMI JOIN (
        SELECT
          `cust` AS `_trickle_join_0`
        FROM `changes`.`orders` AS `q4`
      ) AS `q3`
        ON `cust` = `_trickle_join_0`
    compute delta: the change
      SELECT
        `id`,
        `name`,
        `_trickle_weight`
      FROM (
        SELECT
          `id`,
          `name`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `name`,
            `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `name`,
              `_trickle_weight`
            FROM `changes`.`cust` AS `q4`
          ) AS `q3`
          LEFT ANTI JOIN (
            SELECT
              `cust`
            FROM (
              SELECT
                `cust`
              FROM `after`.`orders` AS `q7`
              WHERE
                KEY_RANGE(`cust`, `changes`.`cust`.`id`)
            ) AS `q6`
            LEFT SEMI JOIN (
              SELECT
                `id` AS `_trickle_join_0`
              FROM `changes`.`cust` AS `q9`
            ) AS `q8`
              ON `cust` = `_trickle_join_0`
          ) AS `q5`
            ON `cust` = `id`
          UNION ALL
          SELECT
            `id`,
            `name`,
            CAST(CASE WHEN `_trickle_then` THEN 1 ELSE -1 END AS BIGINT) AS `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `name`,
              `_trickle_now`,
              EXISTS(
                SELECT
                  1
                FROM (
                  SELECT
                    `cust`
                  FROM (
                    SELECT
                      `cust`,
                      SUM(`_trickle_weight`) AS `_trickle_weight`
                    FROM (
                      SELECT
                        `cust`,
                        CAST(1 AS BIGINT) AS `_trickle_weight`
                      FROM `step`.`shared_1` AS `q22`
                      UNION ALL
                      SELECT
                        `cust`,
                        -`_trickle_weight` AS `_trickle_weight`
                      FROM `changes`.`orders` AS `q23`
                    ) AS `q21`
                    GROUP BY
                      `cust`
                  ) AS `q20`
                  WHERE
                    `_trickle_weight` > 0
                ) AS `q19`
                WHERE
                  `q19`.`cust` = `q11`.`id`
              ) AS `_trickle_then`
            FROM (
              SELECT
                `id`,
                `name`,
                EXISTS(
                  SELECT
                    1
                  FROM (
                    SELECT
                      `cust`
                    FROM `step`.`shared_1` AS `q18`
                  ) AS `q17`
                  WHERE
                    `q17`.`cust` = `q12`.`id`
                ) AS `_trickle_now`
              FROM (
                SELECT
                  `id`,
                  `name`
                FROM (
                  SELECT
                    `id`,
                    `name`
                  FROM `before`.`cust` AS `q14`
                  WHERE
                    KEY_RANGE(`id`, `changes`.`orders`.`cust`)
                ) AS `q13`
                LEFT SEMI JOIN (
                  SELECT
                    `cust`
                  FROM `changes`.`orders` AS `q16`
                ) AS `q15`
                  ON `cust` = `id`
              ) AS `q12`
            ) AS `q11`
          ) AS `q10`
          WHERE
            `_trickle_now` <> `_trickle_then`
        ) AS `q2`
        GROUP BY
          `id`,
          `name`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: NOT IN, where a NULL leaves nothing
SELECT id, name FROM cust WHERE id NOT IN (SELECT cust FROM orders)
---- plan
internal table state_50011282 (is_null, _trickle_n)
  kept per (is_null)
    _trickle_n = COUNT(*): merged
  Aggregate by [is_null] compute [COUNT(*) AS _trickle_n]
    Project [cust IS NULL AS is_null]
      Scan orders [cust]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_key_0` AS `is_null`,
        `_trickle_n`,
        `_trickle_lost`
      FROM (
        SELECT
          `is_null` AS `_trickle_key_0`,
          SUM(`_trickle_weight`) AS `_trickle_n`,
          SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END) AS `_trickle_lost`
        FROM (
          SELECT
            `cust` IS NULL AS `is_null`,
            `_trickle_weight`
          FROM `changes`.`orders` AS `q3`
        ) AS `q2`
        GROUP BY
          `is_null`
      ) AS `q1`
      WHERE
        `_trickle_n` <> 0
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`is_null`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_s`.`is_null` AS `is_null`, `_trickle_t`.`_trickle_n` AS `_trickle_old__trickle_n`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` ELSE `_trickle_s`.`_trickle_n` END AS `_trickle_n`, NOT `_trickle_t`.`_trickle_there` IS NULL AS `_trickle_there`, CASE WHEN NOT `_trickle_t`.`_trickle_there` IS NULL THEN `_trickle_t`.`_trickle_n` + `_trickle_s`.`_trickle_n` = 0 ELSE `_trickle_s`.`_trickle_n` <= 0 END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` LEFT JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t` ON `_trickle_t`.`is_null` IS NOT DISTINCT FROM `_trickle_s`.`is_null`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          `_trickle_x`.`is_null`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT `is_null`, COUNT(*) AS `_trickle_n` FROM (SELECT `cust` IS NULL AS `is_null` FROM `after`.`orders` AS `q2`) AS `q1` LEFT SEMI JOIN (SELECT `is_null` AS `_trickle_group_0` FROM `step`.`groups` AS `q4`) AS `q3` ON `is_null` IS NOT DISTINCT FROM `_trickle_group_0` GROUP BY `is_null`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`is_null`, `_trickle_r`.`_trickle_old__trickle_n`, `_trickle_r`.`_trickle_n`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old__trickle_n` IS NOT DISTINCT FROM `_trickle_r`.`_trickle_n` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`is_null` AS `is_null`, `_trickle_x`.`_trickle_old__trickle_n` AS `_trickle_old__trickle_n`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`_trickle_n` ELSE `_trickle_x`.`_trickle_n` END AS `_trickle_n`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON `_trickle_x`.`is_null` IS NOT DISTINCT FROM `_trickle_r`.`is_null`) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

internal table state_ba4609e2 (has_nulls)
  kept as one row
    has_nulls = MAX(is_null): merged on insert, recomputed for groups that lost their extremum
  Aggregate by [] compute [MAX(is_null) AS has_nulls]
    Project [is_null]
      Scan internal:state_50011282 [is_null, _trickle_n]
  if all inputs change, a small change goes through:
    put delta into what reads it: what is added to each group
      SELECT
        `_trickle_n`,
        `_trickle_lost`,
        `_trickle_new_has_nulls`,
        `_trickle_gone_has_nulls`
      FROM (
        SELECT
          COALESCE(SUM(`_trickle_weight`), 0) AS `_trickle_n`,
          COALESCE(SUM(CASE WHEN `_trickle_weight` < 0 THEN -`_trickle_weight` ELSE 0 END), 0) AS `_trickle_lost`,
          MAX(CASE WHEN `_trickle_weight` > 0 THEN `is_null` END) AS `_trickle_new_has_nulls`,
          MAX(CASE WHEN `_trickle_weight` < 0 THEN `is_null` END) AS `_trickle_gone_has_nulls`,
          COUNT(*) AS `_trickle_seen`
        FROM (
          SELECT
            `is_null`,
            SUM(`_trickle_weight`) AS `_trickle_weight`
          FROM `changes`.`internal:state_50011282` AS `q3`
          GROUP BY
            `is_null`
        ) AS `q2`
        WHERE
          `_trickle_weight` <> 0
      ) AS `q1`
      WHERE
        `_trickle_seen` <> 0
    compute transitions: what becomes of each group
      SELECT `_trickle_r`.`_trickle_old_has_nulls`, `_trickle_r`.`has_nulls`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_has_nulls` IS NOT DISTINCT FROM `_trickle_r`.`has_nulls` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_has_nulls` IS NOT DISTINCT FROM `_trickle_r`.`has_nulls` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_t`.`has_nulls` AS `_trickle_old_has_nulls`, GREATEST(`_trickle_t`.`has_nulls`, `_trickle_s`.`_trickle_new_has_nulls`) AS `has_nulls`, TRUE AS `_trickle_there`, FALSE AS `_trickle_empty`, `_trickle_s`.`_trickle_lost` <> 0 AND ((`_trickle_t`.`has_nulls` IS NULL AND `_trickle_s`.`_trickle_new_has_nulls` IS NULL) OR (`_trickle_s`.`_trickle_gone_has_nulls` >= `_trickle_t`.`has_nulls` AND (`_trickle_s`.`_trickle_new_has_nulls` IS NULL OR `_trickle_s`.`_trickle_new_has_nulls` < `_trickle_s`.`_trickle_gone_has_nulls`))) AS `_trickle_flag` FROM `step`.`delta` AS `_trickle_s` CROSS JOIN (SELECT *, TRUE AS `_trickle_there` FROM `step`.`target` AS `_trickle_known`) AS `_trickle_t`) AS `_trickle_r`
    if there is any transitions with _trickle_flag: groups that cannot be merged
      compute groups: their keys
        SELECT
          TRUE AS `_trickle_flag`
        FROM `step`.`transitions` AS `_trickle_x`
        WHERE
          `_trickle_x`.`_trickle_flag`
      put recomputed into what reads it: their rows, computed again
        SELECT MAX(`is_null`) AS `has_nulls` FROM `after`.`internal:state_50011282` AS `q1`
      compute transitions: what becomes of each group
        SELECT `_trickle_r`.`_trickle_old_has_nulls`, `_trickle_r`.`has_nulls`, `_trickle_r`.`_trickle_there`, `_trickle_r`.`_trickle_empty`, `_trickle_r`.`_trickle_flag`, `_trickle_r`.`_trickle_there` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_has_nulls` IS NOT DISTINCT FROM `_trickle_r`.`has_nulls` AND TRUE))) AS `_trickle_gone`, NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_flag` OR NOT (`_trickle_r`.`_trickle_there` AND NOT `_trickle_r`.`_trickle_empty` AND (`_trickle_r`.`_trickle_old_has_nulls` IS NOT DISTINCT FROM `_trickle_r`.`has_nulls` AND TRUE))) AS `_trickle_came` FROM (SELECT `_trickle_x`.`_trickle_old_has_nulls` AS `_trickle_old_has_nulls`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN `_trickle_r`.`has_nulls` ELSE `_trickle_x`.`has_nulls` END AS `has_nulls`, `_trickle_x`.`_trickle_there` AS `_trickle_there`, CASE WHEN `_trickle_x`.`_trickle_flag` THEN NOT NOT `_trickle_r`.`_trickle_found` IS NULL ELSE `_trickle_x`.`_trickle_empty` END AS `_trickle_empty`, FALSE AS `_trickle_flag` FROM `step`.`transitions` AS `_trickle_x` LEFT JOIN (SELECT *, TRUE AS `_trickle_found` FROM `step`.`recomputed` AS `_trickle_again`) AS `_trickle_r` ON TRUE) AS `_trickle_r`
    write transitions: each touched group as it was and as it is

public table (id, name)
  kept row by row
  Project [id, name]
    Match anti id = cust
      Join NOT (NOT has_nulls IS NULL AND (id IS NULL OR has_nulls))
        Scan cust [id, name]
        Project [has_nulls]
          Scan internal:state_ba4609e2 [has_nulls]
      Scan orders [cust]
  if all inputs change, a small change goes through:
    side by side:
      compute shared_1: used in several places
        SELECT
          `id`,
          `name`,
          `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `name`,
            `_trickle_weight`
          FROM `changes`.`cust` AS `q2`
        ) AS `q1`
        JOIN (
          SELECT
            `has_nulls`
          FROM `before`.`internal:state_ba4609e2` AS `q4`
        ) AS `q3`
          ON NOT (
            NOT `has_nulls` IS NULL AND (
              `id` IS NULL OR `has_nulls`
            )
          )
        UNION ALL
        SELECT
          `id`,
          `name`,
          `_trickle_weight`
        FROM (
          SELECT
            `has_nulls`,
            `_trickle_weight`
          FROM `changes`.`internal:state_ba4609e2` AS `q6`
        ) AS `q5`
        JOIN (
          SELECT
            `id`,
            `name`
          FROM `after`.`cust` AS `q8`
        ) AS `q7`
          ON NOT (
            NOT `has_nulls` IS NULL AND (
              `id` IS NULL OR `has_nulls`
            )
          )
      compute shared_2: used in several places
        SELECT
          `cust`
        FROM (
          SELECT
            `cust`
          FROM `after`.`orders` AS `q2`
          WHERE
            KEY_RANGE(`cust`, `changes`.`orders`.`cust`)
        ) AS `q1`
        LEFT SEMI JOIN (
          SELECT
            `cust` AS `_trickle_join_0`
          FROM `changes`.`orders` AS `q4`
        ) AS `q3`
          ON `cust` = `_trickle_join_0`
    compute delta: the change
      SELECT
        `id`,
        `name`,
        `_trickle_weight`
      FROM (
        SELECT
          `id`,
          `name`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `name`,
            `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `name`,
              `_trickle_weight`
            FROM `step`.`shared_1` AS `q4`
          ) AS `q3`
          LEFT ANTI JOIN (
            SELECT
              `cust`
            FROM (
              SELECT
                `cust`
              FROM `after`.`orders` AS `q7`
              WHERE
                KEY_RANGE(`cust`, `step`.`shared_1`.`id`)
            ) AS `q6`
            LEFT SEMI JOIN (
              SELECT
                `id` AS `_trickle_join_0`
              FROM `step`.`shared_1` AS `q9`
            ) AS `q8`
              ON `cust` = `_trickle_join_0`
          ) AS `q5`
            ON `id` = `cust`
          UNION ALL
          SELECT
            `id`,
            `name`,
            CAST(CASE WHEN `_trickle_then` THEN 1 ELSE -1 END AS BIGINT) AS `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `name`,
              `has_nulls`,
              `_trickle_now`,
              EXISTS(
                SELECT
                  1
                FROM (
                  SELECT
                    `cust`
                  FROM (
                    SELECT
                      `cust`,
                      SUM(`_trickle_weight`) AS `_trickle_weight`
                    FROM (
                      SELECT
                        `cust`,
                        CAST(1 AS BIGINT) AS `_trickle_weight`
                      FROM `step`.`shared_2` AS `q25`
                      UNION ALL
                      SELECT
                        `cust`,
                        -`_trickle_weight` AS `_trickle_weight`
                      FROM `changes`.`orders` AS `q26`
                    ) AS `q24`
                    GROUP BY
                      `cust`
                  ) AS `q23`
                  WHERE
                    `_trickle_weight` > 0
                ) AS `q22`
                WHERE
                  `q11`.`id` = `q22`.`cust`
              ) AS `_trickle_then`
            FROM (
              SELECT
                `id`,
                `name`,
                `has_nulls`,
                EXISTS(
                  SELECT
                    1
                  FROM (
                    SELECT
                      `cust`
                    FROM `step`.`shared_2` AS `q21`
                  ) AS `q20`
                  WHERE
                    `q12`.`id` = `q20`.`cust`
                ) AS `_trickle_now`
              FROM (
                SELECT
                  `id`,
                  `name`,
                  `has_nulls`
                FROM (
                  SELECT
                    `id`,
                    `name`,
                    `has_nulls`
                  FROM (
                    SELECT
                      `id`,
                      `name`
                    FROM `before`.`cust` AS `q15`
                    WHERE
                      KEY_RANGE(`id`, `changes`.`orders`.`cust`)
                  ) AS `q14`
                  JOIN (
                    SELECT
                      `has_nulls`
                    FROM `before`.`internal:state_ba4609e2` AS `q17`
                  ) AS `q16`
                    ON NOT (
                      NOT `has_nulls` IS NULL AND (
                        `id` IS NULL OR `has_nulls`
                      )
                    )
                ) AS `q13`
                LEFT SEMI JOIN (
                  SELECT
                    `cust`
                  FROM `changes`.`orders` AS `q19`
                ) AS `q18`
                  ON `id` = `cust`
              ) AS `q12`
            ) AS `q11`
          ) AS `q10`
          WHERE
            `_trickle_now` <> `_trickle_then`
        ) AS `q2`
        GROUP BY
          `id`,
          `name`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: a mark beside OR
SELECT id, name FROM cust c WHERE tier > 1 OR EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id)
---- plan
public table (id, name)
  kept row by row
  Project [id, name]
    Filter tier > 1 OR there_is
      Match mark cust = id AS there_is
        Scan cust [id, name, tier]
        Scan orders [cust]
  if all inputs change, a small change goes through:
    compute shared_1: used in several places
      SELECT
        `cust`
      FROM (
        SELECT
          `cust`
        FROM `after`.`orders` AS `q2`
        WHERE
          KEY_RANGE(`cust`, `changes`.`orders`.`cust`)
      ) AS `q1`
      LEFT SEMI JOIN (
        SELECT
          `cust` AS `_trickle_join_0`
        FROM `changes`.`orders` AS `q4`
      ) AS `q3`
        ON `cust` = `_trickle_join_0`
    compute delta: the change
      SELECT
        `id`,
        `name`,
        `_trickle_weight`
      FROM (
        SELECT
          `id`,
          `name`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `name`,
            `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `name`,
              `tier`,
              `_trickle_weight`,
              EXISTS(
                SELECT
                  1
                FROM (
                  SELECT
                    `cust`
                  FROM (
                    SELECT
                      `cust`
                    FROM `after`.`orders` AS `q8`
                    WHERE
                      KEY_RANGE(`cust`, `changes`.`cust`.`id`)
                  ) AS `q7`
                  LEFT SEMI JOIN (
                    SELECT
                      `id` AS `_trickle_join_0`
                    FROM `changes`.`cust` AS `q10`
                  ) AS `q9`
                    ON `cust` = `_trickle_join_0`
                ) AS `q6`
                WHERE
                  `q6`.`cust` = `q4`.`id`
              ) AS `there_is`
            FROM (
              SELECT
                `id`,
                `name`,
                `tier`,
                `_trickle_weight`
              FROM `changes`.`cust` AS `q5`
            ) AS `q4`
          ) AS `q3`
          WHERE
            `tier` > 1 OR `there_is`
          UNION ALL
          SELECT
            `id`,
            `name`,
            `_trickle_sign` AS `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `name`,
              `tier`,
              `_trickle_now`,
              `_trickle_then`
            FROM (
              SELECT
                `id`,
                `name`,
                `tier`,
                `_trickle_now`,
                EXISTS(
                  SELECT
                    1
                  FROM (
                    SELECT
                      `cust`
                    FROM (
                      SELECT
                        `cust`,
                        SUM(`_trickle_weight`) AS `_trickle_weight`
                      FROM (
                        SELECT
                          `cust`,
                          CAST(1 AS BIGINT) AS `_trickle_weight`
                        FROM `step`.`shared_1` AS `q24`
                        UNION ALL
                        SELECT
                          `cust`,
                          -`_trickle_weight` AS `_trickle_weight`
                        FROM `changes`.`orders` AS `q25`
                      ) AS `q23`
                      GROUP BY
                        `cust`
                    ) AS `q22`
                    WHERE
                      `_trickle_weight` > 0
                  ) AS `q21`
                  WHERE
                    `q21`.`cust` = `q13`.`id`
                ) AS `_trickle_then`
              FROM (
                SELECT
                  `id`,
                  `name`,
                  `tier`,
                  EXISTS(
                    SELECT
                      1
                    FROM (
                      SELECT
                        `cust`
                      FROM `step`.`shared_1` AS `q20`
                    ) AS `q19`
                    WHERE
                      `q19`.`cust` = `q14`.`id`
                  ) AS `_trickle_now`
                FROM (
                  SELECT
                    `id`,
                    `name`,
                    `tier`
                  FROM (
                    SELECT
                      `id`,
                      `name`,
                      `tier`
                    FROM `before`.`cust` AS `q16`
                    WHERE
                      KEY_RANGE(`id`, `changes`.`orders`.`cust`)
                  ) AS `q15`
                  LEFT SEMI JOIN (
                    SELECT
                      `cust`
                    FROM `changes`.`orders` AS `q18`
                  ) AS `q17`
                    ON `cust` = `id`
                ) AS `q14`
              ) AS `q13`
            ) AS `q12`
            WHERE
              `_trickle_now` <> `_trickle_then`
          ) AS `q11`
          JOIN (
            SELECT
              CAST(1 AS BIGINT) AS `_trickle_sign`
            UNION ALL
            SELECT
              CAST(-1 AS BIGINT) AS `_trickle_sign`
          ) AS `q26`
            ON (
              `tier` > 1
              OR (
                CASE WHEN `_trickle_sign` > 0 THEN `_trickle_now` ELSE `_trickle_then` END
              )
            )
        ) AS `q2`
        GROUP BY
          `id`,
          `name`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come
