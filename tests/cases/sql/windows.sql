-- title: window functions of equal partitions share an operator
SELECT id, RANK() OVER (PARTITION BY cust ORDER BY qty) AS r, SUM(qty) OVER (PARTITION BY cust) AS s FROM orders
---- tree
Project [id, rank AS r, sum_qty AS s]
  Window by [cust] compute [RANK() OVER (PARTITION BY cust ORDER BY qty) AS rank, SUM(qty) OVER (PARTITION BY cust) AS sum_qty]
    Scan orders [id, cust, qty]

-- title: different partitions make a chain
SELECT id, SUM(qty) OVER (PARTITION BY cust) AS s, SUM(qty) OVER (PARTITION BY region) AS t FROM orders
---- tree
Project [id, sum_qty AS s, sum_qty_2 AS t]
  Window by [region] compute [SUM(qty) OVER (PARTITION BY region) AS sum_qty_2]
    Window by [cust] compute [SUM(qty) OVER (PARTITION BY cust) AS sum_qty]
      Scan orders [id, cust, region, qty]

-- title: a window inside an expression, and a computed partition
SELECT id, qty - MAX(qty) OVER (PARTITION BY UPPER(region)) AS d FROM orders
---- tree
Project [id, qty - max_qty AS d]
  Window by [partition_key] compute [MAX(qty) OVER (PARTITION BY partition_key) AS max_qty]
    Project [id, qty, UPPER(region) AS partition_key]
      Scan orders [id, region, qty]

-- title: an order that does not decide is completed with what is read
SELECT id, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY qty DESC) AS r FROM orders
---- tree
Project [id, row_number AS r]
  Window by [cust] compute [ROW_NUMBER() OVER (PARTITION BY cust ORDER BY qty DESC, id) AS row_number]
    Scan orders [id, cust, qty]

-- title: two orders of equal rows are decided one after the other
SELECT qty, ROW_NUMBER() OVER (ORDER BY qty) AS up, ROW_NUMBER() OVER (ORDER BY qty DESC) AS down FROM orders
---- tree
Project [qty, row_number AS up, row_number_2 AS down]
  Window by [] compute [ROW_NUMBER() OVER (ORDER BY qty DESC, row_number) AS row_number_2]
    Window by [] compute [ROW_NUMBER() OVER (ORDER BY qty) AS row_number]
      Scan orders [qty]

-- title: a frame of peers is asked for by number
SELECT id, LAST_VALUE(amount) OVER (PARTITION BY cust ORDER BY qty) AS l FROM orders
---- tree
Project [id, last_value_amount.v AS l]
  Window by [cust] compute [MAX_BY(STRUCT(amount AS v), row_number) OVER (PARTITION BY cust ORDER BY qty) AS last_value_amount]
    Window by [cust] compute [ROW_NUMBER() OVER (PARTITION BY cust ORDER BY qty, id, amount) AS row_number]
      Scan orders [id, cust, amount, qty]

