"""TPC-H as stream tables: `python -m bench.tpch --scale 1` measures all 22 queries against recomputing them."""
