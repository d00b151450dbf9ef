-- title: sample
SELECT id FROM orders TABLESAMPLE (10 PERCENT)
---- UnsupportedSqlError
TABLESAMPLE cannot be kept incrementally: which rows it takes is random (line 1, column 23). Filter on a column instead: WHERE pmod(hash(id), 10) = 0

-- title: time travel
SELECT id FROM orders VERSION AS OF 3
---- UnsupportedSqlError
time travel cannot be kept incrementally: a stream table follows its sources (line 1, column 34). Leave the version out, or copy that version to a table

-- title: wrong column
SELECT o.nope FROM orders o
---- SqlError
column 'o.nope' does not exist (line 1, column 8). There is: id, cust, region, amount, qty, price

-- title: ambiguous column
SELECT id FROM orders JOIN cust ON orders.cust = cust.id
---- SqlError
column 'id' is ambiguous: it may be any of cust.id, orders.id (line 1, column 8). Write the name of its table before it

-- title: not grouped
SELECT region, qty FROM orders GROUP BY region
---- SqlError
column 'qty' is neither in GROUP BY nor in an aggregate (line 1, column 16). Add it to GROUP BY, or use max(qty)

-- title: aggregate in WHERE
SELECT id FROM orders WHERE COUNT(*) > 1
---- SqlError
an aggregate in WHERE (line 1, column 29). Conditions on aggregates belong in HAVING

-- title: no such table
SELECT id FROM nowhere
---- NotFoundError
table 'nowhere' does not exist

-- title: two outputs of one name
SELECT id, qty AS ID FROM orders
---- UserError
two output columns are named 'ID'. Give one of them another name with AS

-- title: reserved name
SELECT id AS _Trickle_N FROM orders
---- UnsupportedSqlError
a column called _Trickle_N cannot be kept incrementally: names that begin with '_trickle_' are those of the columns that keep changes. Give it another name

-- title: syntax
SELECT id FROM orders WHERE
---- SqlError
cannot read the query: something is missing in WHERE (line 1, column 27)

-- title: REPLACE
SELECT * REPLACE (1 AS id) FROM orders
---- UnsupportedSqlError
* REPLACE cannot be kept incrementally: Spark does not have it (line 1, column 8). Name the columns

-- title: fields that are not known
SELECT s.* FROM (SELECT from_json(name, 'a int') AS s FROM cust)
---- UnsupportedSqlError
s.* cannot be kept incrementally: its fields are not known here (line 1, column 8). Name the fields

-- title: a star in an expression
SELECT id + * AS x FROM orders
---- UnsupportedSqlError
* in an expression cannot be kept incrementally: it stands for several columns (line 1, column 13). Name the columns

-- title: a parameter
SELECT id FROM orders WHERE id = :p
---- UnsupportedSqlError
a parameter cannot be kept incrementally: a stored query has none. Write the value

-- title: ALL
SELECT id FROM orders WHERE qty > ALL (SELECT n FROM items)
---- UnsupportedSqlError
ALL (subquery) cannot be kept incrementally: Spark does not have it (line 1, column 35). Compare with a scalar subquery: (SELECT max(...) ...)

-- title: a script
SELECT TRANSFORM(id) USING 'cat' AS (b) FROM orders
---- UnsupportedSqlError
TRANSFORM with a script cannot be kept incrementally: what a script answers is not known to depend on its rows alone (line 1, column 8). Write it with SQL functions, or run it when the rows are written to the source

-- title: a join that Spark does not have
SELECT o.id FROM orders o RIGHT ANTI JOIN cust c ON o.cust = c.id
---- UnsupportedSqlError
RIGHT ANTI JOIN cannot be kept incrementally: Spark does not have it (line 1, column 27). Turn the sides around

-- title: RIGHT JOIN LATERAL
SELECT o.id FROM orders o RIGHT JOIN LATERAL (SELECT c.tier FROM cust c WHERE c.id = o.cust) x ON true
---- UnsupportedSqlError
this join with LATERAL cannot be kept incrementally: Spark has inner and left ones (line 1, column 38). Write JOIN LATERAL or LEFT JOIN LATERAL, with ON

-- title: a subquery in ON of LEFT JOIN LATERAL
SELECT o.id FROM orders o LEFT JOIN LATERAL (SELECT c.id AS cid FROM cust c WHERE c.id = o.cust) x ON EXISTS (SELECT 1 FROM items WHERE oid = x.cid)
---- UnsupportedSqlError
a subquery in ON of LEFT JOIN LATERAL cannot be kept incrementally: it decides about partners that are found row by row (line 1, column 100). Put the condition in WHERE inside LATERAL, and write ON true

