-- title: an order is completed with the outputs
SELECT id, qty FROM orders ORDER BY qty DESC LIMIT 3
---- tree
Project [id, qty]
  Limit 3 by [qty DESC, id]
    Project [id, qty]
      Scan orders [id, qty]

-- title: an order over what is not put out
SELECT id FROM orders ORDER BY qty + 1, region DESC NULLS FIRST LIMIT 1 + 2 OFFSET 2
---- tree
Project [id]
  Limit 3 after 2 by [sort, region DESC NULLS FIRST, id]
    Project [id, qty + 1 AS sort, region]
      Scan orders [id, region, qty]

-- title: the key of a group decides
SELECT region, SUM(qty) AS total FROM orders GROUP BY region ORDER BY total DESC, region LIMIT 2
---- tree
Project [region, total]
  Limit 2 by [total DESC, region]
    Project [region, total]
      Aggregate by [region] compute [SUM(qty) AS total]
        Scan orders [region, qty]

-- title: by aggregates and positions
SELECT region, COUNT(*) AS n FROM orders GROUP BY region ORDER BY MAX(qty), 2 LIMIT 2
---- tree
Project [region, n]
  Limit 2 by [sort, n, region]
    Project [region, n, sort]
      Aggregate by [region] compute [COUNT(*) AS n, MAX(qty) AS sort]
        Scan orders [region, qty]

-- title: of different rows
SELECT DISTINCT orders.region FROM orders ORDER BY UPPER(orders.region) LIMIT 2
---- tree
Project [region]
  Limit 2 by [sort, region]
    Project [region, UPPER(region) AS sort]
      Distinct
        Project [region]
          Scan orders [region]

-- title: of a union
SELECT id FROM orders UNION ALL SELECT id FROM cust ORDER BY 1 LIMIT 2
---- tree
Project [id_3 AS id]
  Limit 2 by [id_3]
    UnionAll [id_3]
      Project [id AS id_3]
        Scan orders [id]
      Project [id_2 AS id_3]
        Scan cust [id AS id_2]

-- title: nothing
SELECT id FROM orders LIMIT 0
---- tree
Project [id]
  Filter FALSE
    Scan orders [id]

-- title: all
SELECT id FROM orders ORDER BY id LIMIT ALL
---- tree
Project [id]
  Scan orders [id]

-- title: of one row
SELECT MAX(qty) AS m FROM orders LIMIT 5
---- tree
Project [m]
  Aggregate by [] compute [MAX(qty) AS m]
    Scan orders [qty]

-- title: limit without an order
SELECT id FROM orders
LIMIT 3
---- UnsupportedSqlError
LIMIT without ORDER BY cannot be kept incrementally: which rows it leaves is open (line 2, column 1). Add ORDER BY: with an order it is kept incrementally

-- title: offset without an order, inside
SELECT id FROM (SELECT id FROM orders OFFSET 3)
---- tree
Project [id]
  Limit all after 3 by [id]
    Project [id]
      Scan orders [id]

-- title: limit of rows that were ordered before
SELECT id FROM (SELECT id FROM (SELECT id, qty FROM orders ORDER BY qty) LIMIT 3)
---- UnsupportedSqlError
LIMIT without ORDER BY cannot be kept incrementally: which rows it leaves is open (line 1, column 74). Add ORDER BY: with an order it is kept incrementally

-- title: limit of parts
SELECT id FROM orders SORT BY id LIMIT 3
---- UnsupportedSqlError
LIMIT without ORDER BY cannot be kept incrementally: SORT BY orders parts of the rows only, so which ones it leaves is open (line 1, column 34). Add ORDER BY: with an order it is kept incrementally

-- title: limit by a function
SELECT id FROM orders ORDER BY id LIMIT length('abc')
---- UnsupportedSqlError
LIMIT LENGTH('abc') cannot be kept incrementally: it is not a plain number (line 1, column 35). Write the number

-- title: no such position
SELECT id FROM orders ORDER BY 2 LIMIT 3
---- SqlError
ORDER BY 2: there are 1 output columns (line 1, column 32)

-- title: of a subquery, without an order
SELECT id, (SELECT name FROM cust LIMIT 1) AS c FROM orders
---- tree
Project [id, name AS c]
  LeftJoin
    Scan orders [id]
    Limit 1 by [name]
      Project [name]
        Scan cust [name]

-- title: behind the only row there is none
SELECT id, (SELECT SUM(n) FROM items WHERE oid = o.id LIMIT 1 OFFSET 2) AS s FROM orders o
---- tree
Project [id, CASE WHEN COALESCE(count_2, 0) > 1 THEN RAISE_ERROR('More than one row returned by a subquery used as an expression') ELSE value END AS s]
  LeftJoin id IS NOT DISTINCT FROM id_outer
    Scan orders [id]
    Aggregate by [id_outer] compute [MAX(sum_n) AS value, COUNT(*) AS count_2]
      Project [id_outer, sum_n]
        Filter FALSE
          LeftJoin id_outer = oid
            Distinct
              Project [id AS id_outer]
                Scan orders [id]
            Aggregate by [oid] compute [SUM(n) AS sum_n]
              Scan items [oid, n]
