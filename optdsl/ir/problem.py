"""The problem as a record: sets, data, variables, objective, rows, and what was asked of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optdsl.ir.nodes import Axes, Expr, Scope, Shape
from optdsl.syntax.source import Span

if TYPE_CHECKING:
    from optdsl.ir.structure import Structure


@dataclass(frozen=True, eq=False)
class LabelSet:
    """An ordered set of labels (strings)."""

    name: str
    labels: tuple[str, ...]
    span: Span | None = None

    @property
    def size(self) -> int:
        return len(self.labels)

    @cached_property
    def position(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels)}


@dataclass(frozen=True, eq=False)
class IntSet:
    """Whole numbers low … low + size − 1; a member's position is its value minus low."""

    name: str
    low: int
    size: int
    span: Span | None = None

    @property
    def labels(self) -> tuple[int, ...]:
        return tuple(range(self.low, self.low + self.size))


@dataclass(frozen=True, eq=False)
class TupleSet:
    """A sparse set of tuples; with one parent, a subset of it.

    `columns[c]` holds positions into the parent set `parents[c]`, shape (size,).
    """

    name: str
    parents: tuple[str, ...]
    columns: tuple[NDArray[np.int64], ...]
    parent_sizes: tuple[int, ...]
    span: Span | None = None

    @property
    def size(self) -> int:
        return len(self.columns[0])

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        keys = np.ravel_multi_index(self.columns, self.parent_sizes)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def find(self, columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Positions of tuples of parent positions, −1 where a tuple is not in the set."""
        keys, order = self._sorted
        if not len(keys):
            return np.full(np.broadcast_shapes(*(np.shape(c) for c in columns)), -1, dtype=np.int64)
        wanted = np.ravel_multi_index(tuple(columns), self.parent_sizes)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, order[at], -1)


AnySet = LabelSet | IntSet | TupleSet


@dataclass(frozen=True, eq=False)
class DataValue:
    """A bound value: an array (or SciPy sparse matrix), where it came from, and whether a run may vary it."""

    name: str
    values: Any
    axes: Axes
    kind: str
    source: str
    sha256: str
    path: str | None = None
    is_param: bool = False
    span: Span | None = None
    doc: str = ""


@dataclass(frozen=True, eq=False)
class SetSpec:
    """What stands after `in`: a kind of `ir.sets` with its arguments (constants), or an intersection of members."""

    kind: str
    params: Mapping[str, Any] = field(default_factory=dict)
    members: Sequence[SetSpec] = ()
    span: Span | None = None

    def __str__(self) -> str:
        if self.kind == "&":
            return " & ".join(str(m) for m in self.members)
        shown = ", ".join(f"{k}={v}" for k, v in self.params.items() if np.ndim(v) == 0)
        return f"{self.kind}({shown})" if shown else self.kind


@dataclass(frozen=True, eq=False)
class Variable:
    """`lower` and `upper` are constant expressions (scalar or of the variable's shape)."""

    name: str
    shape: Shape
    axes: Axes
    kind: str
    within: SetSpec | None = None
    lower: Expr | None = None
    upper: Expr | None = None
    start: Expr | None = None
    role: str = "var"
    doc: str = ""
    span: Span | None = None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))


@dataclass(frozen=True, eq=False)
class Constraint:
    """`left relation right`, entry by entry (`>>` and `<<`: semidefinite order), for every row of `scope`.

    `when` makes it an indicator: it must hold where `when` is 1. `complements` is (relation, left, right) of the partner.
    `key` is unique; `name` is the user's label.
    """

    key: str
    name: str | None
    relation: str
    left: Expr
    right: Expr
    scope: Scope | None = None
    when: Expr | None = None
    complements: tuple[str, Expr, Expr] | None = None
    origin: str = "row"
    span: Span | None = None

    @property
    def label(self) -> str:
        return self.name or self.key


@dataclass(frozen=True, eq=False)
class Objective:
    sense: str
    expr: Expr
    span: Span | None = None

    @property
    def maximise(self) -> bool:
        return self.sense == "maximize"


@dataclass(frozen=True, eq=False)
class GoalSpec:
    """`measure` is gap, relative_gap, stationary or feasible; `value` its tolerance."""

    measure: str
    value: float | None
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class Stage:
    """One backend asked for by `solve with`."""

    backend: str
    options: Mapping[str, Any] = field(default_factory=dict)
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """`missing` are data, params and sets without a value; `mentioned` the names of values that the file uses anywhere."""

    title: str
    sets: dict[str, AnySet]
    data: dict[str, DataValue]
    variables: dict[str, Variable]
    objective: Objective | None
    constraints: list[Constraint]
    features: list[Structure] = field(default_factory=list)
    goal: GoalSpec | None = None
    budget: dict[str, float] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    size_names: dict[str, int] = field(default_factory=dict)
    lets: dict[str, Expr] = field(default_factory=dict)
    mentioned: frozenset[str] = frozenset()

    def labels(self, axes: Axes, shape: Shape) -> list[list[Any] | None]:
        """The labels along each axis, None where there are none."""
        out: list[list[Any] | None] = []
        for axis in axes:
            s = self.sets.get(axis) if axis is not None else None
            if isinstance(s, LabelSet | IntSet):
                out.append(list(s.labels))
            elif isinstance(s, TupleSet):
                out.append([self.member(s, k) for k in range(s.size)])
            else:
                out.append(None)
        return out

    def member(self, of: str | AnySet, position: int) -> Any:
        """A label, a whole number, or a tuple of them."""
        s = self.sets[of] if isinstance(of, str) else of
        if isinstance(s, LabelSet):
            return s.labels[int(position)]
        if isinstance(s, IntSet):
            return s.low + int(position)
        parts = tuple(self.member(p, int(c[position])) for p, c in zip(s.parents, s.columns, strict=True))
        return parts[0] if len(parts) == 1 else parts
