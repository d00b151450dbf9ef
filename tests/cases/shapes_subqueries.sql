-- Joins of all kinds and subqueries, kept through random histories of their tables, one per statement.
SELECT o.id, c.name, c.tier FROM orders o LEFT JOIN cust c ON o.cust = c.id;
SELECT o.id, c.id AS cid, c.name FROM orders o RIGHT JOIN cust c ON o.cust = c.id;
SELECT o.id, c.id AS cid FROM orders o FULL JOIN cust c ON o.cust = c.id;
SELECT o.id, c.name FROM orders o LEFT JOIN cust c ON o.cust = c.id AND o.qty > 1 AND c.tier < 2;
SELECT o.id, c.id AS cid FROM orders o LEFT JOIN cust c ON o.qty < c.tier;
SELECT o.id, c.id AS cid FROM orders o FULL JOIN cust c ON o.cust = c.id AND o.qty > c.tier;
SELECT o.id, c.id AS cid FROM orders o LEFT JOIN cust c ON o.cust = c.id OR o.qty = c.tier;
SELECT o.id, c.id AS cid FROM orders o LEFT JOIN cust c ON TRUE;
SELECT o.id, c.id AS cid FROM orders o LEFT JOIN cust c ON 1 = 0;
SELECT o.id, c.name FROM orders o LEFT JOIN cust c ON o.cust = c.id WHERE c.id IS NULL;
SELECT o.id, c.name FROM orders o LEFT JOIN cust c ON o.cust = c.id WHERE c.tier > 0;
SELECT c.name, COUNT(o.id) AS n, SUM(o.qty) AS q FROM cust c LEFT JOIN orders o ON o.cust = c.id GROUP BY c.name;
SELECT id, region FROM orders LEFT SEMI JOIN cust ON orders.cust = cust.id;
SELECT id, region FROM orders LEFT ANTI JOIN cust ON orders.cust = cust.id;
SELECT id, region FROM orders o LEFT ANTI JOIN cust c ON o.cust = c.id AND o.qty > c.tier;
SELECT * FROM (SELECT id, qty FROM orders) LEFT JOIN (SELECT oid AS id, n FROM items) USING (id);
SELECT * FROM (SELECT id, qty FROM orders) RIGHT JOIN (SELECT oid AS id, n FROM items) USING (id);
SELECT * FROM (SELECT id, qty FROM orders) FULL JOIN (SELECT oid AS id, n FROM items) USING (id);
SELECT id, l.id AS lid, r.id AS rid FROM (SELECT id, qty FROM orders) l FULL JOIN (SELECT oid AS id, n FROM items) r
    USING (id);
SELECT * FROM (SELECT id, qty FROM orders) NATURAL LEFT JOIN (SELECT oid AS id, n FROM items);
SELECT id, SUM(qty) AS s, COUNT(n) AS c FROM (SELECT id, qty FROM orders) FULL JOIN (SELECT oid AS id, n FROM items)
    USING (id) GROUP BY id;
SELECT id, a.n AS x, b.n AS y FROM (SELECT id FROM orders) FULL JOIN (SELECT oid AS id, n FROM items) a USING (id)
    FULL JOIN (SELECT id, tier AS n FROM cust) b USING (id);
SELECT o.id, c.name, i.n FROM orders o LEFT JOIN (cust c JOIN items i ON c.id = i.oid) ON o.cust = c.id;
SELECT o.id, c.name, i.n FROM (orders o LEFT JOIN cust c ON o.cust = c.id) JOIN items i ON i.oid = o.id;
SELECT o.id, c.name, i.n FROM orders o LEFT JOIN cust c ON o.cust = c.id LEFT JOIN items i ON i.oid = c.id;
SELECT o.id, c.name, i.n FROM items i, orders o LEFT JOIN cust c ON o.cust = c.id WHERE i.oid = o.id;
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM cust c WHERE c.id = o.cust);
SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT * FROM cust c WHERE c.id = o.cust AND c.tier > 0);
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM cust c WHERE c.tier > 1);
SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM cust c WHERE c.tier > 1);
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM cust c WHERE c.tier < o.qty);
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM cust c WHERE o.qty > 1);
SELECT o.id FROM orders o WHERE EXISTS (SELECT MAX(tier) FROM cust c WHERE c.id = o.cust);
SELECT o.id FROM orders o WHERE EXISTS (SELECT i.oid FROM items i WHERE i.oid = o.id GROUP BY i.oid HAVING SUM(i.n) >
    1);
