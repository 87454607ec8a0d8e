"""The typed problem: expressions with shapes, sets, variables, rows, and what was asked of the run."""
