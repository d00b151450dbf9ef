-- title: filter and project
SELECT id, amount * 2 AS twice FROM orders WHERE qty > 1
---- plan
public table (id, twice)
  kept row by row
  Project [id, amount * 2 AS twice]
    Filter qty > 1
      Scan orders [id, amount, qty]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `id`,
        `twice`,
        `_trickle_weight`
      FROM (
        SELECT
          `id`,
          `twice`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `amount` * 2 AS `twice`,
            `_trickle_weight`
          FROM `changes`.`orders` AS `q3`
          WHERE
            `qty` > 1
        ) AS `q2`
        GROUP BY
          `id`,
          `twice`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: union all, casts to the common type
SELECT qty AS x FROM orders UNION ALL SELECT price FROM orders
---- plan
public table (x)
  kept row by row
  UnionAll [x]
    Project [CAST(qty AS DOUBLE) AS x]
      Scan orders [qty]
    Project [price_2 AS x]
      Scan orders [price AS price_2]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `x`,
        `_trickle_weight`
      FROM (
        SELECT
          CAST(`x` AS STRING) AS `_trickle_text_0`,
          ANY_VALUE(`x`) AS `x`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            CAST(`qty` AS DOUBLE) AS `x`,
            `_trickle_weight`
          FROM `changes`.`orders` AS `q3`
          UNION ALL
          SELECT
            `price` AS `x`,
            `_trickle_weight`
          FROM `changes`.`orders` AS `q4`
        ) AS `q2`
        GROUP BY
          CAST(`x` AS STRING)
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come
