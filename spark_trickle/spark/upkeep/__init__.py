"""Maintenance of our own tables, and whether their files can be worked with."""
