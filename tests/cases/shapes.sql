-- Queries that are kept through random histories of their tables (tests/support/scripts.py), one per statement.
SELECT id, amount FROM orders;
SELECT id, amount * 2 AS d FROM orders WHERE qty > 1;
SELECT id, price FROM orders;
SELECT region, SUM(qty) AS total, COUNT(*) AS n FROM orders GROUP BY region;
SELECT region, SUM(amount) AS total, COUNT(amount) AS c, COUNT(*) AS n, AVG(amount) AS a FROM orders GROUP BY
    region;
SELECT region, AVG(qty) AS a, AVG(amount) AS b FROM orders GROUP BY region;
SELECT region, SUM(price) AS p FROM orders GROUP BY region;
SELECT region, AVG(price) AS p, SUM(qty) AS q FROM orders GROUP BY region;
SELECT region, MIN(qty) AS lo, MAX(amount) AS hi FROM orders GROUP BY region;
SELECT region, MIN(qty) AS lo, SUM(qty) AS s FROM orders GROUP BY region;
SELECT region, COUNT(DISTINCT cust) AS c, SUM(qty) AS s FROM orders GROUP BY region;
SELECT o.id, c.name, i.sku FROM orders o JOIN cust c ON o.cust = c.id JOIN items i ON i.oid = o.id;
SELECT c.name, SUM(i.n * o.qty) AS s, COUNT(*) AS k FROM orders o, cust c, items i WHERE o.cust = c.id AND i.oid =
    o.id GROUP BY c.name;
SELECT a.id AS x, b.id AS y FROM orders a JOIN orders b ON a.cust = b.cust AND a.id < b.id;
SELECT DISTINCT region, cust FROM orders;
SELECT DISTINCT price FROM orders;
SELECT region FROM orders UNION SELECT name FROM cust;
SELECT region AS r FROM orders UNION ALL SELECT name FROM cust UNION ALL SELECT sku FROM items;
SELECT x, COUNT(*) AS n FROM (SELECT qty AS x FROM orders UNION ALL SELECT price AS x FROM orders) GROUP BY x;
SELECT COUNT(*) AS c, SUM(qty) AS s, MIN(qty) AS lo, AVG(amount) AS a FROM orders;
SELECT COUNT(*) AS c FROM orders WHERE qty > 2;
SELECT SUM(price) AS s FROM orders;
SELECT STDDEV(qty) AS s, COUNT(*) AS c FROM orders;
SELECT id FROM orders WHERE qty > (SELECT AVG(qty) FROM orders);
SELECT region, SUM(qty) AS s FROM orders GROUP BY region HAVING SUM(qty) > (SELECT AVG(tier) * 3 FROM cust) AND
    COUNT(*) > 1;
SELECT c, COUNT(*) AS n FROM (SELECT cust, COUNT(*) AS c FROM orders GROUP BY cust) GROUP BY c;
WITH t AS (SELECT cust, SUM(qty) AS s FROM orders GROUP BY cust) SELECT a.cust, a.s, b.cust AS other FROM t a JOIN
    t b ON a.s = b.s AND a.cust < b.cust;
WITH r AS (SELECT cust, SUM(qty) AS s FROM orders GROUP BY cust) SELECT r.cust, s FROM r JOIN (SELECT MAX(s) AS m
    FROM r) x ON r.s = x.m;
SELECT o.id, t.s FROM orders o JOIN (SELECT cust, SUM(qty) AS s FROM orders GROUP BY cust) t ON o.cust = t.cust;
SELECT MAX(s) AS m FROM (SELECT cust, SUM(qty) AS s FROM orders GROUP BY cust);
SELECT UPPER(region) AS u, qty % 2 AS p, COUNT(*) AS n FROM orders GROUP BY UPPER(region), qty % 2;
SELECT region, SUM(CASE WHEN qty > 2 THEN amount ELSE 0 END) AS s, 100 * SUM(qty) / NULLIF(COUNT(cust), 0) AS r
    FROM orders GROUP BY region;
SELECT region, SUM(qty) FILTER (WHERE cust > 1) AS s, BOOL_OR(qty > 1) AS b FROM orders GROUP BY region;
SELECT price, COUNT(*) AS n FROM orders GROUP BY price;
SELECT * FROM cust NATURAL JOIN (SELECT cust AS id, qty FROM orders);
SELECT id, name, n FROM cust JOIN (SELECT oid AS id, n FROM items) USING (id);
SELECT c.name, COUNT(DISTINCT o.region) AS r, MAX(i.n) AS m FROM orders o JOIN cust c ON o.cust = c.id JOIN items
    i ON o.id = i.oid GROUP BY c.name;
SELECT a.n FROM items a CROSS JOIN cust b;
SELECT c.tier, t.n FROM cust c JOIN (SELECT oid, n FROM items UNION ALL SELECT id, qty FROM orders) t ON c.id =
    t.oid;
SELECT 1 AS one, COUNT(*) AS n FROM items GROUP BY one;
SELECT o.id, c.name FROM orders o JOIN cust c ON o.cust = c.id AND c.tier = 1 OR c.tier > 1 AND o.cust = c.id OR
    (o.cust = c.id AND o.qty > 3);
SELECT c.name, i.n FROM cust c, orders o, items i WHERE i.n > 1 AND (o.cust = c.id AND i.oid = o.id AND o.qty = 1
    OR i.oid = o.id AND o.cust = c.id AND c.tier = 2 OR o.cust = c.id AND o.qty > i.n AND i.oid = o.id);
SELECT c.name, o.id FROM cust c LEFT JOIN orders o ON o.cust = c.id AND o.qty > 2 OR o.cust = c.id AND c.tier = 1;
SELECT c.name FROM cust c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id AND o.qty > 2 OR o.cust =
    c.id AND c.tier = 1);
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.oid = o.id AND i.n > 2);
FROM orders |> WHERE qty > 1 |> EXTEND qty * 2 AS twice |> SET qty = twice + 1, twice = qty |> DROP price |> SELECT id,
    qty, twice;
TABLE orders |> AGGREGATE SUM(qty) AS s, COUNT(*) AS n GROUP BY region, cust % 2 AS half |> WHERE n > 1 |> SELECT half,
    s;
FROM orders |> ORDER BY qty DESC, id |> LIMIT 3 |> WHERE qty < 4 |> SELECT id, qty;
SELECT region FROM orders |> UNION ALL SELECT name FROM cust |> AGGREGATE COUNT(*) AS n GROUP BY region;
FROM orders |> JOIN (SELECT id AS c, tier, name FROM cust) AS c ON cust = c |> WHERE qty > tier |> SELECT id, name;
SELECT (region), SUM(qty) + 1 AS s FROM orders GROUP BY region HAVING SUM(qty) - 3;
SELECT region, SUM(qty) AS qty FROM orders GROUP BY region HAVING qty > 3 AND MAX(qty) < 9;
SELECT id, SUM(qty) OVER a AS s FROM orders WINDOW a AS b, b AS (PARTITION BY region);
SELECT DISTINCT (region) FROM orders o WHERE (SELECT COUNT(*) FROM items i WHERE (i.oid = o.id AND (i.n > 2 OR i.sku =
    'a')) OR (i.oid = o.id AND i.n < 1)) > 0 ORDER BY region LIMIT 2;