SELECT o.id FROM orders o WHERE EXISTS (SELECT i.sku FROM items i WHERE i.oid = o.id GROUP BY i.sku HAVING COUNT(*) >
    1);
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.oid = o.id HAVING SUM(i.n) > 1);
SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.oid = o.id HAVING COUNT(*) > 1);
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.n < o.qty HAVING COUNT(*) > 1);
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM cust c WHERE c.id = o.cust) OR o.qty = 1;
SELECT o.id FROM orders o WHERE NOT (EXISTS (SELECT 1 FROM cust c WHERE c.id = o.cust) AND o.qty > 1);
SELECT o.id, CASE WHEN EXISTS (SELECT 1 FROM cust c WHERE c.id = o.cust) THEN 'y' ELSE 'n' END AS e FROM orders o;
SELECT o.id, EXISTS (SELECT 1 FROM cust WHERE tier = 2) AS e FROM orders o;
SELECT o.id FROM orders o WHERE cust IN (SELECT id FROM cust);
SELECT o.id FROM orders o WHERE cust IN (SELECT tier FROM cust);
SELECT o.id FROM orders o WHERE cust NOT IN (SELECT tier FROM cust);
SELECT o.id FROM orders o WHERE cust NOT IN (SELECT tier FROM cust WHERE tier IS NOT NULL);
SELECT o.id FROM orders o WHERE id NOT IN (SELECT oid FROM items WHERE n = 1);
SELECT o.id FROM orders o WHERE 1 NOT IN (SELECT oid FROM items WHERE n = 1);
SELECT o.id FROM orders o WHERE (cust, qty) IN (SELECT id, tier FROM cust);
SELECT o.id FROM orders o WHERE cust IN (SELECT c.id FROM cust c WHERE c.tier = o.qty);
SELECT o.id FROM orders o WHERE cust NOT IN (SELECT c.tier FROM cust c WHERE c.id = o.id);
SELECT o.id FROM orders o WHERE cust NOT IN (SELECT c.tier FROM cust c WHERE c.id < o.id);
SELECT o.id FROM orders o WHERE cust IN (SELECT c.tier + o.qty FROM cust c);
SELECT o.id FROM orders o WHERE id IN (SELECT oid FROM items GROUP BY oid HAVING SUM(n) > 1);
SELECT o.id FROM orders o WHERE cust IN (SELECT tier FROM cust) OR qty > 1;
SELECT o.id FROM orders o WHERE NOT (cust IN (SELECT tier FROM cust) AND qty > 1);
SELECT o.id FROM orders o WHERE NOT (cust IN (SELECT tier FROM cust) AND NOT (qty > 1 OR id NOT IN (SELECT oid FROM
    items)));
SELECT o.id, COALESCE((cust, id) IN (SELECT id, id FROM cust), FALSE) AS e FROM orders o;
SELECT o.id FROM orders o WHERE cust IN (SELECT id FROM cust UNION SELECT oid FROM items);
SELECT o.id FROM orders o WHERE cust IN (SELECT c.id FROM cust c WHERE EXISTS (SELECT 1 FROM items i WHERE i.oid = c.id));
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM cust c WHERE c.id = o.cust AND NOT EXISTS (SELECT 1 FROM items i
    WHERE i.oid = o.id AND i.n = c.tier));
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM cust c WHERE c.id = o.cust AND c.tier < (SELECT SUM(i.n) FROM
    items i WHERE i.oid = o.id));
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM cust c WHERE c.tier < (SELECT COUNT(i.n) FROM items i WHERE i.oid
    = o.id AND i.n <> c.tier));
