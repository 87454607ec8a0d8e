"""Backends for minimisation over one manifold."""
