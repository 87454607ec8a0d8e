"""Expressions to targets. Families are tables: an expression inside one is a vector over the rows."""
