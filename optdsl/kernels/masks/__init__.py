"""Transposable N:M masks, one block at a time: layout, exact solution, transport sweeps, rounding.

The modules that are compiled by numba (`exact`, `flow`, `rounding`, `transport`) are imported when a mask is solved.
"""
