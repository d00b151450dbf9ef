-- title: a window
SELECT id, region, SUM(qty) OVER (PARTITION BY region ORDER BY id) AS running FROM orders
---- plan
public table (id, region, running)
  kept by computing partitions of (region) again, writing what differs
  Project [id, region, sum_qty AS running]
    Window by [region] compute [SUM(qty) OVER (PARTITION BY region ORDER BY id) AS sum_qty]
      Scan orders [id, region, qty]
  if all inputs change, a small change goes through:
    compute groups: the partitions that are touched
      SELECT DISTINCT
        `region`
      FROM (
        SELECT
          `region`
        FROM `changes`.`orders` AS `q2`
      ) AS `q1`
    if there is any groups: touched partitions
      compute delta: what differs in them, computed again
        SELECT
          `id`,
          `region`,
          `running`,
          `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `region`,
            `running`,
            SUM(`_trickle_weight`) AS `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `region`,
              `sum_qty` AS `running`,
              CAST(1 AS BIGINT) AS `_trickle_weight`
            FROM (
              SELECT
                `id`,
                `region`,
                `qty`,
                SUM(`qty`) OVER (PARTITION BY `region` ORDER BY `id`) AS `sum_qty`
              FROM (
                SELECT
                  `id`,
                  `region`,
                  `qty`
                FROM (
                  SELECT
                    `id`,
                    `region`,
                    `qty`
                  FROM `after`.`orders` AS `q6`
                  WHERE
                    KEY_RANGE(`region`, `step`.`groups`.`region`, NULLS)
                ) AS `q5`
                LEFT SEMI JOIN (
                  SELECT
                    `region` AS `_trickle_group_0`
                  FROM `step`.`groups` AS `q8`
                ) AS `q7`
                  ON `region` IS NOT DISTINCT FROM `_trickle_group_0`
              ) AS `q4`
            ) AS `q3`
            UNION ALL
            SELECT
              `id`,
              `region`,
              `running`,
              CAST(-1 AS BIGINT) AS `_trickle_weight`
            FROM (
              SELECT
                `id`,
                `region`,
                `running`
              FROM `step`.`target` AS `q10`
            ) AS `q9`
            LEFT SEMI JOIN (
              SELECT
                `region` AS `_trickle_group_0`
              FROM `step`.`groups` AS `q12`
            ) AS `q11`
              ON `region` IS NOT DISTINCT FROM `_trickle_group_0`
          ) AS `q2`
          GROUP BY
            `id`,
            `region`,
            `running`
        ) AS `q1`
        WHERE
          `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: a window over the whole
SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS place FROM cust
---- plan
public table (id, place)
  kept by computing the whole again, writing what differs
  Project [id, row_number AS place]
    Window by [] compute [ROW_NUMBER() OVER (ORDER BY id) AS row_number]
      Scan cust [id]
  if all inputs change, a small change goes through:
    compute groups: the partitions that are touched
      SELECT DISTINCT
        `_trickle_touched`
      FROM (
        SELECT
          TRUE AS `_trickle_touched`
        FROM `changes`.`cust` AS `q2`
      ) AS `q1`
    if there is any groups: touched partitions
      compute delta: what differs in them, computed again
        SELECT
          `id`,
          `place`,
          `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `place`,
            SUM(`_trickle_weight`) AS `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `row_number` AS `place`,
              CAST(1 AS BIGINT) AS `_trickle_weight`
            FROM (
              SELECT
                `id`,
                ROW_NUMBER() OVER (ORDER BY `id`) AS `row_number`
              FROM `after`.`cust` AS `q4`
            ) AS `q3`
            UNION ALL
            SELECT
              `id`,
              `place`,
              CAST(-1 AS BIGINT) AS `_trickle_weight`
            FROM `step`.`target` AS `q5`
          ) AS `q2`
          GROUP BY
            `id`,
            `place`
        ) AS `q1`
        WHERE
          `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: the first rows
