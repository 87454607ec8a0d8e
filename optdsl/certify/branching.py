"""Proofs for programs with whole numbers: branch and bound whose every leaf is closed by a checked multiplier.

A node is a box. Its relaxation is solved by HiGHS, whose row multipliers are only a hint: the node's bound is that of
`duality`, an empty node is closed by a Farkas combination that is checked here, whole-number costs round the bound up,
and reduced costs shrink the box where the rest of it cannot beat the answer (Dantzig, Fulkerson & Johnson 1954). The
answer's objective is the value to beat: a node that cannot beat it by more than the gap allowed is closed. The search
ends with a lower bound over all open and closed nodes, with a better point, or with every node empty.
"""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optdsl.certify.duality import contradiction, dual_bound, gradient_size, reach
from optdsl.certify.polyhedron import Minimum, Polyhedron
from optdsl.certify.record import Proof, Tolerances
from optdsl.forms.linear import LinearProgram, MixedInteger, QuadraticProgram
from optdsl.kernels.highs_model import load

if TYPE_CHECKING:
    from highspy._core import _Highs

Vector = NDArray[np.float64]

#: A point found here counts as feasible to this scaled violation, tighter than what answers are held to.
EXACT = 1e-9
#: A relaxation's value this near to a whole number is whole.
WHOLE = 1e-7


@dataclass(frozen=True)
class Effort:
    """Limits of one proof."""

    nodes: int
    seconds: float


#: For an answer that claims optimality or infeasibility, and for one that claims neither.
FULL, BRIEF = Effort(100_000, 60.0), Effort(2_000, 5.0)


@dataclass(frozen=True)
class Change:
    """Bounds (lower, upper) of the variables `columns`, on top of the parent's."""

    columns: NDArray[np.intp]
    lower: Vector
    upper: Vector
    parent: Change | None = None


@dataclass(frozen=True)
class Relaxed:
    """What a node's relaxation gave: a proven bound (inf when the node is proven empty) and the point behind it."""

    bound: float
    x: Vector | None = None
    y: Vector | None = None
    minimum: Minimum | None = None


class Relaxation:
    """The continuous relaxation with moving bounds, solved warm."""

    def __init__(self, form: MixedInteger, feasible: Polyhedron, deadline: float) -> None:
        constraints = form.constraints | {"lower": feasible.l, "upper": feasible.u}
        self.continuous = LinearProgram(c=form.c, c0=form.c0, **constraints)
        if form.P is not None and form.P.nnz:
            self.continuous = QuadraticProgram(c=form.c, c0=form.c0, **constraints, P=form.P, convex=True)
        self.feasible, self.deadline = feasible, deadline
        self.lower, self.upper = feasible.l.copy(), feasible.u.copy()
        self.models = [self._model(self.continuous)]
        if isinstance(self.continuous, QuadraticProgram):
            self.models.append(self._model(LinearProgram(c=np.zeros_like(form.c), **constraints)))
        self.step = self._step(form)

    @staticmethod
    def _model(program: LinearProgram) -> _Highs:
        h = load(program)
        linear = not isinstance(program, QuadraticProgram)
        if linear:
            h.setOptionValue("presolve", "off")
            h.setOptionValue("solver", "simplex")
        h.setOptionValue("threads", 1)
        h.setOptionValue("primal_feasibility_tolerance", 1e-9)
        return h

    @staticmethod
    def _step(form: MixedInteger) -> int:
        """The step of whole-number objective values; 0 where they may be any."""
        costs = form.c[form.integer]
        whole = np.all(costs == np.round(costs)) and np.abs(costs).max(initial=0.0) < 2**40
        if (form.P is not None and form.P.nnz) or np.any(form.c[~form.integer]) or not whole:
            return 0
        return int(np.gcd.reduce(costs.astype(np.int64))) if costs.size else 0

    def at(self, lower: Vector, upper: Vector) -> Relaxed:
        if np.any(lower > upper):
            return Relaxed(np.inf)
        moved = np.flatnonzero((lower != self.lower) | (upper != self.upper))
        self.lower, self.upper = lower, upper
        if moved.size:
            for h in self.models:
                h.changeColsBounds(moved.size, moved.astype(np.int32), lower[moved], upper[moved])
        node = self.feasible.with_box(lower, upper)
        status = self._run(self.models[0])
        if status == "kInfeasible":
            if len(self.models) > 1:
                self._run(self.models[1])
            model: Any = self.models[-1]
            _, has, ray = model.getDualRay()
            y = np.array(ray) if has else np.zeros(0)
            empty = has and any(contradiction(node, sign * y) is not None for sign in (1, -1))
            return Relaxed(np.inf if empty else -np.inf)
        solution = self.models[0].getSolution()
        if status != "kOptimal" or not solution.dual_valid:
            return Relaxed(-np.inf)
        x, y = np.array(solution.col_value), np.array(solution.row_dual)
        found = dual_bound(self.continuous, node, y, x, reach(x))
        return Relaxed(self.rounded(found.value), x, y, found.minimum)

    def _run(self, h: _Highs) -> str:
        h.setOptionValue("time_limit", h.getRunTime() + max(0.01, self.deadline - time.perf_counter()))
        h.run()
        return str(h.getModelStatus().name)

    def rounded(self, bound: float) -> float:
        """The least objective value on the grid of whole-number costs that is not below the bound."""
        if not self.step or not math.isfinite(bound):
            return bound
        c0 = self.continuous.c0
        steps = math.ceil((bound - c0) / self.step - 1e-9)
        return max(bound, steps * self.step + c0)


