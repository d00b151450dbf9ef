-- title: ROLLUP
SELECT region, cust, SUM(qty) AS s, SUM(cust) AS c FROM orders GROUP BY ROLLUP (region, cust)
---- tree
Project [region_2 AS region, cust_2 AS cust, s, c]
  Aggregate by [region_2, cust_2, grouping_set] compute [SUM(qty) AS s, SUM(cust) AS c]
    Project [cust, qty, grouping_set, CASE WHEN grouping_set IN (0, 1) THEN region END AS region_2, CASE WHEN grouping_set IN (0) THEN cust END AS cust_2]
      Generate EXPLODE(ARRAY(0, 1, 2)) AS [grouping_set]
        Scan orders [cust, region, qty]

-- title: CUBE of composite keys
SELECT region, cust, qty, COUNT(*) AS n FROM orders GROUP BY CUBE ((region, cust), qty)
---- tree
Project [region_2 AS region, cust_2 AS cust, qty_2 AS qty, n]
  Aggregate by [region_2, cust_2, qty_2, grouping_set] compute [COUNT(*) AS n]
    Project [grouping_set, CASE WHEN grouping_set IN (0, 1) THEN region END AS region_2, CASE WHEN grouping_set IN (0, 1) THEN cust END AS cust_2, CASE WHEN grouping_set IN (0, 2) THEN qty END AS qty_2]
      Generate EXPLODE(ARRAY(0, 1, 2, 3)) AS [grouping_set]
        Scan orders [cust, region, qty]

-- title: mixed
SELECT region AS r, cust, grouping(cust) AS g, grouping(region) AS h, grouping_id() AS i, COUNT(*) AS n FROM orders GROUP BY r, ROLLUP (2)
---- tree
Project [r, cust_2 AS cust, CAST(CASE WHEN grouping_set IN (1) THEN 1 ELSE 0 END AS TINYINT) AS g, CAST(0 AS TINYINT) AS h, CAST(CASE grouping_set WHEN 0 THEN 0 WHEN 1 THEN 1 END AS BIGINT) AS i, n]
  Aggregate by [r, cust_2, grouping_set] compute [COUNT(*) AS n]
    Project [grouping_set, region AS r, CASE WHEN grouping_set IN (0) THEN cust END AS cust_2]
      Generate EXPLODE(ARRAY(0, 1)) AS [grouping_set]
        Scan orders [cust, region]

-- title: GROUPING SETS, one twice and the empty one
SELECT region, COUNT(*) AS n FROM orders GROUP BY GROUPING SETS ((region), region, ())
---- tree
Project [region_2 AS region, n]
  Aggregate by [region_2, grouping_set] compute [COUNT(*) AS n]
    Project [grouping_set, CASE WHEN grouping_set IN (0, 1) THEN region END AS region_2]
      Generate EXPLODE(ARRAY(0, 1, 2)) AS [grouping_set]
        Scan orders [region]

-- title: WITH CUBE
SELECT region, cust, COUNT(*) AS n FROM orders GROUP BY region, cust WITH CUBE
---- tree
Project [region_2 AS region, cust_2 AS cust, n]
  Aggregate by [region_2, cust_2, grouping_set] compute [COUNT(*) AS n]
    Project [grouping_set, CASE WHEN grouping_set IN (0, 1) THEN region END AS region_2, CASE WHEN grouping_set IN (0, 2) THEN cust END AS cust_2]
      Generate EXPLODE(ARRAY(0, 1, 2, 3)) AS [grouping_set]
        Scan orders [cust, region]

-- title: GROUPING SETS after the keys
SELECT region, cust, grouping_id(region, cust) AS g FROM orders GROUP BY region, cust GROUPING SETS ((cust), ROLLUP (region))
---- tree
Project [region_2 AS region, cust_2 AS cust, CAST(CASE grouping_set WHEN 0 THEN 2 WHEN 1 THEN 1 WHEN 2 THEN 3 END AS BIGINT) AS g]
  Aggregate by [region_2, cust_2, grouping_set] compute []
    Project [grouping_set, CASE WHEN grouping_set IN (1) THEN region END AS region_2, CASE WHEN grouping_set IN (0) THEN cust END AS cust_2]
      Generate EXPLODE(ARRAY(0, 1, 2)) AS [grouping_set]
        Scan orders [cust, region]

-- title: of an expression, with HAVING
SELECT qty + 1 AS q, MAX(id) AS m FROM orders GROUP BY ROLLUP (qty + 1) HAVING grouping(qty + 1) = 1 OR MAX(id) > 2
---- tree
Project [q, m]
  Filter CAST(CASE WHEN grouping_set IN (1) THEN 1 ELSE 0 END AS TINYINT) = 1 OR m > 2
    Aggregate by [q, grouping_set] compute [MAX(id) AS m]
      Project [id, grouping_set, CASE WHEN grouping_set IN (0) THEN qty + 1 END AS q]
        Generate EXPLODE(ARRAY(0, 1)) AS [grouping_set]
          Scan orders [id, qty]

-- title: grouping of no key
SELECT grouping(cust) FROM orders GROUP BY ROLLUP (region)
---- SqlError
grouping of what is no key of GROUPING SETS, CUBE or ROLLUP (line 1, column 8)

-- title: grouping without sets
SELECT grouping(cust) FROM orders GROUP BY cust
---- SqlError
grouping of what is no key of GROUPING SETS, CUBE or ROLLUP (line 1, column 8)
