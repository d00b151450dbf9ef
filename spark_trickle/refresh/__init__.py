"""How stream tables are refreshed: pin, compute, stage, publish. Sees ports only."""
