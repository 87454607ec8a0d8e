"""Every mistake that optdsl can report: one typed constructor each, in one file a group of codes.

E1 syntax, E2 names and shapes, E3 data, E4 structure, E5 dispatch, E6 run, W warnings, I internal.
"""

from importlib import import_module
from pkgutil import iter_modules

from optdsl.syntax.diagnostics.record import CATALOGUE, Collector, Diagnostic, Mistake, OptError, mistake

__all__ = ["CATALOGUE", "Collector", "Diagnostic", "Mistake", "OptError", "load_catalogue", "mistake", "page"]


def load_catalogue() -> dict[str, Mistake]:
    """All codes, whichever modules have been imported so far."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return CATALOGUE


def page(code: str) -> Mistake:
    """What a code means. Raises OptError (E611) for a code that no diagnostic has."""
    from optdsl.syntax.diagnostics.run import unknown_code

    known = load_catalogue()
    if code not in known:
        raise OptError(unknown_code(code, known))
    return known[code]
