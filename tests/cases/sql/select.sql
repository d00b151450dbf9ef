-- title: columns are read only if needed
SELECT id, amount * 2 AS twice FROM orders WHERE region = 'x' AND qty > 1
---- tree
Project [id, amount * 2 AS twice]
  Filter region = 'x' AND qty > 1
    Scan orders [id, region, amount, qty]

-- title: a star, without one column
SELECT * EXCEPT (price) FROM orders
---- tree
Project [id, cust, region, amount, qty]
  Scan orders [id, cust, region, amount, qty]

-- title: an alias used in the same list
SELECT qty + 1 AS p, p * 2 AS z FROM orders
---- tree
Project [qty + 1 AS p, (qty + 1) * 2 AS z]
  Scan orders [qty]

-- title: no FROM
SELECT 1 AS a, 'x' AS b
---- tree
Project [1 AS a, 'x' AS b]
  OneRow

-- title: rows of constants
SELECT a, b FROM VALUES (1, 'x'), (2, NULL) AS t(a, b)
---- tree
UnionAll [a, b]
  Project [1 AS a, 'x' AS b]
    OneRow
  Project [2 AS a, NULL AS b]
    OneRow

-- title: a view is inlined
SELECT twice FROM big WHERE id > 3
---- tree
Project [amount * 2 AS twice]
  Filter qty > 1 AND id > 3
    Scan orders [id, amount, qty]

-- title: fields of a struct
SELECT info.a, o.info.b.c AS deep FROM nested o WHERE info.a > 1
---- tree
Project [info.a AS a, info.b.c AS deep]
  Filter info.a > 1
    Scan nested [info]
