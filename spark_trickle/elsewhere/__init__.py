"""Tables of other catalogs than the lake: which catalogs there are, and where their tables are. No Spark."""
