-- Windows, LIMIT, set operations and recursion. Orders are complete here, so that the text has one answer.
SELECT id, cust, RANK() OVER (PARTITION BY cust ORDER BY amount DESC) AS r FROM orders;
SELECT id, DENSE_RANK() OVER (ORDER BY qty) AS r, PERCENT_RANK() OVER (PARTITION BY region ORDER BY qty) AS p FROM orders;
SELECT id, qty, ROW_NUMBER() OVER (PARTITION BY region ORDER BY qty, id) AS r FROM orders;
SELECT qty, CUME_DIST() OVER (PARTITION BY region ORDER BY qty DESC) AS d, NTILE(2) OVER (PARTITION BY region ORDER BY
    qty DESC) AS t FROM orders;
SELECT n, n - LAG(n) OVER (PARTITION BY oid ORDER BY n) AS d, LEAD(n, 1, 7) OVER (PARTITION BY oid ORDER BY n) AS e
    FROM items;
SELECT id, SUM(qty) OVER (PARTITION BY cust) AS s, COUNT(*) OVER (PARTITION BY region) AS n, AVG(amount) OVER () AS a
    FROM orders;
SELECT n, SUM(n) OVER (PARTITION BY sku ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM items;
SELECT n, SUM(n) OVER (PARTITION BY sku ORDER BY n RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s, MAX(n) OVER
    (PARTITION BY sku ORDER BY n DESC) AS m FROM items;
SELECT n, FIRST_VALUE(n) OVER w AS f, LAST_VALUE(n) OVER w AS l, NTH_VALUE(n, 2) OVER w AS t FROM items WINDOW w AS
    (PARTITION BY oid ORDER BY n);
SELECT n, FIRST_VALUE(n) OVER (PARTITION BY oid ORDER BY n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS f FROM
    items;
SELECT region, SUM(qty) AS s, RANK() OVER (ORDER BY SUM(qty) DESC) AS r FROM orders GROUP BY region;
SELECT cust, region, SUM(SUM(qty)) OVER (PARTITION BY cust) AS s, COUNT(*) AS n FROM orders GROUP BY cust, region;
SELECT region, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*), region) AS r FROM orders GROUP BY region HAVING
    COUNT(*) > 1;
SELECT id, amount FROM orders QUALIFY RANK() OVER (PARTITION BY cust ORDER BY amount DESC) = 1;
SELECT id, RANK() OVER (PARTITION BY region ORDER BY qty) AS r FROM orders QUALIFY r <= 2;
SELECT * FROM (SELECT id, cust, qty, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY qty DESC, id) AS r FROM orders) WHERE
    r = 1 AND cust > 1;
SELECT DISTINCT cust, MAX(qty) OVER (PARTITION BY cust) AS m FROM orders;
SELECT id, RANK() OVER (PARTITION BY qty % 2, UPPER(region) ORDER BY id) AS r FROM orders;
SELECT id, RANK() OVER (PARTITION BY 1 ORDER BY qty) AS r FROM orders;
SELECT c.name, o.id, RANK() OVER (PARTITION BY c.id ORDER BY o.qty) AS r FROM orders o JOIN cust c ON o.cust = c.id;
SELECT c.name, w.r FROM cust c JOIN (SELECT cust, RANK() OVER (PARTITION BY cust ORDER BY qty) AS r FROM orders) w ON
    c.id = w.cust;