class PseudoCosts:
    """Average growth of the bound per unit of branching, by variable and direction (Bénichou et al. 1971)."""

    def __init__(self, n: int) -> None:
        self.sum = np.zeros((2, n))
        self.count = np.zeros((2, n))

    def learn(self, column: int, up: int, distance: float, growth: float) -> None:
        if math.isfinite(growth) and distance > 0:
            self.sum[up, column] += max(growth, 0.0) / distance
            self.count[up, column] += 1

    def choose(self, x: Vector, columns: NDArray[np.intp]) -> int:
        down = x[columns] - np.floor(x[columns])
        seen = self.count[:, columns]
        total, times = self.sum.sum(axis=1, keepdims=True), self.count.sum(axis=1, keepdims=True)
        usual = np.where(times > 0, total / np.maximum(times, 1), 1.0)
        unit = np.where(seen > 0, self.sum[:, columns] / np.maximum(seen, 1), usual)
        score = np.maximum(unit[0] * down, 1e-9) * np.maximum(unit[1] * (1 - down), 1e-9)
        return int(columns[np.argmax(score)])


@dataclass
class Outcome:
    """`bound` is proven; `better` the objective of a feasible point below the answer's; `nodes` those solved."""

    bound: float
    nodes: int = 0
    better: float | None = None
    fragile: int = 0
    reach: float | None = None
    finished: bool = True

    def depend(self, minimum: Minimum | None) -> None:
        """The whole proof reaches as far as its shortest part."""
        if minimum is not None and minimum.reach is not None:
            self.fragile = max(self.fragile, minimum.fragile)
            self.reach = minimum.reach if self.reach is None else min(self.reach, minimum.reach)

    @property
    def note(self) -> str:
        return Minimum(self.bound, self.fragile, self.reach).note


def search(form: MixedInteger, feasible: Polyhedron, incumbent: float, gap: float, effort: Effort) -> Outcome:
    """Branch and bound against `incumbent` (inf when there is none); `gap` is the absolute gap allowed."""
    deadline = time.perf_counter() + effort.seconds
    whole = form.integer
    lower = np.where(whole, np.ceil(feasible.l - 1e-9), feasible.l)
    upper = np.where(whole, np.floor(feasible.u + 1e-9), feasible.u)
    relaxation = Relaxation(form, replace(feasible, l=lower, u=upper), deadline)
    cutoff = incumbent - gap
    costs, order, outcome = PseudoCosts(form.c.size), count(), Outcome(np.inf)
    closed = np.inf
    heap: list[tuple[float, int, Change | None, tuple[int, int, float] | None]] = [(-np.inf, next(order), None, None)]
    while heap:
        parent_bound = heap[0][0]
        if outcome.nodes >= effort.nodes or time.perf_counter() > deadline:
            outcome.finished = False
            break
        parent_bound, _, change, origin = heapq.heappop(heap)
        low, high = _box(lower, upper, change)
        found = relaxation.at(low, high)
        outcome.nodes += 1
        bound = max(found.bound, parent_bound)
        outcome.depend(found.minimum)
        if origin is not None:
            costs.learn(*origin, found.bound - parent_bound)
        if bound >= cutoff:
            closed = min(closed, bound)
            continue
        better = _candidate(form, feasible, found.x)
        if better is not None and better < cutoff:
            outcome.better, outcome.finished = better, False
            heapq.heappush(heap, (bound, next(order), change, None))
            break
        free = np.flatnonzero(whole & (low < high))
        if not free.size:
            closed = min(closed, bound)
            continue
        fixed = _shrink(relaxation, found, low, high, cutoff, bound, whole, change)
        if fixed is not change:
            closed = min(closed, cutoff)
        for side in _children(found.x, free, low, high, costs, fixed):
            heapq.heappush(heap, (bound, next(order), *side))
    outcome.bound = relaxation.rounded(min(closed, min((entry[0] for entry in heap), default=np.inf)))
    return outcome


def _box(lower: Vector, upper: Vector, change: Change | None) -> tuple[Vector, Vector]:
    low, high = lower.copy(), upper.copy()
    while change is not None:
        low[change.columns] = np.maximum(low[change.columns], change.lower)
        high[change.columns] = np.minimum(high[change.columns], change.upper)
        change = change.parent
    return low, high


