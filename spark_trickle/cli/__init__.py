"""The command line: `trickle`. Each command gets the engine, calls it, and hands the value to `output`."""
