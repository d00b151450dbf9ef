"""Columns of data files on the local disk, addressed by row: what rows have these keys is answered without a scan.

A cache, and nothing but: it computes no expression, may be deleted at any moment, and is filled by whoever can read
data files. It knows no tables and no Spark. A data file never changes, so nothing in here is ever out of date; which of
its rows are alive is for whoever asks to say.
"""
