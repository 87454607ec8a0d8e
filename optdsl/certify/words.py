"""A contradiction as arithmetic that a reader can check, in the names of the problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from optdsl.certify.record import Contradiction

#: Terms shown; the rest are counted.
SHOWN = 14


def contradiction_words(form: Any, found: Contradiction) -> str:
    """`2 × orders [chair] + labour + (upper bound of x) gives 0 ≥ 60`, weights scaled to whole numbers where they are."""
    if getattr(form, "name_row", None) is None or form.name_column is None:
        return ""
    weights = np.concatenate([found.rows, found.bounds])
    used = np.flatnonzero(np.abs(weights) > 1e-9)
    if not len(used):
        return ""
    scale = _scale(np.abs(weights[used]))
    m = len(found.rows)
    terms = []
    for k in used[:SHOWN]:
        if k < m:
            name = form.name_row(int(k))
        else:
            side = "lower" if weights[k] > 0 else "upper"
            name = f"({side} bound of {form.name_column(int(k) - m)})"
        w = abs(weights[k]) * scale
        terms.append(name if abs(w - 1) < 1e-9 else f"{w:.6g} × {name}")
    if len(used) > SHOWN:
        terms.append(f"{len(used) - SHOWN} more")
    return f"together {' + '.join(terms)} gives 0 ≥ {found.value * scale:.6g}"


def _scale(sizes: Any) -> float:
    """The factor that makes all weights whole numbers, if a small one does; else the one that makes the least of them 1."""
    least = 1.0 / float(sizes.min())
    for k in range(1, 13):
        scaled = sizes * least * k
        if np.allclose(scaled, np.round(scaled), rtol=1e-9, atol=1e-7):
            return least * k
    return least