def _candidate(form: MixedInteger, feasible: Polyhedron, x: Vector | None) -> float | None:
    """The objective of the relaxation's point where its whole numbers are whole and it is feasible as rounded."""
    if x is None or np.abs(x - np.round(x))[form.integer].max(initial=0.0) > WHOLE:
        return None
    z = np.where(form.integer, np.round(x), x)
    return form.objective(z) if max(feasible.violation(z)) <= EXACT else None


def _shrink(
    relaxation: Relaxation,
    found: Relaxed,
    low: Vector,
    high: Vector,
    cutoff: float,
    bound: float,
    whole: NDArray[np.bool_],
    change: Change | None,
) -> Change | None:
    """The node's box without whole numbers whose reduced cost alone lifts the bound over the cutoff."""
    if found.y is None or found.x is None or not math.isfinite(cutoff) or not math.isfinite(bound):
        return change
    form, feasible = relaxation.continuous, relaxation.feasible
    y = feasible.sides(found.y)
    r, scale = feasible.reduced(form.gradient(found.x), y, gradient_size(form, found.x))
    proven = dual_bound(form, feasible.with_box(low, high), y, found.x, reach(found.x)).value
    if not math.isfinite(proven):
        return change
    far = np.abs(r) > 1e-9 * scale
    room = np.where(far, (cutoff - proven) / np.where(far, np.abs(r), 1.0), np.inf)
    room = np.floor(np.minimum(room, 1e15) + 1e-6)
    shorter = whole & far & (high - low > room)
    up, down = shorter & (r > 0) & np.isfinite(low), shorter & (r < 0) & np.isfinite(high)
    columns = np.flatnonzero(up | down)
    if not columns.size:
        return change
    new_low = np.where(down, high - room, low)[columns]
    new_high = np.where(up, low + room, high)[columns]
    return Change(columns, new_low, new_high, change)


def _children(
    x: Vector | None,
    free: NDArray[np.intp],
    low: Vector,
    high: Vector,
    costs: PseudoCosts,
    change: Change | None,
) -> list[tuple[Change, tuple[int, int, float] | None]]:
    """Two boxes that cut off the relaxation's point, or that halve a range where there is no fractional one."""
    if x is not None:
        off = np.abs(x - np.round(x))
        fractional = free[off[free] > WHOLE]
        if fractional.size:
            column = costs.choose(x, fractional)
            at, down = math.floor(x[column]), float(x[column] - math.floor(x[column]))
            return _split(column, at, low, high, change, (down, 1 - down))
        column = int(free[np.argmax(off[free])])
        value = float(np.round(x[column]))
        return _split(column, value if value < high[column] else value - 1, low, high, change, None)
    column = int(free[0])
    ends = low[column], high[column]
    if math.isinf(ends[0]) or math.isinf(ends[1]):
        at = (
            0.0 if math.isinf(ends[0]) and math.isinf(ends[1]) else (ends[0] if math.isfinite(ends[0]) else ends[1] - 1)
        )
        return _split(column, at, low, high, change, None)
    return _split(column, math.floor((ends[0] + ends[1]) / 2), low, high, change, None)


def _split(
    column: int, at: float, low: Vector, high: Vector, change: Change | None, distance: tuple[float, float] | None
) -> list[tuple[Change, tuple[int, int, float] | None]]:
    columns = np.array([column])
    boxes = [(low[column], at), (at + 1, high[column])]
    return [
        (
            Change(columns, np.array([start], float), np.array([end], float), change),
            None if distance is None else (column, up, distance[up]),
        )
        for up, (start, end) in enumerate(boxes)
    ]


def extend(proof: Proof, form: MixedInteger, feasible: Polyhedron, tol: Tolerances, effort: Effort = FULL) -> None:
    """Adds to `proof` what branching finds. Where the point does not hold, only emptiness is sought."""
    holds = proof.objective is not None and math.isfinite(proof.objective) and proof.violation <= tol.feasibility
    incumbent = proof.objective if holds and proof.objective is not None else np.inf
    gap = 0.5 * tol.gap * max(1.0, abs(incumbent)) if holds else 0.0
    found = search(form, feasible, incumbent, gap, effort)
    if found.note:
        proof.notes.append(found.note)
    proof.better = found.better
    words = f"branching over {found.nodes} nodes, each closed by multipliers that were checked"
    if math.isfinite(found.bound):
        proof.bound = found.bound
        proof.reason = words if found.finished else ""
    elif found.finished and found.bound == np.inf:
        if holds:
            proof.notes.append("no point satisfies the constraints exactly; the answer does to the tolerance")
        else:
            proof.infeasible, proof.reason = True, f"{words}, leaves no feasible point"
    if not found.finished and found.better is None:
        proof.notes.append(f"branching stopped after {found.nodes} nodes with parts of the problem open")
