-- title: some value of a group is its smallest
SELECT region, first(qty) AS f, last(price, true) AS l, any_value(cust) IGNORE NULLS AS a, first_value(id) FILTER (WHERE qty > 1) AS v FROM orders GROUP BY region
---- tree
Project [region, f, l, a, v]
  Aggregate by [region] compute [MIN(qty) AS f, MIN(price) AS l, MIN(cust) AS a, MIN(CASE WHEN qty > 1 THEN id END) AS v]
    Scan orders [id, cust, region, qty, price]

-- title: the most frequent value
SELECT mode(qty) AS m, mode(qty, true) AS n, mode() WITHIN GROUP (ORDER BY qty) AS o FROM orders
---- tree
Project [m, m AS n, o]
  Aggregate by [] compute [MODE(qty, TRUE) AS m, MODE() WITHIN GROUP (ORDER BY qty) AS o]
    Scan orders [qty]

-- title: collected arrays are sorted, once
SELECT collect_list(qty) AS a, sort_array(collect_set(qty), false) AS b, array_agg(DISTINCT qty) FILTER (WHERE qty > 1) AS c, size(collect_set(qty)) AS d, array_sort(collect_list(qty), (x, y) -> y - x) AS e FROM orders
---- tree
Project [a, b, c, d, ARRAY_SORT(a, (x, y) -> y - x) AS e]
  Aggregate by [] compute [SORT_ARRAY(COLLECT_LIST(qty)) AS a, SORT_ARRAY(COLLECT_SET(qty), FALSE) AS b, SORT_ARRAY(ARRAY_AGG(DISTINCT qty) FILTER(WHERE qty > 1)) AS c, SIZE(COLLECT_SET(qty)) AS d]
    Scan orders [qty]

-- title: listed values are ordered to the last tie
SELECT listagg(region) AS a, string_agg(region, ',') WITHIN GROUP (ORDER BY qty DESC) AS b, listagg(DISTINCT region, ',') AS c, listagg(DISTINCT region) WITHIN GROUP (ORDER BY region DESC) FILTER (WHERE qty > 1) AS d FROM orders
---- tree
Project [a, b, c, d]
  Aggregate by [] compute [LISTAGG(region) WITHIN GROUP (ORDER BY region) AS a, STRING_AGG(region, ',') WITHIN GROUP (ORDER BY qty DESC, region) AS b, LISTAGG(DISTINCT region, ',') WITHIN GROUP (ORDER BY region) AS c, LISTAGG(DISTINCT region) WITHIN GROUP (ORDER BY region DESC) FILTER(WHERE qty > 1) AS d]
    Scan orders [region, qty]

-- title: max_by decides ties
SELECT max_by(region, qty) AS a, min_by(region, qty + 1) FILTER (WHERE id > 1) AS b FROM orders
---- tree
Project [a, b]
  Aggregate by [] compute [MAX_BY(region, CASE WHEN NOT qty IS NULL THEN STRUCT(qty, region) END) AS a, MIN_BY(region, CASE WHEN NOT (qty + 1) IS NULL THEN STRUCT(qty + 1, region) END) FILTER(WHERE id > 1) AS b]
    Scan orders [id, region, qty]

-- title: any and some are disjunctions
SELECT any(qty > 1) AS a, some(qty > 2) FILTER (WHERE id > 1) AS b, every(qty > 3) AS c, region LIKE ANY ('a%', 'b%') AS d FROM orders GROUP BY region
---- tree
Project [a, b, c, region LIKE ANY ('a%', 'b%') AS d]
  Aggregate by [region] compute [MAX(qty > 1) AS a, MAX(CASE WHEN id > 1 THEN qty > 2 END) AS b, MIN(qty > 3) AS c]
    Scan orders [id, region, qty]

-- title: WITHIN GROUP, DISTINCT and FILTER stay
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY qty DESC) AS a, percentile_disc(array(0.1, 0.9)) WITHIN GROUP (ORDER BY qty) FILTER (WHERE id > 1) AS b, COUNT(DISTINCT region, qty) AS c, SUM(DISTINCT qty) FILTER (WHERE id > 2) AS d, corr(qty, price) FILTER (WHERE id > 3) AS e FROM orders
---- tree
Project [a, b, c, d, e]
  Aggregate by [] compute [PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY qty DESC) AS a, PERCENTILE_DISC(ARRAY(0.1, 0.9)) WITHIN GROUP (ORDER BY qty) FILTER(WHERE id > 1) AS b, COUNT(DISTINCT region, qty) AS c, SUM(DISTINCT CASE WHEN id > 2 THEN qty END) AS d, CORR(qty, price) FILTER(WHERE id > 3) AS e]
    Scan orders [id, region, qty, price]