SELECT o.id, (SELECT MAX(n) FROM items) AS m FROM orders o;
SELECT o.id, (SELECT MAX(i.n) FROM items i WHERE i.oid = o.id) AS m FROM orders o;
SELECT o.id, (SELECT COUNT(*) FROM items i WHERE i.oid = o.id) AS m FROM orders o;
SELECT o.id, (SELECT COUNT(*) + 1 + COALESCE(SUM(n), 7) FROM items i WHERE i.oid = o.id) AS m FROM orders o;
SELECT o.id, (SELECT COUNT(*) FROM items i WHERE i.n < o.qty) AS m FROM orders o;
SELECT o.id, (SELECT COUNT(*) FROM items i WHERE i.oid = o.id AND i.n < o.qty) AS m FROM orders o;
SELECT o.id, (SELECT SUM(i.n + o.qty) FROM items i WHERE i.oid = o.id) AS m FROM orders o;
SELECT o.id, (SELECT SUM(i.n) + o.qty FROM items i WHERE i.oid = o.id) AS m FROM orders o;
SELECT o.id, (SELECT COUNT(*) FROM items i WHERE o.qty = 1) AS m FROM orders o;
SELECT o.id, (SELECT COUNT(DISTINCT i.sku) FROM items i WHERE i.oid = o.id OR i.n = o.qty) AS m FROM orders o;
SELECT o.id, (SELECT COUNT(*) FROM (SELECT DISTINCT i.sku FROM items i WHERE i.oid = o.id)) AS m FROM orders o;
SELECT o.id, (SELECT MAX(x) FROM (SELECT i.sku, SUM(i.n) AS x FROM items i WHERE i.oid = o.id GROUP BY i.sku)) AS m FROM
    orders o;
SELECT o.id, (SELECT COUNT(*) FROM (SELECT i.oid AS x FROM items i WHERE i.oid = o.id UNION ALL SELECT c.id FROM cust c
    WHERE c.id = o.id) u) AS m FROM orders o;
SELECT o.id, (SELECT COUNT(*) FROM (SELECT i.oid AS x FROM items i WHERE i.n < o.qty UNION SELECT c.id FROM cust c WHERE
    c.id = o.cust) u) AS m FROM orders o;
SELECT o.id FROM orders o WHERE o.qty > (SELECT AVG(n) FROM items i WHERE i.oid = o.id);
SELECT o.id FROM orders o JOIN cust c ON o.cust = c.id WHERE o.qty < (SELECT 0.5 * AVG(i.n) FROM items i WHERE i.oid =
    c.id);
SELECT o.id FROM orders o WHERE o.qty > (SELECT COUNT(*) FROM items i WHERE i.oid = o.id) OR o.cust = 1;
SELECT o.id FROM orders o WHERE o.qty >= COALESCE((SELECT MAX(n) FROM items i WHERE i.oid = o.id), 1);
SELECT o.id FROM orders o WHERE o.qty = (SELECT MAX(o2.qty) FROM orders o2 WHERE o2.region = o.region);
SELECT o.id FROM orders o WHERE o.qty = (SELECT MAX(o2.qty) FROM orders o2 WHERE o2.region IS NOT DISTINCT FROM o.region);
SELECT region, SUM(qty) AS s FROM orders GROUP BY region HAVING SUM(qty) > (SELECT AVG(n) FROM items);
SELECT cust, SUM(qty) AS s FROM orders o GROUP BY cust HAVING SUM(qty) > (SELECT MAX(c.tier) FROM cust c WHERE c.id =
    o.cust);
