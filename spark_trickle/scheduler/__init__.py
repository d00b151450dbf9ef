"""WHEN: what is due, what is held and why, units in order on a bounded pool, one scheduler at a time."""
