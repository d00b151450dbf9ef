"""Refreshing: carries out programs over a workspace, looks rows up, and writes."""
