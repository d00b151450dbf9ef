-- title: EXISTS is a semi join
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM cust c WHERE c.id = o.cust AND c.tier > 1) AND o.qty > 1
---- tree
Project [id]
  Match semi id_2 = cust
    Filter qty > 1
      Scan orders [id, cust, qty]
    Filter tier > 1
      Scan cust [id AS id_2, tier]

-- title: NOT EXISTS is an anti join
SELECT id FROM orders o WHERE NOT EXISTS (SELECT DISTINCT tier FROM cust c WHERE c.id = o.cust AND c.tier <> o.qty)
---- tree
Project [id]
  Match anti id_2 = cust AND tier <> qty
    Scan orders [id, cust, qty]
    Scan cust [id AS id_2, tier]

-- title: EXISTS of an independent query is a count
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM cust WHERE tier > 1)
---- tree
Project [id]
  Join
    Scan orders [id]
    Filter count > 0
      Aggregate by [] compute [COUNT(*) AS count]
        Distinct
          Project [TRUE AS one]
            Filter tier > 1
              Scan cust [tier]

-- title: EXISTS of a grouping
SELECT id FROM orders o WHERE EXISTS (SELECT i.oid FROM items i WHERE i.oid = o.id GROUP BY i.oid HAVING SUM(i.n) > 1)
---- tree
Project [id]
  Match semi id = oid
    Scan orders [id]
    Filter sum_n > 1
      Aggregate by [oid] compute [SUM(n) AS sum_n]
        Scan items [oid, n]

-- title: EXISTS under OR is a mark
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM cust c WHERE c.id = o.cust) OR o.qty > 1
---- tree
Project [id]
  Filter there_is OR qty > 1
    Match mark id_2 = cust AS there_is
      Scan orders [id, cust, qty]
      Scan cust [id AS id_2]

-- title: IN is a semi join
SELECT id FROM orders WHERE cust IN (SELECT id FROM cust)
---- tree
Project [id]
  Match semi cust = id_2
    Scan orders [id, cust]
    Scan cust [id AS id_2]

-- title: IN of pairs
SELECT id FROM orders WHERE (cust, qty) IN (SELECT id, tier FROM cust)
---- tree
Project [id]
  Match semi cust = id_2 AND qty = tier
    Scan orders [id, cust, qty]
    Scan cust [id AS id_2, tier]

-- title: NOT IN asks for NULLs beside an anti join
SELECT id FROM orders WHERE cust NOT IN (SELECT tier FROM cust)
---- tree
Project [id]
  Match anti cust = tier
    Join NOT (NOT has_nulls IS NULL AND (cust IS NULL OR has_nulls))
      Scan orders [id, cust]
      Aggregate by [] compute [MAX(is_null) AS has_nulls]
        Distinct
          Project [tier IS NULL AS is_null]
            Scan cust [tier]
    Scan cust [tier]

-- title: correlated NOT IN
SELECT id FROM orders o WHERE cust NOT IN (SELECT tier FROM cust c WHERE c.id = o.id)
---- tree
Project [id]
  Match anti id_2 = id AND COALESCE(cust = tier, TRUE)
    Scan orders [id, cust]
    Scan cust [id AS id_2, tier]

-- title: IN as a value is a mark
SELECT id, cust IN (SELECT tier FROM cust c WHERE c.id = o.id) AS e FROM orders o
---- tree
Project [id, is_in AS e]
  Match mark id_2 = id AND cust = tier AS is_in
    Scan orders [id, cust]
    Scan cust [id AS id_2, tier]

-- title: a correlated aggregate is a join with groups
SELECT id FROM orders o WHERE qty > (SELECT 0.2 * AVG(n) FROM items i WHERE i.oid = o.id)
---- tree
Project [id]
  Join id = oid AND qty > (0.2 * avg_n)
    Scan orders [id, qty]
    Aggregate by [oid] compute [AVG(n) AS avg_n]
      Scan items [oid, n]

