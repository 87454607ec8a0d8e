"""One report for all items of a `foreach`: the items' reports as parts, and what they say together."""

from __future__ import annotations

from collections.abc import Sequence

from optdsl.report.model import BackendRecord, Report, Seconds, StopRecord, VerdictRecord, VerdictWord

#: The verdict of several is the one that most needs a look.
WORST_FIRST: tuple[VerdictWord, ...] = (
    "refuted",
    "unproven",
    "infeasible",
    "unbounded",
    "feasible",
    "stationary",
    "optimal",
)


def gather(parts: Sequence[Report], title: str) -> Report:
    """The parts under one head. At least one part; sizes and times are added up."""
    first = parts[0]
    worst = min(parts, key=lambda p: WORST_FIRST.index(p.verdict.kind))
    counts = {kind: sum(p.verdict.kind == kind for p in parts) for kind in WORST_FIRST}
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    cut = next((p.stop for p in parts if p.stop.kind != "converged"), first.stop)
    names = dict.fromkeys(p.backend.name for p in parts)
    sizes = {k: sum(p.problem.sizes.get(k, 0) for p in parts) for k in first.problem.sizes}
    steps = ("compile", "solve", "certify")
    total = {step: sum(getattr(p.seconds, step) for p in parts) for step in steps}
    same = len(names) == 1
    return Report(
        problem=first.problem.model_copy(update={"title": title, "item": None, "sizes": sizes | {"items": len(parts)}}),
        request=first.request.model_copy(deep=True),
        dispatch=first.dispatch.model_copy(update={"chosen": ", ".join(names)}),
        backend=first.backend.model_copy(deep=True) if same else BackendRecord(name=", ".join(names)),
        goal=first.goal,
        tolerances=first.tolerances,
        stop=StopRecord(kind=cut.kind, message=cut.message),
        verdict=VerdictRecord(kind=worst.verdict.kind, reason=f"of {len(parts)} items, {said}"),
        seconds=Seconds(parse=first.seconds.parse, **total),
        seed=first.seed,
        environment=dict(first.environment),
        parts=list(parts),
    )
