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
