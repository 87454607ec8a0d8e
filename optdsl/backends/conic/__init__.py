"""Disciplined convex programs by established cone solvers."""