-- title: UNNEST
SELECT o.id, x FROM orders o, UNNEST(array(1)) AS u(x)
---- UnsupportedSqlError
UNNEST cannot be kept incrementally: Spark does not have it (line 1, column 31). Write explode(...), after a comma LATERAL explode(...)

-- title: LATERAL at the start of FROM
SELECT id FROM LATERAL explode(array(1)) AS t(id)
---- UnsupportedSqlError
LATERAL in FROM cannot be kept incrementally: there is no rule for it (line 1, column 16). Put it in a subquery; at the start of FROM leave LATERAL out

-- title: no query
SELECT * FROM (DESCRIBE orders)
---- UnsupportedSqlError
DESCRIBE as a query cannot be kept incrementally: there is no rule for it (line 1, column 25). Write SELECT ... FROM ...

-- title: a clause without a rule
SELECT id FROM orders CONNECT BY PRIOR id = cust
---- UnsupportedSqlError
CONNECT cannot be kept incrementally: there is no rule for it (line 1, column 40). Leave it out

-- title: a range by a function
SELECT id FROM range(1, length('abc'))
---- UnsupportedSqlError
range cannot be kept incrementally: only whole numbers as bounds have a rule (line 1, column 16). Write the numbers themselves

-- title: a long range
SELECT id FROM range(10000000)
---- UnsupportedSqlError
range cannot be kept incrementally: it makes more than 1000000 rows (line 1, column 16). Make a table of the numbers

-- title: a PIVOT with two lists
SELECT * FROM (SELECT region, qty, cust FROM orders) PIVOT (SUM(qty) FOR region IN ('a') cust IN (1))
---- UnsupportedSqlError
this PIVOT cannot be kept incrementally: it has several lists of values (line 1, column 54). Write FOR (a, b) IN ((1, 2), ...)

-- title: a PIVOT after CROSS JOIN
SELECT * FROM items CROSS JOIN (SELECT name, tier FROM cust) c PIVOT (SUM(tier) FOR name IN ('a'))
---- UnsupportedSqlError
PIVOT after a join without ON cannot be kept incrementally: whether it turns the join or its last table is not told apart here (line 1, column 64). Put what it turns in a subquery: FROM (SELECT ...) PIVOT ...

-- title: FETCH
SELECT id FROM orders ORDER BY id FETCH FIRST 3 ROWS ONLY
---- UnsupportedSqlError
FETCH cannot be kept incrementally: Spark does not have it (line 1, column 35). Write LIMIT

-- title: a subquery in ORDER BY
SELECT DISTINCT id FROM orders ORDER BY (SELECT max(id) FROM cust), id LIMIT 1
---- UnsupportedSqlError
a subquery in ORDER BY cannot be kept incrementally: only output columns can be ordered by here (line 1, column 49). Compute its value in a subquery in FROM, and order by that column

-- title: ties without an order
SELECT id, tags FROM labels ORDER BY id LIMIT 2
---- UnsupportedSqlError
LIMIT cannot be kept incrementally: column 'tags' has the type map<string,int>, which cannot be compared, and is needed to tell rows apart (line 1, column 41). Leave it out, or order by columns that tell all rows apart

-- title: the first of several maps
SELECT first(tags) AS t FROM labels
---- UnsupportedSqlError
first of a map or a variant cannot be kept incrementally: several answers are right, and values that are or hold maps or variants have no order to choose by (line 1, column 8). Put to_json(...) around the value, or aggregate the keys and values one by one

-- title: a sketch over nothing
SELECT id, (SELECT hll_sketch_agg(n) FROM items WHERE oid = o.id) AS s FROM orders o
---- UnsupportedSqlError
hll_sketch_agg in a correlated subquery cannot be kept incrementally: over no rows it is not NULL (line 1, column 20). Group by the compared columns in a subquery in FROM, and LEFT JOIN that

-- title: a sketch of a range
SELECT hll_sketch_agg(region) OVER (PARTITION BY cust ORDER BY qty RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM orders
---- UnsupportedSqlError
hll_sketch_agg over a RANGE of rows cannot be kept incrementally: rows that tie belong to it in no order (line 1, column 8). Write a frame of ROWS, such as ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW

-- title: a correlated recursion
SELECT id FROM orders o WHERE EXISTS (WITH RECURSIVE t AS (SELECT o.id AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT n FROM t)
---- UnsupportedSqlError
a correlated recursion cannot be kept incrementally: it is another one for each outer row (line 1, column 44). Start one recursion from all outer rows, carry their key in a column, and join on it
