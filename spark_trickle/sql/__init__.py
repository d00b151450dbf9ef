"""Text to operator tree, and operator tree to text. No Spark, no database: schemas come in as values."""
