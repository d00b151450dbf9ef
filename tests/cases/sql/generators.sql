-- title: LATERAL VIEW
SELECT id, x FROM orders LATERAL VIEW explode(array(1, qty)) t AS x WHERE x > 1
---- tree
Project [id, x]
  Filter x > 1
    Generate EXPLODE(ARRAY(1, qty)) AS [x]
      Scan orders [id, qty]

-- title: LATERAL VIEW OUTER after another
SELECT o.id, a.x, b.pos, b.col FROM orders o LATERAL VIEW explode(array(qty, cust)) a AS x LATERAL VIEW OUTER posexplode(array(a.x)) b
---- tree
Project [id, x, pos, col]
  Generate outer POSEXPLODE(ARRAY(x)) AS [pos, col]
    Generate EXPLODE(ARRAY(qty, cust)) AS [x]
      Scan orders [id, cust, qty]

-- title: in the select list
SELECT id, explode(array(qty, cust)) AS x, x + 1 AS y FROM orders WHERE qty > 1
---- tree
Project [id, x, x + 1 AS y]
  Generate EXPLODE(ARRAY(qty, cust)) AS [x]
    Filter qty > 1
      Scan orders [id, cust, qty]

-- title: several names
SELECT posexplode_outer(array(qty)) AS (p, q), stack(2, id, 'a', cust, 'b') FROM orders
---- tree
Project [p, q, col0, col1]
  Generate STACK(2, id, 'a', cust, 'b') AS [col0, col1]
    Generate outer POSEXPLODE(ARRAY(qty)) AS [p, q]
      Scan orders [id, cust, qty]

-- title: fields of an array of structs are the names
SELECT inline(array(named_struct('a', qty, 'b', region))) FROM orders
---- tree
Project [a, b]
  Generate INLINE(ARRAY(NAMED_STRUCT('a', qty, 'b', region))) AS [a, b]
    Scan orders [region, qty]

-- title: a generator whose columns are not known
SELECT inline(f(qty)) FROM orders
---- UnsupportedSqlError
inline without names cannot be kept incrementally: how many columns it makes is not known here (line 1, column 8). Name them: inline(...) AS (a, b)

-- title: a generator over groups
SELECT region, explode(collect_list(qty)) AS q FROM orders GROUP BY region
---- tree
Project [region, q]
  Generate EXPLODE(sort_array_qty) AS [q]
    Aggregate by [region] compute [SORT_ARRAY(COLLECT_LIST(qty)) AS sort_array_qty]
      Scan orders [region, qty]

-- title: a generator over all rows as one group
SELECT explode(array(SUM(qty), MAX(qty))) AS q FROM orders
---- tree
Project [q]
  Generate EXPLODE(ARRAY(sum_qty, max_qty)) AS [q]
    Aggregate by [] compute [SUM(qty) AS sum_qty, MAX(qty) AS max_qty]
      Scan orders [qty]

-- title: in FROM
SELECT e.v, id FROM explode(array(1, 2)) AS e(v), orders WHERE v = qty
---- tree
Project [v, id]
  Join v = qty
    Generate EXPLODE(ARRAY(1, 2)) AS [v]
      OneRow
    Scan orders [id, qty]

-- title: a range
SELECT id FROM range(2, 10, 3)
---- tree
Project [id]
  Generate EXPLODE(SEQUENCE(CAST(2 AS BIGINT), CAST(8 AS BIGINT), CAST(3 AS BIGINT))) AS [id]
    OneRow

-- title: an empty range
SELECT id FROM range(0)
---- tree
Project [id]
  Generate EXPLODE(CAST(ARRAY() AS ARRAY<BIGINT>)) AS [id]
    OneRow

-- title: LATERAL of a table before
SELECT o.id, x.v FROM orders o, LATERAL explode(array(o.qty, o.cust)) AS x(v)
---- tree
Project [id, v]
  Generate EXPLODE(ARRAY(qty, cust)) AS [v]
    Scan orders [id, cust, qty]

-- title: JOIN LATERAL with a condition
SELECT o.id, v FROM orders o JOIN LATERAL explode(array(o.qty, o.cust)) AS x(v) ON v > o.id
---- tree
Project [id, v]
  Filter v > id
    Generate EXPLODE(ARRAY(qty, cust)) AS [v]
      Scan orders [id, cust, qty]

-- title: LEFT JOIN LATERAL
SELECT o.id, v FROM orders o LEFT JOIN LATERAL explode(array(o.qty)) AS x(v)
---- UnsupportedSqlError
LEFT JOIN LATERAL explode without ON cannot be kept incrementally: Spark loses the rows that it should keep (line 1, column 40). Write ON true after it, or LATERAL VIEW OUTER

-- title: LEFT JOIN LATERAL ON true
SELECT o.id, v FROM orders o LEFT JOIN LATERAL explode(array(o.qty)) AS x(v) ON true
---- tree
Project [id, v]
  Generate outer EXPLODE(ARRAY(qty)) AS [v]
    Scan orders [id, qty]

