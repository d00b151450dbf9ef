-- title: by name, position and alias
SELECT region, UPPER(region) AS u, SUM(qty) AS s FROM orders GROUP BY 1, u
---- tree
Project [region, u, s]
  Aggregate by [region, UPPER(region) AS u] compute [SUM(qty) AS s]
    Scan orders [region, qty]

-- title: ALL
SELECT region, cust, COUNT(*) AS n FROM orders GROUP BY ALL
---- tree
Project [region, cust, n]
  Aggregate by [region, cust] compute [COUNT(*) AS n]
    Scan orders [cust, region]

-- title: HAVING on keys drops rows early
SELECT region, COUNT(*) AS n FROM orders GROUP BY region HAVING region <> 'x' AND COUNT(*) > 1
---- tree
Project [region, n]
  Filter n > 1
    Aggregate by [region] compute [COUNT(*) AS n]
      Filter region <> 'x'
        Scan orders [region]

-- title: an expression over several aggregates
SELECT region, SUM(amount) / COUNT(*) AS mean, MAX(qty) - MIN(qty) AS spread FROM orders GROUP BY region
---- tree
Project [region, sum_amount / count AS mean, max_qty - min_qty AS spread]
  Aggregate by [region] compute [SUM(amount) AS sum_amount, COUNT(*) AS count, MAX(qty) AS max_qty, MIN(qty) AS min_qty]
    Scan orders [region, amount, qty]

-- title: a scalar subquery is joined
SELECT id FROM orders WHERE qty > (SELECT AVG(qty) FROM orders)
---- tree
Project [id]
  Join qty > avg_qty
    Scan orders [id, qty]
    Aggregate by [] compute [AVG(qty_2) AS avg_qty]
      Scan orders [qty AS qty_2]

-- title: a scalar subquery over groups
SELECT region, SUM(qty) - (SELECT MIN(tier) FROM cust) AS d FROM orders GROUP BY region
---- tree
Project [region, sum_qty - min_tier AS d]
  Join
    Aggregate by [region] compute [SUM(qty) AS sum_qty]
      Scan orders [region, qty]
    Aggregate by [] compute [MIN(tier) AS min_tier]
      Scan cust [tier]

-- title: DISTINCT and UNION
SELECT DISTINCT region FROM orders UNION SELECT name FROM cust
---- tree
Project [region_2 AS region]
  Distinct
    UnionAll [region_2]
      Distinct
        Project [region]
          Scan orders [region]
      Project [name]
        Scan cust [name]

-- title: FILTER becomes CASE
SELECT COUNT(*) FILTER (WHERE qty > 1) AS n, BOOL_OR(qty > 3) AS b FROM orders
---- tree
Project [n, b]
  Aggregate by [] compute [COUNT(CASE WHEN qty > 1 THEN 1 END) AS n, MAX(qty > 3) AS b]
    Scan orders [qty]

-- title: a CTE used twice
WITH t AS (SELECT cust, SUM(qty) AS s FROM orders GROUP BY cust) SELECT a.cust, b.s FROM t a JOIN t b ON a.s = b.s
---- tree
Project [cust, s_2 AS s]
  Join s = s_2
    Aggregate by [cust] compute [SUM(qty) AS s]
      Scan orders [cust, qty]
    Project [s AS s_2]
      Aggregate by [cust] compute [SUM(qty) AS s]
        Scan orders [cust, qty]
