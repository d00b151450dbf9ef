-- title: distinct rows
SELECT DISTINCT region, cust FROM orders
---- plan
internal table state_df5f44a3 (region, cust, _trickle_n)
  kept per (region, cust)
    _trickle_n = COUNT(*): merged
  Aggregate by [region, cust] compute [COUNT(*) AS _trickle_n]
    Project [region, cust]
      Scan orders [cust, region]
  change, if all inputs change:
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

public table (region, cust)
  kept by key (region, cust)
  Project [region, cust]
    Scan internal:state_df5f44a3 [region, cust]
  change, if all inputs change:
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
  change, if all inputs change:
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

public table (region)
  kept by key (region)
  Project [region_2 AS region]
    Scan internal:state_f3513d59 [region_2]
  change, if all inputs change:
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
