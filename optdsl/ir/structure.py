"""What stands beyond one objective and rows, as typed records with spans. `needs` says which form would solve it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from optdsl.ir.blocks.table import Choice, Statement
from optdsl.ir.distributions import Distribution
from optdsl.ir.nodes import Axes, Expr, Shape
from optdsl.ir.problem import AnySet, Constraint, DataValue, Objective, SetSpec, Variable
from optdsl.syntax.source import Span


@dataclass(frozen=True, eq=False, kw_only=True)
class Structure:
    """`title` is how messages name it."""

    kind: ClassVar[str]
    title: str
    needs: str
    span: Span | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Objectives(Structure):
    """`minimize [f, g]` (Pareto) or `minimize lex(f, g)`."""

    kind = "objectives"
    sense: str
    expressions: Sequence[Expr]
    lexicographic: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Adversary(Structure):
    """What an opponent chooses to make the objective worst."""

    kind = "adversary"
    variable: Variable


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionVariable(Structure):
    """`var h : real[p] -> real in rkhs(…)`; `argument` is None for a model such as `w in mlp(…)`, applied to what
    fits; `result` is None where it has the argument's shape."""

    kind = "function"
    name: str
    argument: Shape | None
    result: Shape | None
    within: SetSpec | None


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomQuantity(Structure):
    """`random xi : real[d] ~ normal(0, 1)`; `random a : augment = noise(0.1) & shift(1)` is a random `transform` of what it is
    applied to, and has no shape of its own."""

    kind = "random"
    name: str
    shape: Shape
    axes: Axes
    distribution: Distribution
    transform: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Oracle(Structure):
    """A black box: values only. `target` is what `python("module:name")` names."""

    kind = "oracle"
    name: str
    argument: Shape
    result: Shape
    target: str


@dataclass(frozen=True, eq=False, kw_only=True)
class LowerProblem(Structure):
    """`variables` are minimisers of their own problem, given the others; `unroll` is (steps, method) where they are
    iterates instead."""

    kind = "lower"
    variables: Sequence[str]
    objective: Objective | None
    constraints: Sequence[Constraint]
    unroll: tuple[Expr, Choice] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Process(Structure):
    """A block: statements in the order in which they stand, and what its own names stand for. The role of a variable says
    who settles it: play, unknown, context, observation, state, action, round, …; data is named `d.age` for a column."""

    kind = "block"
    block: str
    statements: Sequence[Statement]
    variables: Mapping[str, Variable] = field(default_factory=dict)
    functions: Mapping[str, FunctionVariable] = field(default_factory=dict)
    sets: Mapping[str, AnySet] = field(default_factory=dict)
    data: Mapping[str, DataValue] = field(default_factory=dict)

    def words(self, word: str) -> list[Statement]:
        return [s for s in self.statements if s.word == word]


@dataclass(frozen=True, eq=False, kw_only=True)
class Remark(Structure):
    """A statement beside the objective: `clients c in C`, `forget rows in …`, `analyse …`, `report sharpness`."""

    kind = "remark"
    statement: Statement
