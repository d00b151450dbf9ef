"""The page: what is known of a lake, shown in a browser, as JSON and as metrics; and what can be done about it.

A face like the command line: it shows the same values and decides nothing.
"""
