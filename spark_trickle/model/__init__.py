"""The nouns: frozen values and closed choices. No Spark, no database, no clock."""
