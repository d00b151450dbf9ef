"""Gates, as pure functions: whom a set of closed gates holds and by which path, and which gates were forgotten."""
