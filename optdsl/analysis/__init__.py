"""Facts about a problem, each a function of the problem alone, with its reason."""
