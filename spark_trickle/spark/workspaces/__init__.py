"""Private versions of the lake, and of the tables of other catalogs, that are worked in."""
