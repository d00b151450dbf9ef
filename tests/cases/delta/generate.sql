-- title: rows made of each row
SELECT id, x FROM orders LATERAL VIEW explode(array(qty, qty + 1)) e AS x
---- plan
public table (id, x)
  kept row by row
  Project [id, x]
    Generate EXPLODE(ARRAY(qty, qty + 1)) AS [x]
      Scan orders [id, qty]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `id`,
        `x`,
        `_trickle_weight`
      FROM (
        SELECT
          `id`,
          `x`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `qty`,
            `_trickle_weight`
          FROM `changes`.`orders` AS `q3`
        ) AS `q2`
        LATERAL VIEW
        EXPLODE(ARRAY(`qty`, `qty` + 1)) q4 AS `x`
        GROUP BY
          `id`,
          `x`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: over the change of a join
SELECT o.id, x FROM orders o JOIN cust c ON o.cust = c.id LATERAL VIEW OUTER explode(array(o.qty, c.tier)) e AS x
---- plan
public table (id, x)
  kept row by row
  Project [id, x]
    Generate outer EXPLODE(ARRAY(qty, tier)) AS [x]
      Join cust = id_2
        Scan orders [id, cust, qty]
        Scan cust [id AS id_2, tier]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `id`,
        `x`,
        `_trickle_weight`
      FROM (
        SELECT
          `id`,
          `x`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `qty`,
            `tier`,
            `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `cust`,
              `qty`,
              `_trickle_weight`
            FROM `changes`.`orders` AS `q4`
          ) AS `q3`
          JOIN (
            SELECT
              `id` AS `id_2`,
              `tier`
            FROM `before`.`cust` AS `q6`
            WHERE
              KEY_RANGE(`id`, `changes`.`orders`.`cust`)
          ) AS `q5`
            ON `cust` = `id_2`
          UNION ALL
          SELECT
            `id`,
            `qty`,
            `tier`,
            `_trickle_weight`
          FROM (
            SELECT
              `id` AS `id_2`,
              `tier`,
              `_trickle_weight`
            FROM `changes`.`cust` AS `q8`
          ) AS `q7`
          JOIN (
            SELECT
              `id`,
              `cust`,
              `qty`
            FROM `after`.`orders` AS `q10`
            WHERE
              KEY_RANGE(`cust`, `changes`.`cust`.`id`)
          ) AS `q9`
            ON `cust` = `id_2`
        ) AS `q2`
        LATERAL VIEW OUTER
        EXPLODE(ARRAY(`qty`, `tier`)) q11 AS `x`
        GROUP BY
          `id`,
          `x`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come
