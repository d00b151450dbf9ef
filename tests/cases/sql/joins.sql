-- title: conditions move next to their table
SELECT o.id, name FROM orders o, cust c WHERE o.cust = c.id AND c.tier > 1 AND o.qty = 2
---- tree
Project [id, name]
  Join cust = id_2
    Filter qty = 2
      Scan orders [id, cust, qty]
    Filter tier > 1
      Scan cust [id AS id_2, name, tier]

-- title: USING shows its column once and first
SELECT * FROM items JOIN (SELECT id AS oid, qty FROM orders) USING (oid)
---- tree
Project [oid, sku, n, qty]
  Join oid = id
    Scan items [oid, sku, n]
    Scan orders [id, qty]

-- title: NATURAL joins on all shared names
SELECT * FROM cust NATURAL JOIN (SELECT id, tier, 1 AS one FROM cust)
---- tree
Project [id, tier, name, one]
  Join id = id_2 AND tier = tier_2
    Scan cust [id, name, tier]
    Project [id_2, tier_2, 1 AS one]
      Scan cust [id AS id_2, tier AS tier_2]

-- title: a table with itself
SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.cust = b.id
---- tree
Project [id, id_2 AS other]
  Join cust = id_2
    Scan orders [id, cust]
    Scan orders [id AS id_2]

-- title: joins in parentheses are flattened
SELECT o.id FROM orders o JOIN (cust c JOIN items i ON c.id = i.oid) ON o.cust = c.id
---- tree
Project [id]
  Join id_2 = oid AND cust = id_2
    Scan orders [id, cust]
    Scan cust [id AS id_2]
    Scan items [oid]

-- title: the condition of an outer join stays in it
SELECT o.id, c.name FROM orders o LEFT JOIN cust c ON o.cust = c.id AND o.qty > 1 AND c.tier = 2 WHERE o.region = 'a'
---- tree
Project [id, name]
  LeftJoin cust = id_2 AND qty > 1
    Filter region = 'a'
      Scan orders [id, cust, region, qty]
    Filter tier = 2
      Scan cust [id AS id_2, name, tier]

-- title: a right join keeps the other side
SELECT o.id, c.name FROM orders o RIGHT JOIN cust c ON o.cust = c.id
---- tree
Project [id, name]
  LeftJoin cust = id_2
    Scan cust [id AS id_2, name]
    Scan orders [id, cust]

-- title: a column that must not be NULL needs a partner
SELECT o.id FROM orders o LEFT JOIN cust c ON o.cust = c.id WHERE c.tier * 2 > 1
---- tree
Project [id]
  Join cust = id_2
    Scan orders [id, cust]
    Filter tier * 2 > 1
      Scan cust [id AS id_2, tier]

-- title: semi and anti joins show the left side only
SELECT * FROM cust LEFT SEMI JOIN orders ON orders.cust = cust.id ANTI JOIN items ON items.oid = cust.id
---- tree
Project [id, name, tier]
  Match anti oid = id
    Match semi cust = id
      Scan cust [id, name, tier]
      Scan orders [cust]
    Scan items [oid]

-- title: USING of a full join shows one column, and both by their tables
SELECT id, l.id AS lid, r.id AS rid FROM (SELECT id FROM orders) l FULL JOIN (SELECT oid AS id FROM items) r USING (id)
---- tree
Project [COALESCE(id, oid) AS id, id AS lid, oid AS rid]
  FullJoin id = oid
    Scan orders [id]
    Scan items [oid]

-- title: USING of a right join shows the right column
SELECT * FROM (SELECT id, qty FROM orders) l RIGHT JOIN (SELECT oid AS id, n FROM items) r USING (id)
---- tree
Project [oid AS id, qty, n]
  LeftJoin id = oid
    Scan items [oid, n]
    Scan orders [id, qty]

-- title: an outer join inside parentheses
SELECT o.id, i.n FROM orders o LEFT JOIN (cust c JOIN items i ON c.id = i.oid) ON o.cust = c.id
---- tree
Project [id, n]
  LeftJoin cust = id_2
    Scan orders [id, cust]
    Join id_2 = oid
      Scan cust [id AS id_2]
      Scan items [oid, n]

-- title: LATERAL with an aggregate
SELECT o.id, t.s, t.k FROM orders o, LATERAL (SELECT SUM(n) AS s, COUNT(*) AS k FROM items i WHERE i.oid = o.id) t
---- tree
Project [id, s, COALESCE(k_2, 0) AS k]
  LeftJoin id = oid
    Scan orders [id]
    Aggregate by [oid] compute [SUM(n) AS s, COUNT(*) AS k_2]
      Scan items [oid, n]

-- title: LEFT JOIN LATERAL
SELECT o.id, t.x FROM orders o LEFT JOIN LATERAL (SELECT n + 1 AS x FROM items i WHERE i.oid = o.id) t ON t.x > 1
---- tree
Project [id, x]
  LeftJoin oid = id
    Scan orders [id]
    Project [n + 1 AS x, oid]
      Filter (n + 1) > 1
        Scan items [oid, n]
