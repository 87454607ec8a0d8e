"""What stands beyond one objective and rows, as typed records with spans. `needs` says which form would solve it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from optdsl.ir.blocks.table import Statement
from optdsl.ir.nodes import Axes, Expr, Shape
from optdsl.ir.problem import Constraint, Objective, SetSpec, Variable
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
    """`var h : real[p] -> real in rkhs(…)`, or an array-valued model such as `w in mlp(…)`."""

    kind = "function"
    name: str
    argument: Shape | None
    result: Shape
    within: SetSpec | None


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomQuantity(Structure):
    """`random xi : real[d] ~ normal(0, 1)`: the distribution's name with its arguments as trees."""

    kind = "random"
    name: str
    shape: Shape
    axes: Axes
    distribution: str
    arguments: Sequence[Any] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


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
    iterates instead. Rows and objective are nodes; what they use of function-valued variables stays in `tree`."""

    kind = "lower"
    variables: Sequence[str]
    objective: Objective | None
    constraints: Sequence[Constraint]
    unroll: tuple[Any, Any] | None = None
    tree: Any = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Process(Structure):
    """A block: statements in the order in which they stand."""

    kind = "block"
    block: str
    statements: Sequence[Statement]

    def words(self, word: str) -> list[Statement]:
        return [s for s in self.statements if s.word == word]


@dataclass(frozen=True, eq=False, kw_only=True)
class Remark(Structure):
    """A statement beside the objective: `clients c in C`, `forget rows in …`, `analyse …`, `report sharpness`."""

    kind = "remark"
    statement: Statement
