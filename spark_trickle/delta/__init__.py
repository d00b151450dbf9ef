"""A query to the query that computes its change, and to what keeps its result. Values in, values out."""
