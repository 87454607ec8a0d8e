"""Which backends accept which form of a problem, ranked, with reasons."""
