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

-- title: steps after pipes, in their order, with the names of tables until one selects
FROM orders |> WHERE orders.qty > 1 |> JOIN cust c ON orders.cust = c.id |> ORDER BY orders.qty, orders.id |> LIMIT 3
|> WHERE tier < 5 |> EXTEND qty + tier AS both |> SET both = both * 2 |> DROP price |> SELECT name, both
---- tree
Project [name, (qty + tier) * 2 AS both]
  Filter tier < 5
    Limit 3 by [qty, id, cust, region, amount, price, id_2, name, tier]
      Project [id, cust, region, amount, qty, price, id_2, name, tier]
        Join cust = id_2
          Filter qty > 1
            Scan orders [id, cust, region, amount, qty, price]
          Scan cust [id AS id_2, name, tier]

-- title: keys and aggregates after a pipe
TABLE orders |> AGGREGATE SUM(qty) AS s GROUP BY region, cust % 2 AS half |> AS g |> WHERE g.half = 1
---- tree
Project [region, half, s]
  Aggregate by [region, cust % 2 AS half] compute [SUM(qty) AS s]
    Filter (cust % 2) = 1
      Scan orders [cust, region, qty]

-- title: a set operation before a pipe is taken whole
SELECT id FROM orders UNION ALL SELECT id FROM cust |> WHERE id > 3
---- tree
Project [id_3 AS id]
  Filter id_3 > 3
    UnionAll [id_3]
      Project [id]
        Scan orders [id]
      Project [id_2]
        Scan cust [id AS id_2]

-- title: the columns of a view are the first ones of its text
SELECT id, qty FROM turned
---- tree
Project [qty AS id, id AS qty]
  Scan orders [id, qty]

-- title: tables under one name
SELECT t.who, t.tier FROM (orders JOIN cust ON cust = cust.id) AS t (o, who, r, a, q, p, c, n, tier)
---- tree
Project [cust AS who, unread_tier AS tier]
  Join cust = id
    Scan orders [cust]
    Scan cust [id, tier AS unread_tier]

-- title: the fields of a struct as arguments
SELECT struct(info.*, 1 AS one) AS s, coalesce(info.b.*) AS n FROM nested
---- tree
Project [STRUCT(info.a AS a, info.b AS b, 1 AS one) AS s, COALESCE(info.b.c) AS n]
  Scan nested [info]

-- title: an interval of several parts is taken away whole
SELECT timestamp_seconds(qty) - INTERVAL '1' DAY 2 HOURS -3 MINUTES AS t, +region AS r, id - - +qty AS m FROM orders
---- tree
Project [TIMESTAMP_SECONDS(qty) - INTERVAL '1 DAY 2 HOURS -3 MINUTES' AS t, POSITIVE(region) AS r, id - -POSITIVE(qty) AS m]
  Scan orders [id, region, qty]

-- title: names of functions without parentheses are columns first
SELECT current_date, session_user FROM (SELECT id AS current_date, region AS session_user FROM orders)
---- tree
Project [id AS current_date, region AS session_user]
  Scan orders [id, region]

-- title: a star leaves out what its name means
SELECT * EXCEPT (orders.id, tier) FROM orders JOIN cust ON cust.id = orders.cust
---- tree
Project [cust, region, amount, qty, price, id_2 AS id, name]
  Join id_2 = cust
    Scan orders [cust, region, amount, qty, price]
    Scan cust [id AS id_2, name]

-- title: a star does not take structs apart to nothing
SELECT * EXCEPT (info.a, info.b) FROM nested
---- UnsupportedSqlError
* EXCEPT (info.a, info.b) cannot be kept incrementally: no field of a struct would stay, or its fields are not known here (line 1, column 8). Leave the whole column out, and put the other fields together with named_struct(...)

-- title: a star leaves fields of structs out
SELECT * EXCEPT (info.b, o), info.* EXCEPT (a) FROM nested WHERE info.b.c > 1
---- tree
Project [NAMED_STRUCT('a', info.a) AS info, info.b AS b]
  Filter info.b.c > 1
    Scan nested [info]
