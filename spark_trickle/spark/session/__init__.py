"""How Spark is reached: sessions and what they need, what goes with a thread, and Spark's errors as ours."""
