"""Our metadata: stream tables, history, and Iceberg's own pointers, in one database. No Spark here."""