-- title: LEFT JOIN LATERAL with a condition
SELECT o.id, v FROM orders o LEFT JOIN LATERAL explode(array(o.qty)) AS x(v) ON v > 1
---- UnsupportedSqlError
LEFT JOIN LATERAL explode with a condition cannot be kept incrementally: a row stays when none of the rows made of it fits (line 1, column 40). Filter the array instead: LEFT JOIN LATERAL explode(filter(...)) ON true

-- title: inside an expression
SELECT explode(array(1)) + 1 AS x FROM orders
---- SqlError
explode inside an expression (line 1, column 8). Put it in a subquery of its own

-- title: an unknown table function
SELECT * FROM numbers(3)
---- UnsupportedSqlError
table function numbers cannot be kept incrementally: what rows it makes is not known to depend on its arguments alone (line 1, column 15). Use explode, inline, stack, json_tuple or range; or put its rows in a table

-- title: fields of a struct
SELECT info.*, o.* FROM nested
---- tree
Project [info.a AS a, info.b AS b, o.info AS info]
  Scan nested [info, o]

-- title: some fields of a struct
SELECT info.b.*, nested.info.* EXCEPT (b) FROM nested
---- tree
Project [info.b.c AS c, info.a AS a]
  Scan nested [info]

-- title: star as arguments
SELECT struct(*) AS s, array(c.* EXCEPT (name)) AS a FROM cust c
---- tree
Project [STRUCT(id AS id, name AS name, tier AS tier) AS s, ARRAY(id, tier) AS a]
  Scan cust [id, name, tier]

-- title: COUNT DISTINCT of everything
SELECT COUNT(DISTINCT *) AS n FROM cust
---- tree
Project [n]
  Aggregate by [] compute [COUNT(DISTINCT id, name, tier) AS n]
    Scan cust [id, name, tier]

-- title: exact decimals
SELECT qty * 1.50BD AS a, 12345678901234567890.123BD AS b, -1e2bd AS c FROM orders
---- tree
Project [qty * CAST('1.50' AS DECIMAL(3, 2)) AS a, CAST('12345678901234567890.123' AS DECIMAL(23, 3)) AS b, CAST('-100' AS DECIMAL(3, 0)) AS c]
  Scan orders [qty]

-- title: paths of a variant
SELECT parse_json(region):a.B[0]['x y']::int AS a FROM orders
---- tree
Project [CAST(VARIANT_GET(PARSE_JSON(region), '$.a.B[0]["x y"]', 'variant') AS INT) AS a]
  Scan orders [region]

-- title: windows of time make rows, whether anybody reads them or not
SELECT n FROM (SELECT count(*) AS n, window.start FROM orders GROUP BY window(to_timestamp(region), '1 hour', '20 minutes'))
---- tree
Project [n]
  Aggregate by [window] compute [COUNT(*) AS n]
    Generate WINDOW(TO_TIMESTAMP(region), '1 hour', '20 minutes') AS [window]
      Scan orders [region]

-- title: a window of time as a key, named in three ways
SELECT region, window.start, window(to_timestamp(region), '1 hour').end AS e, window AS w FROM orders GROUP BY region, window(to_timestamp(region), '1 hour')
---- tree
Project [region, window.start AS start, window.end AS e, window AS w]
  Aggregate by [region, window] compute []
    Generate WINDOW(TO_TIMESTAMP(region), '1 hour') AS [window]
      Scan orders [region]

-- title: sessions are no values of rows
SELECT region, count(*) AS n FROM orders GROUP BY region, session_window(to_timestamp(region), '1 hour')
---- UnsupportedSqlError
session_window cannot be kept incrementally: a row may join two sessions into one, so it is no value of a row (line 1, column 59). Use window(...); or tell sessions apart by LAG(...) OVER (PARTITION BY ... ORDER BY ...) in a subquery

-- title: windows of time beside a star
SELECT *, window(to_timestamp(region), '1 hour') AS w FROM orders
---- UnsupportedSqlError
this use of window(...) cannot be kept incrementally: it makes rows, and stands beside *, beside another window, inside one, or in WHERE or ON (line 1, column 11). Write SELECT ..., window(...) AS w in a subquery in FROM, naming the columns

-- title: a generator inside LATERAL reads the rows outside
SELECT o.id, x.v FROM orders o, LATERAL (SELECT v FROM explode(array(qty, cust)) AS e(v) WHERE v > 1) x
---- tree
Project [id, v]
  Join cust IS NOT DISTINCT FROM cust_outer AND qty IS NOT DISTINCT FROM qty_outer
    Scan orders [id, cust, qty]
    Filter v > 1
      Generate EXPLODE(ARRAY(qty_outer, cust_outer)) AS [v]
        Distinct
          Project [cust AS cust_outer, qty AS qty_outer]
            Scan orders [cust, qty]