-- title: the first of a partition
SELECT id, FIRST(amount, true) OVER (PARTITION BY cust) AS f FROM orders
---- tree
Project [id, first_value_amount AS f]
  Window by [cust] compute [FIRST_VALUE(amount) IGNORE NULLS OVER (PARTITION BY cust ORDER BY id, amount ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS first_value_amount]
    Scan orders [id, cust, amount]

-- title: a window over groups
SELECT region, RANK() OVER (ORDER BY SUM(qty) DESC) AS r FROM orders GROUP BY region
---- tree
Project [region, rank AS r]
  Window by [] compute [RANK() OVER (ORDER BY sum_qty DESC) AS rank]
    Aggregate by [region] compute [SUM(qty) AS sum_qty]
      Scan orders [region, qty]

-- title: groups are told apart by their keys
SELECT region, ROW_NUMBER() OVER (ORDER BY SUM(qty), region) AS r FROM orders GROUP BY region
---- tree
Project [region, row_number AS r]
  Window by [] compute [ROW_NUMBER() OVER (ORDER BY sum_qty, region) AS row_number]
    Aggregate by [region] compute [SUM(qty) AS sum_qty]
      Scan orders [region, qty]

-- title: QUALIFY with a named window
SELECT id FROM orders QUALIFY ROW_NUMBER() OVER w = 1 WINDOW v AS (PARTITION BY cust ORDER BY id), w AS v
---- tree
Project [id]
  Filter row_number = 1
    Window by [cust] compute [ROW_NUMBER() OVER (PARTITION BY cust ORDER BY id) AS row_number]
      Scan orders [id, cust]

-- title: a window in a window
SELECT id, RANK() OVER (ORDER BY RANK() OVER (PARTITION BY cust ORDER BY qty)) AS r FROM orders
---- tree
Project [id, rank_2 AS r]
  Window by [] compute [RANK() OVER (ORDER BY rank) AS rank_2]
    Window by [cust] compute [RANK() OVER (PARTITION BY cust ORDER BY qty) AS rank]
      Scan orders [id, cust, qty]

-- title: a window in WHERE
SELECT id FROM orders WHERE RANK() OVER (ORDER BY qty) = 1
---- SqlError
a window function in WHERE (line 1, column 29). Compute it in a subquery

-- title: an unknown window
SELECT RANK() OVER nope AS r FROM orders
---- SqlError
there is no window 'nope' (line 1, column 8). Define it in the WINDOW clause

-- title: an unknown window function
SELECT my_own(qty) OVER (ORDER BY id) AS r FROM orders
---- UnsupportedSqlError
my_own OVER cannot be kept incrementally: there is no rule for this window function (line 1, column 8). Use Spark's own window functions and aggregates

-- title: where values decide, no row need come first
SELECT id, MAX_BY(region, qty) OVER (PARTITION BY cust ORDER BY id) AS m, MODE(qty) OVER (PARTITION BY cust) AS o, listagg(region, ',') WITHIN GROUP (ORDER BY qty) OVER (PARTITION BY cust) AS l FROM orders
---- tree
Project [id, max_by_qty AS m, mode_qty AS o, listagg_region AS l]
  Window by [cust] compute [MAX_BY(region, CASE WHEN NOT qty IS NULL THEN STRUCT(qty, region) END) OVER (PARTITION BY cust ORDER BY id) AS max_by_qty, MODE(qty, TRUE) OVER (PARTITION BY cust) AS mode_qty, LISTAGG(region, ',') WITHIN GROUP (ORDER BY qty, region) OVER (PARTITION BY cust) AS listagg_region]
    Scan orders [id, cust, region, qty]

-- title: the second of a range that does not begin at the first row
SELECT nth_value(region, 2) IGNORE NULLS OVER (PARTITION BY cust ORDER BY qty RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM orders
---- tree
Project [GET(ARRAY_SORT(nth_value_region), (2) - 1).v AS x]
  Window by [cust] compute [COLLECT_LIST(CASE WHEN NOT region IS NULL THEN STRUCT(row_number AS n, region AS v) END) OVER (PARTITION BY cust ORDER BY qty RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS nth_value_region]
    Window by [cust] compute [ROW_NUMBER() OVER (PARTITION BY cust ORDER BY qty, region) AS row_number]
      Scan orders [cust, region, qty]

-- title: a set of a range
SELECT collect_set(region) OVER (PARTITION BY cust ORDER BY qty) AS x FROM orders
---- tree
Project [SORT_ARRAY(collect_set_region) AS x]
  Window by [cust] compute [COLLECT_SET(region) OVER (PARTITION BY cust ORDER BY qty) AS collect_set_region]
    Scan orders [cust, region, qty]

-- title: an interval of several parts is one bound
SELECT SUM(qty) OVER (PARTITION BY cust ORDER BY timestamp_seconds(qty) RANGE BETWEEN INTERVAL 1 DAY 2 HOURS PRECEDING AND CURRENT ROW) AS x FROM orders
---- tree
Project [sum_qty AS x]
  Window by [cust] compute [SUM(qty) OVER (PARTITION BY cust ORDER BY TIMESTAMP_SECONDS(qty) RANGE BETWEEN INTERVAL '1 DAY 2 HOURS' PRECEDING AND CURRENT ROW) AS sum_qty]
    Scan orders [cust, qty]
