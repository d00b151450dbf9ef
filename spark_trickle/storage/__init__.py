"""Iceberg, as it is on disk: versions, changes between them, pointers. No query is planned here."""
