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
  change, if all inputs change:
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
  change, if all inputs change:
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

public table (region, s)
  kept by key (region)
  Project [region, s]
    Scan internal:state_e2326da9 [region, s]
  change, if all inputs change:
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

-- title: extrema need none
SELECT region, MIN(qty) AS lo, MAX(amount) AS hi FROM orders GROUP BY region
---- plan
public table (region, lo, hi)
  kept per (region)
    lo = MIN(qty): merged on insert, recomputed for groups that lost their extremum
    hi = MAX(amount): merged on insert, recomputed for groups that lost their extremum
  Aggregate by [region] compute [MIN(qty) AS lo, MAX(amount) AS hi]
    Scan orders [region, amount, qty]
  change, if all inputs change:
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

-- title: floating sums need none
SELECT region, SUM(price) AS s FROM orders GROUP BY region
---- plan
public table (region, s)
  kept per (region)
    s = SUM(price): added on insert, recomputed for groups that lost rows
  Aggregate by [region] compute [SUM(price) AS s]
    Scan orders [region, price]
  change, if all inputs change:
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

-- title: recomputed
SELECT region, COUNT(DISTINCT cust) AS c FROM orders GROUP BY region
---- plan
internal table state_e03ec8cb (_trickle_by_region, _trickle_once_c_0, _trickle_n)
  kept per (_trickle_by_region, _trickle_once_c_0)
    _trickle_n = COUNT(*): merged
  Aggregate by [region AS _trickle_by_region, cust AS _trickle_once_c_0] compute [COUNT(*) AS _trickle_n]
    Scan orders [cust, region]
  change, if all inputs change:
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

internal table state_bed77c62 (region, c, _trickle_n)
  kept per (region)
    c = COUNT(_trickle_once_c_0): merged
    _trickle_n = COUNT(*): merged
  Aggregate by [_trickle_by_region AS region] compute [COUNT(_trickle_once_c_0) AS c, COUNT(*) AS _trickle_n]
    Project [_trickle_by_region, _trickle_once_c_0]
      Scan internal:state_e03ec8cb [_trickle_by_region, _trickle_once_c_0, _trickle_n]
  change, if all inputs change:
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

public table (region, c)
  kept by key (region)
  Project [region, c]
    Scan internal:state_bed77c62 [region, c]
  change, if all inputs change:
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

-- title: one row
SELECT COUNT(*) AS n, MAX(qty) AS hi FROM orders
---- plan
public table (n, hi)
  kept as one row
    n = COUNT(*): merged
    hi = MAX(qty): merged on insert, recomputed for groups that lost their extremum
  Aggregate by [] compute [COUNT(*) AS n, MAX(qty) AS hi]
    Scan orders [qty]
  change, if all inputs change:
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
  change, if all inputs change:
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

public table (name, s)
  kept by key (name)
  Project [name, s]
    Filter s > 3
      Scan internal:state_e3cdd368 [name, s]
  change, if all inputs change:
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

-- title: a scalar subquery
SELECT id FROM orders WHERE qty > (SELECT AVG(qty) FROM orders)
---- plan
internal table state_65c76c9b (_trickle_sum_avg_qty, _trickle_count_avg_qty)
  kept as one row
    _trickle_sum_avg_qty = SUM(qty_2): merged
    _trickle_count_avg_qty = COUNT(qty_2): merged
  Aggregate by [] compute [SUM(qty_2) AS _trickle_sum_avg_qty, COUNT(qty_2) AS _trickle_count_avg_qty]
    Scan orders [qty AS qty_2]
  change, if all inputs change:
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

public table (id)
  kept row by row
  Project [id]
    Join qty > avg_qty
      Scan orders [id, qty]
      Project [CASE WHEN _trickle_count_avg_qty > 0 THEN CAST(_trickle_sum_avg_qty AS DOUBLE) / _trickle_count_avg_qty END AS avg_qty]
        Scan internal:state_65c76c9b [_trickle_sum_avg_qty, _trickle_count_avg_qty]
  change, if all inputs change:
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

-- title: the change of a sum of long integers may not fit
SELECT region, COUNT(*) AS n, SUM(id) AS s FROM orders GROUP BY region
---- plan
public table (region, n, s)
  kept per (region)
    n = COUNT(*): merged
    s = SUM(id): merged, recomputed for groups whose change does not fit the type
  Aggregate by [region] compute [COUNT(*) AS n, SUM(id) AS s]
    Scan orders [id, region]
  change, if all inputs change:
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