SELECT r, COUNT(*) AS n FROM (SELECT RANK() OVER (PARTITION BY cust ORDER BY qty) AS r FROM orders) GROUP BY r;
SELECT id, qty FROM orders ORDER BY qty DESC, id LIMIT 3;
SELECT id, qty FROM orders ORDER BY qty DESC, id LIMIT 2 OFFSET 1;
SELECT id, qty FROM orders ORDER BY 2, 1 OFFSET 2;
SELECT qty, id FROM orders ORDER BY ALL LIMIT 1 + 1;
SELECT cust, SUM(qty) AS s FROM orders GROUP BY cust ORDER BY s DESC, cust LIMIT 2;
SELECT cust FROM orders GROUP BY cust ORDER BY SUM(qty) DESC, cust LIMIT 2;
SELECT DISTINCT region FROM orders ORDER BY region LIMIT 1;
SELECT -qty AS qty, orders.id FROM orders ORDER BY qty, orders.id LIMIT 3;
SELECT id AS k FROM orders ORDER BY qty + 1 NULLS LAST, id DESC LIMIT 2;
SELECT t.id, c.name FROM (SELECT id, cust FROM orders ORDER BY id, cust LIMIT 3) t JOIN cust c ON t.cust = c.id;
(SELECT id FROM orders ORDER BY id LIMIT 1) UNION ALL (SELECT id FROM cust ORDER BY id DESC LIMIT 1);
SELECT id FROM orders UNION ALL SELECT id FROM cust ORDER BY id DESC LIMIT 3;
SELECT id, qty FROM orders ORDER BY id LIMIT 0;
SELECT MAX(qty) AS m FROM orders LIMIT 1;
SELECT id FROM orders EXCEPT SELECT id FROM cust;
SELECT id FROM orders EXCEPT ALL SELECT id FROM cust;
SELECT cust, qty FROM orders INTERSECT SELECT id, tier FROM cust;
SELECT cust FROM orders INTERSECT ALL SELECT oid FROM items;
SELECT region FROM orders MINUS SELECT name FROM cust;
SELECT id FROM orders UNION SELECT id FROM cust INTERSECT SELECT oid FROM items;
(SELECT id FROM orders UNION ALL SELECT id FROM cust) EXCEPT ALL SELECT oid FROM items EXCEPT SELECT tier FROM cust;
SELECT id + 1 AS x FROM (SELECT cust AS id FROM orders EXCEPT SELECT tier FROM cust) WHERE id > 0;
SELECT qty, qty AS again FROM orders EXCEPT ALL SELECT tier, tier FROM cust;
SELECT o.id, t.id AS other FROM orders o JOIN (SELECT id FROM cust INTERSECT SELECT oid FROM items) t ON o.cust = t.id;
SELECT qty FROM orders INTERSECT SELECT price FROM orders;
WITH RECURSIVE r(n, d) AS (SELECT id, 0 FROM cust WHERE tier = 1 UNION ALL SELECT i.n, d + 1 FROM r JOIN items i ON
    i.oid = r.n WHERE d < 3) SELECT n, d FROM r;
WITH RECURSIVE r AS (SELECT CAST(1 AS BIGINT) AS n UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT o.id, n FROM orders
    o JOIN r ON o.id = n;
WITH RECURSIVE r(n) AS (SELECT id FROM cust UNION ALL SELECT n + 2 FROM r WHERE n < 3) SELECT a.n, COUNT(*) AS c FROM r a
    JOIN r b ON a.n = b.n GROUP BY a.n;
WITH RECURSIVE r(n) AS (SELECT id FROM cust UNION ALL (SELECT n + 2 FROM r WHERE n < 3 UNION ALL SELECT n + 3 FROM r
    WHERE n < 2)) SELECT n FROM r;
WITH t AS (SELECT id, cust, RANK() OVER (PARTITION BY cust ORDER BY qty) AS r FROM orders) SELECT a.id, b.id AS other
    FROM t a JOIN t b ON a.cust = b.cust AND a.r = b.r + 1;
WITH w AS (SELECT qty FROM orders ORDER BY qty LIMIT 3) SELECT 'x' AS c FROM w a CROSS JOIN w b;
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.oid = o.id LIMIT 1);
SELECT c.id, t.id AS o, t.r FROM cust c, LATERAL (SELECT id, RANK() OVER (ORDER BY qty) AS r FROM orders WHERE cust =
    c.id) t;
SELECT c.id, (SELECT o.id FROM orders o WHERE o.cust = c.id ORDER BY o.qty DESC, o.id LIMIT 1) AS best FROM cust c;
SELECT id, CASE WHEN COALESCE(RANK() OVER (PARTITION BY cust ORDER BY qty) IN (SELECT n FROM items), FALSE) THEN qty END
    AS q FROM orders;
SELECT region, COUNT(*) OVER () NOT IN (SELECT i.n FROM items i WHERE i.n IS NOT NULL) AS other, COUNT(*) AS n FROM orders
    GROUP BY region;
SELECT id, COUNT(*) OVER (PARTITION BY cust) IN (SELECT i.n FROM items i WHERE i.oid = o.id) AS found FROM orders o QUALIFY
    COUNT(*) OVER (PARTITION BY region) IN (SELECT id FROM cust);
SELECT region, x.c FROM orders o JOIN (SELECT COUNT(*) AS c FROM (SELECT oid FROM items LIMIT 3)) x ON o.qty > x.c;
SELECT c.id, (SELECT COUNT(*) FROM (SELECT o.qty FROM orders o WHERE o.cust = c.id OFFSET 1) x) AS rest FROM cust c;