SELECT cust, SUM(qty) AS s FROM orders o GROUP BY cust HAVING EXISTS (SELECT 1 FROM cust c WHERE c.id = o.cust);
SELECT cust, SUM(qty) AS s FROM orders o GROUP BY cust HAVING SUM(qty) IN (SELECT tier FROM cust);
SELECT cust, SUM(qty) AS s, (SELECT MAX(c.tier) FROM cust c WHERE c.id = o.cust) AS t FROM orders o GROUP BY cust;
SELECT region, SUM((SELECT COUNT(*) FROM items i WHERE i.oid = o.id)) AS s FROM orders o GROUP BY region;
SELECT (SELECT COUNT(*) FROM items i WHERE i.oid = o.id) AS k, COUNT(*) AS n FROM orders o GROUP BY (SELECT COUNT(*)
    FROM items i WHERE i.oid = o.id);
SELECT o.id, c.name FROM orders o JOIN cust c ON o.cust = c.id AND EXISTS (SELECT 1 FROM items i WHERE i.oid = o.id);
SELECT o.id, t.s, t.k FROM orders o, LATERAL (SELECT SUM(n) AS s, COUNT(*) AS k FROM items i WHERE i.oid = o.id) t;
SELECT o.id, t.sku FROM orders o, LATERAL (SELECT sku, n + o.qty AS x FROM items i WHERE i.oid = o.id) t WHERE x > 1;
SELECT o.id, t.sku, t.x FROM orders o LEFT JOIN LATERAL (SELECT sku, n + 1 AS x FROM items i WHERE i.oid = o.id) t ON TRUE;
SELECT o.id, t.sku, t.x FROM orders o LEFT JOIN LATERAL (SELECT sku, n + o.qty AS x FROM items i WHERE i.n < o.qty) t ON
    t.x > 1;
SELECT o.id, t.x, u.y FROM orders o, LATERAL (SELECT o.id + 1 AS x) t, LATERAL (SELECT t.x + c.tier AS y FROM cust c WHERE
    c.id = t.x) u;
SELECT o.id, t.s FROM orders o LEFT JOIN LATERAL (SELECT sku, SUM(n) AS s FROM items i WHERE i.oid = o.id GROUP BY sku) t
    ON TRUE;
WITH t AS (SELECT oid, SUM(n) AS s FROM items GROUP BY oid) SELECT o.id, (SELECT MAX(s) FROM t WHERE t.oid = o.id) AS m
    FROM orders o WHERE o.id IN (SELECT oid FROM t WHERE s > 0);
WITH t AS (SELECT oid, SUM(n) AS s FROM items GROUP BY oid) SELECT a.oid, a.s FROM t a WHERE a.s > (SELECT AVG(b.s) FROM
    t b WHERE b.oid <> a.oid);
WITH t AS (SELECT cust, SUM(qty) AS s FROM orders GROUP BY cust) SELECT cust FROM t WHERE s = (SELECT MAX(s) FROM t);
SELECT o.id, (WITH t AS (SELECT i.n FROM items i WHERE i.oid = o.id) SELECT SUM(a.n) FROM t a, t b) AS m FROM orders o;
SELECT o.id FROM orders o WHERE o.cust IN (WITH t AS (SELECT id, tier FROM cust WHERE tier > 0) SELECT a.id FROM t a JOIN
    t b ON a.tier = b.tier);
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.oid = o.id LIMIT 1);
WITH t AS (SELECT cust, SUM(qty) AS s FROM orders GROUP BY cust) SELECT a.cust, x.s FROM t a, LATERAL (SELECT b.s -
    a.s AS s FROM t b) x;
WITH t AS (SELECT cust, SUM(qty) AS s FROM orders GROUP BY cust) SELECT a.cust, x.cust AS other FROM t a, LATERAL
    (SELECT b.cust FROM cust c CROSS JOIN LATERAL (SELECT u.cust FROM t u) b) x;
