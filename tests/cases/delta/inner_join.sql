-- title: two tables
SELECT o.id, c.name FROM orders o JOIN cust c ON o.cust = c.id WHERE c.tier > 1
---- plan
public table (id, name)
  kept row by row
  Project [id, name]
    Join cust = id_2
      Scan orders [id, cust]
      Filter tier > 1
        Scan cust [id AS id_2, name, tier]
  if all inputs change, a small change goes through:
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
          JOIN (
            SELECT
              `id` AS `id_2`,
              `name`,
              `tier`
            FROM `before`.`cust` AS `q6`
            WHERE
              `tier` > 1 AND KEY_RANGE(`id`, `changes`.`orders`.`cust`)
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
              `tier`,
              `_trickle_weight`
            FROM `changes`.`cust` AS `q8`
            WHERE
              `tier` > 1
          ) AS `q7`
          JOIN (
            SELECT
              `id`,
              `cust`
            FROM `after`.`orders` AS `q10`
            WHERE
              KEY_RANGE(`cust`, `changes`.`cust`.`id`)
          ) AS `q9`
            ON `cust` = `id_2`
        ) AS `q2`
        GROUP BY
          `id`,
          `name`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: three tables
SELECT o.id, c.name, i.sku FROM orders o JOIN cust c ON o.cust = c.id JOIN items i ON i.oid = o.id
---- plan
public table (id, name, sku)
  kept row by row
  Project [id, name, sku]
    Join cust = id_2 AND oid = id
      Scan orders [id, cust]
      Scan cust [id AS id_2, name]
      Scan items [oid, sku]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `id`,
        `name`,
        `sku`,
        `_trickle_weight`
      FROM (
        SELECT
          `id`,
          `name`,
          `sku`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `name`,
            `sku`,
            `_trickle_weight`
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
              FROM `changes`.`orders` AS `q5`
            ) AS `q4`
            JOIN (
              SELECT
                `id` AS `id_2`,
                `name`
              FROM `before`.`cust` AS `q7`
              WHERE
                KEY_RANGE(`id`, `changes`.`orders`.`cust`)
            ) AS `q6`
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
              FROM `changes`.`cust` AS `q9`
            ) AS `q8`
            JOIN (
              SELECT
                `id`,
                `cust`
              FROM `after`.`orders` AS `q11`
              WHERE
                KEY_RANGE(`cust`, `changes`.`cust`.`id`)
            ) AS `q10`
              ON `cust` = `id_2`
          ) AS `q3`
          JOIN (
            SELECT
              `oid`,
              `sku`
            FROM `before`.`items` AS `q13`
          ) AS `q12`
            ON `oid` = `id`
          UNION ALL
          SELECT
            `id`,
            `name`,
            `sku`,
            `_trickle_weight`
          FROM (
            SELECT
              `oid`,
              `sku`,
              `_trickle_weight`
            FROM `changes`.`items` AS `q15`
          ) AS `q14`
          JOIN (
            SELECT
              `id`,
              `cust`
            FROM `after`.`orders` AS `q17`
            WHERE
              KEY_RANGE(`id`, `changes`.`items`.`oid`)
          ) AS `q16`
            ON `oid` = `id`
          JOIN (
            SELECT
              `id` AS `id_2`,
              `name`
            FROM `after`.`cust` AS `q19`
          ) AS `q18`
            ON `cust` = `id_2`
        ) AS `q2`
        GROUP BY
          `id`,
          `name`,
          `sku`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come

-- title: a table with itself
SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.cust = b.cust
---- plan
public table (id, other)
  kept row by row
  Project [id, id_2 AS other]
    Join cust = cust_2
      Scan orders [id, cust]
      Scan orders [id AS id_2, cust AS cust_2]
  if all inputs change, a small change goes through:
    compute delta: the change
      SELECT
        `id`,
        `other`,
        `_trickle_weight`
      FROM (
        SELECT
          `id`,
          `other`,
          SUM(`_trickle_weight`) AS `_trickle_weight`
        FROM (
          SELECT
            `id`,
            `id_2` AS `other`,
            `_trickle_weight`
          FROM (
            SELECT
              `id`,
              `cust`,
              `_trickle_weight`
            FROM `changes`.`orders` AS `q4`
          ) AS `q3`
          JOIN (
            SELECT
              `id` AS `id_2`,
              `cust` AS `cust_2`
            FROM `before`.`orders` AS `q6`
            WHERE
              KEY_RANGE(`cust`, `changes`.`orders`.`cust`)
          ) AS `q5`
            ON `cust` = `cust_2`
          UNION ALL
          SELECT
            `id`,
            `id_2` AS `other`,
            `_trickle_weight`
          FROM (
            SELECT
              `id` AS `id_2`,
              `cust` AS `cust_2`,
              `_trickle_weight`
            FROM `changes`.`orders` AS `q8`
          ) AS `q7`
          JOIN (
            SELECT
              `id`,
              `cust`
            FROM `after`.`orders` AS `q10`
            WHERE
              KEY_RANGE(`cust`, `changes`.`orders`.`cust`)
          ) AS `q9`
            ON `cust` = `cust_2`
        ) AS `q2`
        GROUP BY
          `id`,
          `other`
      ) AS `q1`
      WHERE
        `_trickle_weight` <> 0
    write delta: rows with weights: some go, some come
