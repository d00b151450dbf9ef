-- title: sample
SELECT id FROM orders TABLESAMPLE (10 PERCENT)
---- UnsupportedSqlError
TABLESAMPLE cannot be kept incrementally: which rows it takes is random (line 1, column 23). Filter on a column instead

-- title: time travel
SELECT id FROM orders VERSION AS OF 3
---- UnsupportedSqlError
time travel cannot be kept incrementally: a stream table follows its sources (line 1, column 37). Leave the version out

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
SELECT id AS _weight FROM orders
---- UserError
column '_weight' of the query has a reserved name. '_weight' and names that start with '_trickle_' are used to keep changes: rename it

-- title: syntax
SELECT id FROM orders WHERE
---- SqlError
cannot read the query: something is missing in WHERE (line 1, column 27)