WITH t AS (SELECT cust, SUM(qty) AS s FROM orders GROUP BY cust) SELECT a.cust FROM t a WHERE a.s IN (SELECT b.s -
    a.s FROM t b);
SELECT o.id, (SELECT i.n FROM items i WHERE i.oid = o.id ORDER BY i.n DESC, i.sku LIMIT 1) AS m FROM orders o;
SELECT o.id, t.n, t.sku FROM orders o, LATERAL (SELECT i.n, i.sku FROM items i WHERE i.oid = o.id ORDER BY i.n DESC,
    i.sku LIMIT 2) t;
SELECT o.id, t.n, t.sku FROM orders o LEFT JOIN LATERAL (SELECT i.n, i.sku FROM items i WHERE i.oid = o.id ORDER BY
    i.n DESC, i.sku LIMIT 1) t ON TRUE;
SELECT o.id, t.n, t.sku FROM orders o LEFT JOIN LATERAL (SELECT i.n, i.sku FROM items i WHERE i.n < o.qty ORDER BY i.n
    DESC, i.sku LIMIT 1) t ON TRUE;
SELECT o.id FROM orders o WHERE o.cust IN (SELECT i.oid FROM items i ORDER BY i.n, i.oid LIMIT 2);
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM (SELECT i.n, row_number() OVER (PARTITION BY i.sku ORDER BY i.n,
    i.oid) AS r FROM items i WHERE i.oid = o.id) t WHERE t.r = 2);
SELECT o.id, (SELECT SUM(r) FROM (SELECT rank() OVER (ORDER BY i.n) AS r FROM items i WHERE i.n < o.qty) t) AS m FROM
    orders o;
SELECT o.id FROM orders o WHERE o.cust IN (SELECT c.id FROM cust c WHERE c.tier = o.qty INTERSECT SELECT i.oid FROM
    items i);
SELECT o.id FROM orders o WHERE EXISTS (SELECT c.id FROM cust c WHERE c.tier = o.qty EXCEPT SELECT i.oid FROM items i
    WHERE i.n = o.qty);
SELECT o.id, sum(o.qty) OVER (PARTITION BY o.region ORDER BY o.id, o.cust, o.qty) AS w, (SELECT MAX(n) FROM items i
    WHERE i.oid = o.id) AS m FROM orders o WHERE o.id > 1;
SELECT o.id, rank() OVER (ORDER BY (SELECT COUNT(*) FROM items i WHERE i.oid = o.id)) AS r FROM orders o;
SELECT o.id FROM orders o ORDER BY (SELECT COUNT(*) FROM items i WHERE i.oid = o.id), o.id LIMIT 3;
SELECT region, qty, COUNT(*) AS n FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.oid = o.id) GROUP BY
    ROLLUP (region, qty) HAVING COUNT(*) > 0;
SELECT o.id FROM orders o QUALIFY row_number() OVER (PARTITION BY o.region ORDER BY o.id, o.cust, o.qty) > (SELECT
    MIN(n) FROM items);
SELECT o.id, c.tier FROM orders o FULL JOIN cust c ON o.cust = c.id WHERE EXISTS (SELECT 1 FROM items i WHERE NOT
    EXISTS (SELECT 1 FROM items j WHERE j.n < o.qty));
SELECT o.id, c.tier FROM orders o FULL JOIN cust c ON o.cust = c.id WHERE EXISTS (SELECT 1 FROM items i WHERE NOT
    EXISTS (SELECT 1 FROM items j WHERE j.n < c.tier));
SELECT o.id, c.tier FROM orders o RIGHT JOIN cust c ON o.cust = c.id WHERE EXISTS (SELECT 1 FROM items i WHERE NOT
    EXISTS (SELECT 1 FROM items j WHERE j.n < o.qty));
SELECT o.id, (SELECT SUM(i.n) FROM items i WHERE i.oid = o.id OFFSET 1) AS s FROM orders o;
