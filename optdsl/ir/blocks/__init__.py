"""Kinds of block (`bandit`, `online`, `game`, `estimate`): their vocabularies as tables, one file a kind."""