-- title: a count of nothing is 0
SELECT id, (SELECT COUNT(*) + 1 FROM items i WHERE i.oid = o.id) AS c FROM orders o
---- tree
Project [id, COALESCE(count_2, 0) + 1 AS c]
  LeftJoin id = oid
    Scan orders [id]
    Aggregate by [oid] compute [COUNT(*) AS count_2]
      Scan items [oid]

-- title: a comparison under an aggregate is decided for each outer value
SELECT id, (SELECT SUM(n) FROM items i WHERE i.oid = o.id AND i.n < o.qty) AS s FROM orders o
---- tree
Project [id, sum_n AS s]
  LeftJoin id IS NOT DISTINCT FROM id_outer AND qty IS NOT DISTINCT FROM qty_outer
    Scan orders [id, qty]
    Aggregate by [id_outer, qty_outer] compute [SUM(n) AS sum_n]
      Project [n, id_outer, qty_outer]
        Join oid = id_outer AND n < qty_outer
          Distinct
            Project [id AS id_outer, qty AS qty_outer]
              Scan orders [id, qty]
          Scan items [oid, n]

-- title: several rows of a scalar subquery are an error
SELECT id FROM orders WHERE qty = (SELECT tier FROM cust)
---- tree
Project [id]
  Join qty = (CASE WHEN count > 1 THEN RAISE_ERROR('More than one row returned by a subquery used as an expression') ELSE value END)
    Scan orders [id, qty]
    Aggregate by [] compute [MAX(tier) AS value, COUNT(*) AS count]
      Scan cust [tier]

-- title: a subquery in HAVING is above the groups
SELECT cust, SUM(qty) AS s FROM orders o GROUP BY cust HAVING SUM(qty) > (SELECT MAX(c.tier) FROM cust c WHERE c.id = o.cust)
---- tree
Project [cust, s]
  Join cust = id AND s > max_c_tier
    Aggregate by [cust] compute [SUM(qty) AS s]
      Scan orders [cust, qty]
    Aggregate by [id] compute [MAX(tier) AS max_c_tier]
      Scan cust [id, tier]

-- title: a subquery in an aggregate is below the groups
SELECT region, SUM((SELECT MAX(n) FROM items i WHERE i.oid = o.id)) AS s FROM orders o GROUP BY region
---- tree
Project [region, s]
  Aggregate by [region] compute [SUM(max_n) AS s]
    LeftJoin id = oid
      Scan orders [id, region]
      Aggregate by [oid] compute [MAX(n) AS max_n]
        Scan items [oid, n]

-- title: a subquery about a column that is not grouped
SELECT region, (SELECT MAX(n) FROM items i WHERE i.oid = o.id) AS s FROM orders o GROUP BY region
---- SqlError
column 'id' is neither in GROUP BY nor in an aggregate. Add it to GROUP BY, or use max(id)

-- title: two columns for a value
SELECT id, (SELECT id, tier FROM cust) AS s FROM orders
---- SqlError
a scalar subquery with 2 columns (line 1, column 20)

-- title: IN of two columns
SELECT id FROM orders WHERE cust IN (SELECT id, tier FROM cust)
---- SqlError
IN compares 1 with 2 columns of a subquery (line 1, column 45)

-- title: a name that no query around has
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM cust c WHERE c.id = o.nope)
---- SqlError
column 'o.nope' does not exist (line 1, column 73). There is: id, name, tier

-- title: a subquery about both sides of an outer join
SELECT o.id FROM orders o LEFT JOIN cust c ON EXISTS (SELECT 1 FROM items i WHERE i.oid = o.id AND i.n = c.tier)
---- UnsupportedSqlError
a subquery about both sides in ON of this join cannot be kept incrementally: it would be another one for each pair of rows (line 1, column 44). Compute it for one side in a subquery in FROM
