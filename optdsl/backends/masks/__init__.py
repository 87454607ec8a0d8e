"""Masks of N:M sparsity patterns."""
