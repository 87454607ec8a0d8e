"""Nonlinear programs."""
