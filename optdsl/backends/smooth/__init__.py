"""Smooth unconstrained minimisation."""
