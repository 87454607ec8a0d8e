"""The facts of a problem as they are shown: (name, value, reasons)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optdsl.analysis.curvature import Analysis
from optdsl.ir.problem import Problem
from optdsl.ir.sets.table import members, set_kinds
from optdsl.rewrite.sets import integral

Fact = tuple[str, Any, Sequence[str]]


def problem_facts(problem: Problem) -> list[Fact]:
    """Sizes, kinds of variables and sets, curvature and smoothness of the objective and of the rows."""
    out: list[Fact] = [("variables", int(sum(v.size for v in problem.variables.values())), _shapes(problem))]
    whole = [v.name for v in problem.variables.values() if integral(v)]
    if whole:
        out.append(("whole numbers", ", ".join(whole), []))
    sets = [(v.name, p) for v in problem.variables.values() for p in members(v.within)]
    for name, part in sets:
        out.append((f"set of {name}", set_kinds()[part.kind].group, [f"{part}: {set_kinds()[part.kind].doc}"]))
    analysis = Analysis(problem)
    objective = analysis.objective()
    if objective is not None and problem.objective is not None:
        out.append(("sense", problem.objective.sense, []))
        out.append(
            ("objective curvature", objective.curvature, [line for line in objective.chain() if line.strip()][:12])
        )
        out.append(("objective smooth", objective.smooth, []))
    rows = [(c, analysis.convex_row(c)) for c in problem.constraints]
    if rows:
        bad = [f"{c.label}: {f.why}" for c, f in rows if not f.convex]
        counted = int(
            sum(
                np.prod(c.left.shape or c.right.shape, dtype=int) * analysis.constants.open(c.scope).size
                for c, _ in rows
            )
        )
        out.append(("rows", counted, [c.label for c, _ in rows][:12]))
        out.append(("rows convex", not bad, bad))
    return out


def _shapes(problem: Problem) -> list[str]:
    return [
        f"{v.name} : {v.kind}"
        + (f"[{', '.join(a or str(s) for a, s in zip(v.axes, v.shape, strict=True))}]" if v.shape else "")
        for v in problem.variables.values()
    ]
