-- title: rows without a partner are kept on one side
SELECT o.id, c.name FROM orders o LEFT JOIN cust c ON o.cust = c.id
---- plan
public table (id, name)
  kept row by row
  Project [id, name]
    LeftJoin cust = id_2
      Scan orders [id, cust]
      Scan cust [id AS id_2, name]
  if all inputs change, a small change goes through:
    compute shared_1: used in several places
      SELECT
        `id_2`
      FROM (
        SELECT
          `id` AS `id_2`
        FROM `after`.`cust` AS `q2`
        WHERE
          KEY_RANGE(`id`, `changes`.`cust`.`id`)
      ) AS `q1`
      LEFT SEMI JOIN (
        SELECT
          `id` AS `_trickle_join_0`
        FROM `changes`.`cust` AS `q4`
      ) AS `q3`
        ON `id_2` = `_trickle_join_0`
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
              `cust`,
              `_trickle_weight`
            FROM `changes`.`orders` AS `q4`
          ) AS `q3`
          LEFT JOIN (
            SELECT
              `id_2`,
              `name`
            FROM (
              SELECT
                `id` AS `id_2`,
                `name`
              FROM `after`.`cust` AS `q7`
              WHERE
                KEY_RANGE(`id`, `changes`.`orders`.`cust`)
            ) AS `q6`
            LEFT SEMI JOIN (
              SELECT
                `cust` AS `_trickle_join_0`
              FROM `changes`.`orders` AS `q9`
            ) AS `q8`
              ON `id_2` = `_trickle_join_0`
          ) AS `q5`
            ON `cust` = `id_2`
          UNION ALL
          SELECT
            `id`,
            `name`,
            `_trickle_weight`
          FROM (
            SELECT
              `id` AS `id_2`,
              `name`,
              `_trickle_weight`
            FROM `changes`.`cust` AS `q11`
          ) AS `q10`
          JOIN (
            SELECT
              `id`,
              `cust`
            FROM `before`.`orders` AS `q13`
            WHERE
              KEY_RANGE(`cust`, `changes`.`cust`.`id`)
          ) AS `q12`
            ON `cust` = `id_2`
          UNION ALL
          SELECT
            `id`,
            `name`,
            `_trickle_weight`
          FROM (
            SELECT
              `id`,
              CAST(CASE WHEN `_trickle_then` THEN 1 ELSE -1 END AS BIGINT) AS `_trickle_weight`
            FROM (
              SELECT
                `id`,
                `cust`,
                `_trickle_now`,
                EXISTS(
                  SELECT
                    1
                  FROM (
                    SELECT
                      `id_2`
                    FROM (
                      SELECT
                        `id_2`,
                        SUM(`_trickle_weight`) AS `_trickle_weight`
                      FROM (
                        SELECT
                          `id_2`,
                          CAST(1 AS BIGINT) AS `_trickle_weight`
                        FROM `step`.`shared_1` AS `q27`
                        UNION ALL
                        SELECT
                          `id` AS `id_2`,
                          -`_trickle_weight` AS `_trickle_weight`
                        FROM `changes`.`cust` AS `q28`
                      ) AS `q26`
                      GROUP BY
                        `id_2`
                    ) AS `q25`
                    WHERE
                      `_trickle_weight` > 0
                  ) AS `q24`
                  WHERE
                    `q16`.`cust` = `q24`.`id_2`
                ) AS `_trickle_then`
              FROM (
                SELECT
                  `id`,
                  `cust`,
                  EXISTS(
                    SELECT
                      1
                    FROM (
                      SELECT
                        `id_2`
                      FROM `step`.`shared_1` AS `q23`
                    ) AS `q22`
                    WHERE
                      `q17`.`cust` = `q22`.`id_2`
                  ) AS `_trickle_now`
                FROM (
                  SELECT
                    `id`,
                    `cust`
                  FROM (
                    SELECT
                      `id`,
                      `cust`
                    FROM `before`.`orders` AS `q19`
                    WHERE
                      KEY_RANGE(`cust`, `changes`.`cust`.`id`)
                  ) AS `q18`
                  LEFT SEMI JOIN (
                    SELECT
                      `id` AS `id_2`
                    FROM `changes`.`cust` AS `q21`
                  ) AS `q20`
                    ON `cust` = `id_2`
                ) AS `q17`
              ) AS `q16`
            ) AS `q15`
            WHERE
              `_trickle_now` <> `_trickle_then`
          ) AS `q14`
          LEFT JOIN (
            SELECT
              `name`
            FROM `after`.`cust` AS `q30`
            WHERE
              FALSE
          ) AS `q29`
            ON TRUE
        ) AS `q2`
        GROUP BY
          `id`,
          `name`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: on both sides
