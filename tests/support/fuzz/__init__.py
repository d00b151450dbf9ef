"""A fuzzer: random queries over random tables, kept through random histories and compared with their recomputation.

`python -m tests.support.fuzz --cases 2000 --processes 2` runs many cases and says what they contained.
"""
