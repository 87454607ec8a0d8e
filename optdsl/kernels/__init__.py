"""Numerical building blocks that several backends share and no library has."""
