-- title: one aggregate
SELECT * FROM (SELECT region, cust, qty FROM orders) PIVOT (SUM(qty) FOR region IN ('a', 'b' AS bee))
---- tree
Project [cust, a, bee]
  Aggregate by [cust] compute [SUM(CASE WHEN region IS NOT DISTINCT FROM 'a' THEN qty END) AS a, SUM(CASE WHEN region IS NOT DISTINCT FROM 'b' THEN qty END) AS bee]
    Scan orders [cust, region, qty]

-- title: COUNT of nothing is NULL
SELECT * FROM (SELECT region, cust, qty FROM orders) PIVOT (COUNT(*) AS n, MAX(qty) FOR region IN ('a', NULL)) AS p
---- tree
Project [cust, CASE WHEN count_region > 0 THEN count_region END AS a_n, a_max_qty AS a_max(qty), CASE WHEN count_region_2 > 0 THEN count_region_2 END AS null_n, null_max_qty AS null_max(qty)]
  Aggregate by [cust] compute [MAX(CASE WHEN region IS NOT DISTINCT FROM 'a' THEN qty END) AS a_max_qty, MAX(CASE WHEN region IS NOT DISTINCT FROM CAST(NULL AS STRING) THEN qty END) AS null_max_qty, COUNT(CASE WHEN region IS NOT DISTINCT FROM 'a' THEN 1 END) AS count_region, COUNT(CASE WHEN region IS NOT DISTINCT FROM CAST(NULL AS STRING) THEN 1 END) AS count_region_2]
    Scan orders [cust, region, qty]

-- title: COUNT of nothing is 0 beside a string
SELECT * FROM (SELECT region, cust, qty FROM orders) PIVOT (COUNT(qty), MAX(region) FOR cust IN (1))
---- tree
Project [1_count_qty AS 1_count(qty), 1_max_region AS 1_max(region)]
  Aggregate by [] compute [COUNT(CASE WHEN cust IS NOT DISTINCT FROM 1 THEN qty END) AS 1_count_qty, MAX(CASE WHEN cust IS NOT DISTINCT FROM 1 THEN region END) AS 1_max_region]
    Scan orders [cust, region, qty]

-- title: several columns, an expression, names
SELECT q.a, q.b FROM (SELECT region, cust, qty FROM orders) PIVOT (SUM(qty) + MIN(qty) FOR (region, cust) IN (('a', 1), ('b', 2) AS x)) AS q(a, b)
---- tree
Project [CASE WHEN count_cust_region > 0 THEN sum_cust_qty + min_cust_qty END AS a, CASE WHEN count_cust_region_2 > 0 THEN sum_cust_qty_2 + min_cust_qty_2 END AS b]
  Aggregate by [] compute [COUNT(CASE WHEN region IS NOT DISTINCT FROM 'a' AND cust IS NOT DISTINCT FROM 1 THEN 1 END) AS count_cust_region, SUM(CASE WHEN region IS NOT DISTINCT FROM 'a' AND cust IS NOT DISTINCT FROM 1 THEN qty END) AS sum_cust_qty, MIN(CASE WHEN region IS NOT DISTINCT FROM 'a' AND cust IS NOT DISTINCT FROM 1 THEN qty END) AS min_cust_qty, COUNT(CASE WHEN region IS NOT DISTINCT FROM 'b' AND cust IS NOT DISTINCT FROM 2 THEN 1 END) AS count_cust_region_2, SUM(CASE WHEN region IS NOT DISTINCT FROM 'b' AND cust IS NOT DISTINCT FROM 2 THEN qty END) AS sum_cust_qty_2, MIN(CASE WHEN region IS NOT DISTINCT FROM 'b' AND cust IS NOT DISTINCT FROM 2 THEN qty END) AS min_cust_qty_2]
    Scan orders [cust, region, qty]

-- title: a type that is not known
SELECT * FROM (SELECT region, cust, f(qty) AS q FROM orders) PIVOT (COUNT(q), MAX(q) FOR cust IN (1))
---- UnsupportedSqlError
this PIVOT cannot be kept incrementally: whether a value without rows gives NULL depends on a type that is not known here (line 1, column 62). Write the aggregates as agg(...) FILTER (WHERE column = value), or cast their argument

-- title: UNPIVOT
SELECT * FROM (SELECT id, cust, qty FROM orders) UNPIVOT (v FOR k IN (cust AS c, qty))
---- tree
Project [id, CASE number WHEN 0 THEN 'c' WHEN 1 THEN 'qty' END AS k, CASE number WHEN 0 THEN cust WHEN 1 THEN qty END AS v]
  Filter NOT (CASE number WHEN 0 THEN cust WHEN 1 THEN qty END) IS NULL
    Generate EXPLODE(ARRAY(0, 1)) AS [number]
      Scan orders [id, cust, qty]

-- title: UNPIVOT INCLUDE NULLS of pairs
SELECT u.k, u.v, w FROM orders UNPIVOT INCLUDE NULLS ((v, w) FOR k IN ((id, qty) AS x, (cust, price))) AS u
---- tree
Project [CASE number WHEN 0 THEN 'x' WHEN 1 THEN 'cust_price' END AS k, CASE number WHEN 0 THEN id WHEN 1 THEN cust END AS v, CASE number WHEN 0 THEN qty WHEN 1 THEN price END AS w]
  Generate EXPLODE(ARRAY(0, 1)) AS [number]
    Scan orders [id, cust, qty, price]

-- title: a whole join turned
SELECT sku, k, v FROM orders JOIN items ON id = oid UNPIVOT (v FOR k IN (qty, n))
---- tree
Project [sku, CASE number WHEN 0 THEN 'qty' WHEN 1 THEN 'n' END AS k, CASE number WHEN 0 THEN qty WHEN 1 THEN n END AS v]
  Filter NOT (CASE number WHEN 0 THEN qty WHEN 1 THEN n END) IS NULL
    Generate EXPLODE(ARRAY(0, 1)) AS [number]
      Join id = oid
        Scan orders [id, qty]
        Scan items [oid, sku, n]
