"""The adapter that runs SQL: sessions, private workspaces, and the executor of maintenance plans."""
