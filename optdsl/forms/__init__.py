"""Canonical forms that algorithms take, one file each.

The records can be named from here (`optdsl.forms.SmoothUnconstrained`); each is imported when first used.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "LinearProgram": "linear",
    "QuadraticProgram": "linear",
    "MixedInteger": "linear",
    "Conic": "conic",
    "Nonlinear": "nonlinear",
    "SmoothUnconstrained": "smooth",
    "SmoothOnManifold": "manifold",
    "CompositeOnManifold": "manifold",
    "Mask": "mask",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"optdsl.forms.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'optdsl.forms' has no attribute {name!r}")
