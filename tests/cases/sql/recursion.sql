-- title: a recursion
WITH RECURSIVE t(n) AS (SELECT id FROM cust UNION ALL SELECT o.cust FROM t JOIN orders o ON o.id = t.n) SELECT n FROM t
---- tree
Project [n]
  Recursion t [n]
    Project [id]
      Scan cust [id]
    Project [cust]
      Join id_2 = n_2
        Again t [n AS n_2]
        Scan orders [id AS id_2, cust]

-- title: read twice
WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT a.n FROM t a JOIN t b ON a.n = b.n + 1
---- tree
Project [n_2 AS n]
  Join n_2 = n_2_2 + 1
    Recursion t [n_2]
      Project [1 AS n]
        OneRow
      Project [n_3 + 1 AS n_1]
        Filter n_3 < 5
          Again t [n_2 AS n_3]
    Project [n_2 AS n_2_2]
      Recursion t [n_2]
        Project [1 AS n]
          OneRow
        Project [n_3 + 1 AS n_1]
          Filter n_3 < 5
            Again t [n_2 AS n_3]

-- title: the word alone makes no recursion
WITH RECURSIVE t AS (SELECT id FROM cust) SELECT id FROM t
---- tree
Project [id]
  Scan cust [id]

-- title: a recursion of different rows
WITH RECURSIVE t AS (SELECT 1 AS n UNION SELECT n + 1 FROM t WHERE n < 5) SELECT n FROM t
---- UnsupportedSqlError
UNION in WITH RECURSIVE cannot be kept incrementally: only what was found last is remembered, not what was found at all (line 1, column 29). Write UNION ALL, and SELECT DISTINCT where the result is read

-- title: a cut recursion
WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t ORDER BY n LIMIT 5) SELECT n FROM t
---- UnsupportedSqlError
ORDER in WITH RECURSIVE cannot be kept incrementally: it would cut a recursion that has not ended (line 1, column 75). End it with WHERE in the step; order and cut where the result is read

-- title: a base and a step that do not fit
WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1, 2 FROM t WHERE n < 5) SELECT n FROM t
---- SqlError
the base has 1 columns and the step 2 (line 1, column 53)