SELECT id, qty FROM orders ORDER BY qty DESC, id LIMIT 2
---- plan
public table (id, qty)
  kept by computing the whole again, writing what differs
  Project [id, qty]
    Limit 2 by [qty DESC, id]
      Project [id, qty]
        Scan orders [id, qty]
  if all inputs change, a small change goes through:
    compute groups: the partitions that are touched
      SELECT DISTINCT
        `_trickle_touched`
      FROM (
        SELECT
          TRUE AS `_trickle_touched`
        FROM `changes`.`orders` AS `q2`
      ) AS `q1`
    if there is any groups: touched partitions
      compute delta: what differs in them, computed again
        SELECT
          `id`,
          `qty`,
          `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `qty`,
            SUM(`_trickle_weight`) AS `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `qty`,
              CAST(1 AS BIGINT) AS `_trickle_weight`
            FROM (
              SELECT
                `id`,
                `qty`
              FROM (
                SELECT
                  `id`,
                  `qty`
                FROM `after`.`orders` AS `q5`
              ) AS `q4`
              ORDER BY
                `qty` DESC,
                `id`
              LIMIT 2
            ) AS `q3`
            UNION ALL
            SELECT
              `id`,
              `qty`,
              CAST(-1 AS BIGINT) AS `_trickle_weight`
            FROM `step`.`target` AS `q6`
          ) AS `q2`
          GROUP BY
            `id`,
            `qty`
        ) AS `q1`
        WHERE
          `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: a recursion
WITH RECURSIVE up(id, depth) AS (SELECT id, 1 FROM cust WHERE tier = 1 UNION ALL SELECT o.id, up.depth + 1 FROM orders o JOIN up ON o.cust = up.id WHERE up.depth < 4) SELECT id, depth FROM up
---- plan
public table (id, depth)
  kept by computing the whole again, writing what differs
  Project [id_2 AS id, depth]
    Recursion up [id_2, depth]
      Project [id, 1 AS 1]
        Filter tier = 1
          Scan cust [id, tier]
      Project [id_3, depth_2 + 1 AS up_depth_1]
        Join cust = id_4
          Scan orders [id AS id_3, cust]
          Filter depth_2 < 4
            Again up [id_2 AS id_4, depth AS depth_2]
  if all inputs change, a small change goes through:
    compute groups: the partitions that are touched
      SELECT DISTINCT
        `_trickle_touched`
      FROM (
        SELECT
          TRUE AS `_trickle_touched`
        FROM `changes`.`cust` AS `q2`
        UNION ALL
        SELECT
          TRUE AS `_trickle_touched`
        FROM `changes`.`orders` AS `q3`
      ) AS `q1`
    if there is any groups: touched partitions
      compute delta: what differs in them, computed again
        WITH RECURSIVE `up`(`id_2`, `depth`) AS (
          SELECT
            `id`,
            1 AS `1`
          FROM `after`.`cust` AS `q8`
          WHERE
            `tier` = 1
          UNION ALL
          SELECT
            `id_3`,
            `depth_2` + 1 AS `up_depth_1`
          FROM (
            SELECT
              `id` AS `id_3`,
              `cust`
            FROM `after`.`orders` AS `q5`
          ) AS `q4`
          JOIN (
            SELECT
              `id_2` AS `id_4`,
              `depth` AS `depth_2`
            FROM `up` AS `q7`
            WHERE
              `depth` < 4
          ) AS `q6`
            ON `cust` = `id_4`
        )
        SELECT
          `id`,
          `depth`,
          `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `depth`,
            SUM(`_trickle_weight`) AS `_trickle_weight`
          FROM (
            SELECT
              `id_2` AS `id`,
              `depth`,
              CAST(1 AS BIGINT) AS `_trickle_weight`
            FROM (
              SELECT
                `id_2`,
                `depth`
              FROM `up` AS `q9`
            ) AS `q3`
            UNION ALL
            SELECT
              `id`,
              `depth`,
              CAST(-1 AS BIGINT) AS `_trickle_weight`
            FROM `step`.`target` AS `q10`
          ) AS `q2`
          GROUP BY
            `id`,
            `depth`
        ) AS `q1`
        WHERE
          `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come
