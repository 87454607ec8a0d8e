"""The command line of optdsl: one file a command, all of it a thin skin over the public interface."""

from __future__ import annotations

from .entry import main

__all__ = ["main"]