SELECT o.id, c.id AS cust FROM orders o FULL JOIN cust c ON o.cust = c.id AND c.tier > 1
---- plan
public table (id, cust)
  kept row by row
  Project [id, id_2 AS cust]
    FullJoin cust = id_2 AND tier > 1
      Scan orders [id, cust]
      Scan cust [id AS id_2, tier]
  if all inputs change, a small change goes through:
    side by side:
      compute shared_1: used in several places
        SELECT
          `id_2`,
          `tier`
        FROM (
          SELECT
            `id` AS `id_2`,
            `tier`
          FROM `after`.`cust` AS `q2`
          WHERE
            KEY_RANGE(`id`, `changes`.`cust`.`id`)
        ) AS `q1`
        LEFT SEMI JOIN (
          SELECT
            `id` AS `_trickle_join_0`
          FROM `changes`.`cust` AS `q4`
        ) AS `q3`
          ON `id_2` = `_trickle_join_0`
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
        `cust`,
        `_trickle_weight`
      FROM (
        SELECT
          `id`,
          `cust`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `id_2` AS `cust`,
            `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `cust`,
              `_trickle_weight`
            FROM `changes`.`orders` AS `q4`
          ) AS `q3`
          LEFT JOIN (
            SELECT
              `id_2`,
              `tier`
            FROM (
              SELECT
                `id` AS `id_2`,
                `tier`
              FROM `after`.`cust` AS `q7`
              WHERE
                KEY_RANGE(`id`, `changes`.`orders`.`cust`) AND `tier` > 1
            ) AS `q6`
            LEFT SEMI JOIN (
              SELECT
                `cust` AS `_trickle_join_0`
              FROM `changes`.`orders` AS `q9`
            ) AS `q8`
              ON `id_2` = `_trickle_join_0`
          ) AS `q5`
            ON `cust` = `id_2`
          UNION ALL
          SELECT
            `id`,
            `id_2` AS `cust`,
            `_trickle_weight`
          FROM (
            SELECT
              `id` AS `id_2`,
              `tier`,
              `_trickle_weight`
            FROM `changes`.`cust` AS `q11`
            WHERE
              `tier` > 1
          ) AS `q10`
          JOIN (
            SELECT
              `id`,
              `cust`
            FROM `before`.`orders` AS `q13`
            WHERE
              KEY_RANGE(`cust`, `changes`.`cust`.`id`)
          ) AS `q12`
            ON `cust` = `id_2`
          UNION ALL
          SELECT
            `id`,
            `id_2` AS `cust`,
            `_trickle_weight`
          FROM (
            SELECT
              `id`,
              CAST(CASE WHEN `_trickle_then` THEN 1 ELSE -1 END AS BIGINT) AS `_trickle_weight`
            FROM (
              SELECT
                `id`,
                `cust`,
                `_trickle_now`,
                EXISTS(
                  SELECT
                    1
                  FROM (
                    SELECT
                      `id_2`
                    FROM (
                      SELECT
                        `id_2`,
                        `tier`,
                        SUM(`_trickle_weight`) AS `_trickle_weight`
                      FROM (
                        SELECT
                          `id_2`,
                          `tier`,
                          CAST(1 AS BIGINT) AS `_trickle_weight`
                        FROM `step`.`shared_1` AS `q27`
                        WHERE
                          `tier` > 1
                        UNION ALL
                        SELECT
                          `id` AS `id_2`,
                          `tier`,
                          -`_trickle_weight` AS `_trickle_weight`
                        FROM `changes`.`cust` AS `q28`
                        WHERE
                          `tier` > 1
                      ) AS `q26`
                      GROUP BY
                        `id_2`,
                        `tier`
                    ) AS `q25`
                    WHERE
                      `_trickle_weight` > 0
                  ) AS `q24`
                  WHERE
                    `q16`.`cust` = `q24`.`id_2`
                ) AS `_trickle_then`
              FROM (
                SELECT
                  `id`,
                  `cust`,
                  EXISTS(
                    SELECT
                      1
                    FROM (
                      SELECT
                        `id_2`,
                        `tier`
                      FROM `step`.`shared_1` AS `q23`
                      WHERE
                        `tier` > 1
                    ) AS `q22`
                    WHERE
                      `q17`.`cust` = `q22`.`id_2`
                  ) AS `_trickle_now`
                FROM (
                  SELECT
                    `id`,
                    `cust`
                  FROM (
                    SELECT
                      `id`,
                      `cust`
                    FROM `before`.`orders` AS `q19`
                    WHERE
                      KEY_RANGE(`cust`, `changes`.`cust`.`id`)
                  ) AS `q18`
                  LEFT SEMI JOIN (
                    SELECT
                      `id` AS `id_2`,
                      `tier`
                    FROM `changes`.`cust` AS `q21`
                    WHERE
                      `tier` > 1
                  ) AS `q20`
                    ON `cust` = `id_2`
                ) AS `q17`
              ) AS `q16`
            ) AS `q15`
            WHERE
              `_trickle_now` <> `_trickle_then`
          ) AS `q14`
          LEFT JOIN (
            SELECT
              `id` AS `id_2`
            FROM `after`.`cust` AS `q30`
            WHERE
              FALSE
          ) AS `q29`
            ON TRUE
          UNION ALL
          SELECT
            `id`,
            `id_2` AS `cust`,
            `_trickle_weight`
          FROM (
            SELECT
              `id_2`,
              `_trickle_weight`
            FROM (
              SELECT
                `id` AS `id_2`,
                `tier`,
                `_trickle_weight`
              FROM `changes`.`cust` AS `q33`
            ) AS `q32`
            LEFT ANTI JOIN (
              SELECT
                `cust`
              FROM (
                SELECT
                  `cust`
                FROM `after`.`orders` AS `q36`
                WHERE
                  KEY_RANGE(`cust`, `changes`.`cust`.`id`)
              ) AS `q35`
              LEFT SEMI JOIN (
                SELECT
                  `id` AS `_trickle_join_0`
                FROM `changes`.`cust` AS `q38`
              ) AS `q37`
                ON `cust` = `_trickle_join_0`
            ) AS `q34`
              ON `cust` = `id_2` AND `tier` > 1
            UNION ALL
            SELECT
              `id_2`,
              CAST(CASE WHEN `_trickle_then` THEN 1 ELSE -1 END AS BIGINT) AS `_trickle_weight`
            FROM (
              SELECT
                `id_2`,
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
                        FROM `step`.`shared_2` AS `q51`
                        UNION ALL
                        SELECT
                          `cust`,
                          -`_trickle_weight` AS `_trickle_weight`
                        FROM `changes`.`orders` AS `q52`
                      ) AS `q50`
                      GROUP BY
                        `cust`
                    ) AS `q49`
                    WHERE
                      `_trickle_weight` > 0
                  ) AS `q48`
                  WHERE
                    `q48`.`cust` = `q40`.`id_2` AND `q40`.`tier` > 1
                ) AS `_trickle_then`
              FROM (
                SELECT
                  `id_2`,
                  `tier`,
                  EXISTS(
                    SELECT
                      1
                    FROM (
                      SELECT
                        `cust`
                      FROM `step`.`shared_2` AS `q47`
                    ) AS `q46`
                    WHERE
                      `q46`.`cust` = `q41`.`id_2` AND `q41`.`tier` > 1
                  ) AS `_trickle_now`
                FROM (
                  SELECT
                    `id_2`,
                    `tier`
                  FROM (
                    SELECT
                      `id` AS `id_2`,
                      `tier`
                    FROM `before`.`cust` AS `q43`
                    WHERE
                      KEY_RANGE(`id`, `changes`.`orders`.`cust`) AND `tier` > 1
                  ) AS `q42`
                  LEFT SEMI JOIN (
                    SELECT
                      `cust`
                    FROM `changes`.`orders` AS `q45`
                  ) AS `q44`
                    ON `cust` = `id_2`
                ) AS `q41`
              ) AS `q40`
            ) AS `q39`
            WHERE
              `_trickle_now` <> `_trickle_then`
          ) AS `q31`
          LEFT JOIN (
            SELECT
              `id`
            FROM `after`.`orders` AS `q54`
            WHERE
              FALSE
          ) AS `q53`
            ON TRUE
        ) AS `q2`
        GROUP BY
          `id`,
          `cust`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come
