"""Canonical forms that algorithms take, one file each."""
