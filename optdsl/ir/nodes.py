"""Expression nodes: what an expression means, with shape, axes and kind; values of data stand apart in the problem.

A node is immutable and may be shared (a `let` is one node used twice); evaluations are remembered by identity.
`axes` names the set of labels along each axis, or None; `variables` are the decision variables inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.syntax.source import Span

Shape = tuple[int, ...]
Axes = tuple[str | None, ...]

#: Operators that are not functions of the table: arithmetic, comparison, logic.
ARITHMETIC = ("add", "sub", "mul", "div", "mod", "neg", "matmul")
COMPARISON = ("eq", "ne", "le", "ge", "lt", "gt")
LOGIC = ("and", "or", "not")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Expr:
    """`kind` is real, int, bool, complex, or `label:S` for a member of the label set S."""

    shape: Shape = ()
    axes: Axes = ()
    kind: str = "real"
    span: Span | None = None
    variables: frozenset[str] = frozenset()
    indices: frozenset[Index] = frozenset()

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    @property
    def children(self) -> Sequence[Expr]:
        return ()

    @property
    def constant(self) -> bool:
        return not self.variables

    def __repr__(self) -> str:
        """The node in a few characters, for messages of the developer's kind."""
        label = next(
            (str(getattr(self, a)) for a in ("op", "function", "name", "index", "value") if hasattr(self, a)), ""
        )
        inner = ", ".join(repr(c) for c in self.children)
        return f"{label or type(self).__name__}({inner})" if inner else label


@dataclass(frozen=True, eq=False)
class Index:
    """A name bound by a generator or family. `set` is the label set it runs over, None for whole numbers."""

    name: str
    set: str | None = None

    @property
    def kind(self) -> str:
        return "int" if self.set is None else f"label:{self.set}"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Const(Expr):
    value: NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Data(Expr):
    """A `data` or `param` value, by name."""

    name: str


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Var(Expr):
    name: str


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class IndexValue(Expr):
    """The number that an index stands for, or the position of its label in its set."""

    index: Index


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Op(Expr):
    op: str
    args: tuple[Expr, ...]

    @property
    def children(self) -> Sequence[Expr]:
        return self.args


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Apply(Expr):
    """A function of the table. `axis` is set for a reduction along one axis."""

    function: str
    args: tuple[Expr, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    axis: int | None = None

    @property
    def children(self) -> Sequence[Expr]:
        return self.args


@dataclass(frozen=True)
class Sliced:
    """`low:high` along one axis, both resolved to positions."""

    low: int
    high: int


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Gather(Expr):
    """`base[items]`: one item an axis; a tuple axis takes a tuple of expressions."""

    base: Expr
    items: tuple[Expr | Sliced | tuple[Expr, ...], ...]

    @property
    def children(self) -> Sequence[Expr]:
        inner: list[Expr] = [self.base]
        for item in self.items:
            if isinstance(item, Expr):
                inner.append(item)
            elif isinstance(item, tuple):
                inner.extend(item)
        return inner


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Shifted(Expr):
    """`prev`, `next`, `first`, `last` on a label set: a position moved by `by`, or an end of the set."""

    base: Expr
    by: int

    @property
    def children(self) -> Sequence[Expr]:
        return (self.base,)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Choose(Expr):
    """`then if condition else otherwise`; the condition has no variables."""

    condition: Expr
    then: Expr
    otherwise: Expr

    @property
    def children(self) -> Sequence[Expr]:
        return (self.condition, self.then, self.otherwise)


@dataclass(frozen=True, eq=False)
class RangeDomain:
    """Whole numbers low ≤ k < high; the ends may depend on outer indices and on data."""

    low: Expr
    high: Expr


@dataclass(frozen=True, eq=False)
class SetDomain:
    """All members of a declared set."""

    name: str


Domain = RangeDomain | SetDomain


@dataclass(frozen=True, eq=False)
class Generator:
    indices: tuple[Index, ...]
    domain: Domain
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class Scope:
    """What opens a table: generators in order, then a filter."""

    generators: tuple[Generator, ...]
    condition: Expr | None = None
    span: Span | None = None

    @property
    def indices(self) -> tuple[Index, ...]:
        return tuple(i for g in self.generators for i in g.indices)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Reduce(Expr):
    """A reduction of the table over a generator: `sum(body for i in S if c)`."""

    function: str
    body: Expr
    scope: Scope
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def children(self) -> Sequence[Expr]:
        inner: list[Expr] = [self.body]
        for g in self.scope.generators:
            if isinstance(g.domain, RangeDomain):
                inner += [g.domain.low, g.domain.high]
        if self.scope.condition is not None:
            inner.append(self.scope.condition)
        return inner


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Symbol(Expr):
    """A value that is neither data nor a decision: a random quantity. It counts as a variable: nothing is known of it."""

    name: str
    role: str


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FunctionValue(Expr):
    """A function-valued variable or an oracle at a point: `h(x)`; with `derivative` grad, hess or laplacian of it there;
    without arguments, `derivative` norm: its norm in its own space."""

    function: str
    args: tuple[Expr, ...]
    derivative: str = ""

    @property
    def children(self) -> Sequence[Expr]:
        return self.args


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Expectation(Expr):
    """`expect(e)`: the mean over all random quantities in e."""

    body: Expr

    @property
    def children(self) -> Sequence[Expr]:
        return (self.body,)


def same(a: Expr, b: Expr) -> bool:
    """True where two nodes are written alike, so that they have one value: `x @ x`, `x[i] * x[i]`."""
    if a is b:
        return True
    if type(a) is not type(b) or a.shape != b.shape or len(a.children) != len(b.children):
        return False
    match a:
        case Var() | Data():
            return a.name == b.name  # type: ignore[attr-defined]
        case IndexValue():
            return a.index is b.index  # type: ignore[attr-defined]
        case Const():
            return bool(np.array_equal(a.value, b.value))  # type: ignore[attr-defined]
        case Op():
            alike = a.op == b.op  # type: ignore[attr-defined]
        case Apply():
            alike = (a.function, a.axis, dict(a.params)) == (b.function, b.axis, dict(b.params))  # type: ignore[attr-defined]
        case Shifted():
            alike = a.by == b.by  # type: ignore[attr-defined]
        case Gather():
            alike = all(
                p == q if isinstance(p, Sliced) else type(p) is type(q)
                for p, q in zip(a.items, b.items, strict=True)  # type: ignore[attr-defined]
            )
        case _:
            return False
    return alike and all(same(x, y) for x, y in zip(a.children, b.children, strict=True))
