-- title: except
SELECT id FROM orders EXCEPT SELECT id FROM cust
---- tree
Project [id_3 AS id]
  Filter in_left > 0 AND in_right = 0
    Aggregate by [id_3] compute [SUM(of_left_3) AS in_left, SUM(of_right_3) AS in_right]
      UnionAll [id_3, of_left_3, of_right_3]
        Project [id, 1 AS of_left, 0 AS of_right]
          Scan orders [id]
        Project [id_2, 0 AS of_left_2, 1 AS of_right_2]
          Scan cust [id AS id_2]

-- title: except all
SELECT id FROM orders EXCEPT ALL SELECT id FROM cust
---- tree
Project [id_3 AS id]
  Generate EXPLODE(SEQUENCE(CAST(1 AS BIGINT), CAST(in_left - in_right AS BIGINT))) AS [nth]
    Filter in_left > in_right
      Aggregate by [id_3] compute [SUM(of_left_3) AS in_left, SUM(of_right_3) AS in_right]
        UnionAll [id_3, of_left_3, of_right_3]
          Project [id, 1 AS of_left, 0 AS of_right]
            Scan orders [id]
          Project [id_2, 0 AS of_left_2, 1 AS of_right_2]
            Scan cust [id AS id_2]

-- title: intersect
SELECT cust, region FROM orders INTERSECT SELECT id, name FROM cust
---- tree
Project [cust_2 AS cust, region_2 AS region]
  Filter in_left > 0 AND in_right > 0
    Aggregate by [cust_2, region_2] compute [SUM(of_left_3) AS in_left, SUM(of_right_3) AS in_right]
      UnionAll [cust_2, region_2, of_left_3, of_right_3]
        Project [cust, region, 1 AS of_left, 0 AS of_right]
          Scan orders [cust, region]
        Project [id_2, name, 0 AS of_left_2, 1 AS of_right_2]
          Scan cust [id AS id_2, name]

-- title: intersect binds tighter
SELECT id FROM orders UNION ALL SELECT id FROM cust INTERSECT ALL SELECT qty FROM orders
---- tree
UnionAll [id]
  Project [id]
    Scan orders [id]
  Project [id_4 AS id]
    Generate EXPLODE(SEQUENCE(CAST(1 AS BIGINT), CAST(LEAST(in_left, in_right) AS BIGINT))) AS [nth]
      Filter in_left > 0 AND in_right > 0
        Aggregate by [id_4] compute [SUM(of_left_3) AS in_left, SUM(of_right_3) AS in_right]
          UnionAll [id_4, of_left_3, of_right_3]
            Project [id_2, 1 AS of_left, 0 AS of_right]
              Scan cust [id AS id_2]
            Project [qty_2, 0 AS of_left_2, 1 AS of_right_2]
              Scan orders [qty AS qty_2]

-- title: different numbers of columns
SELECT id, qty FROM orders EXCEPT SELECT id FROM cust
---- SqlError
EXCEPT of 2 and 1 columns (line 1, column 42)
