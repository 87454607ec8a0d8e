"""optdsl: a declarative optimisation language whose answers are checked.

import optdsl
report = optdsl.load("problem.opt").solve()
report["x"], report.verdict
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["OptError", "Problem", "Report", "load", "parse", "solve_form", "verify"]

_HOMES = {
    "OptError": "optdsl.syntax.diagnostics",
    "Problem": "optdsl.api",
    "Report": "optdsl.report.model",
    "load": "optdsl.api",
    "parse": "optdsl.api",
    "solve_form": "optdsl.direct",
    "verify": "optdsl.report.verify",
}


def __getattr__(name: str) -> Any:
    """The public names, imported when first used."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'optdsl' has no attribute {name!r}")
