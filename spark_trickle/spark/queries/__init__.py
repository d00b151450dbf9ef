"""What a text is, as Spark sees it: whether it is a query, what it reads, means and may change by itself."""
