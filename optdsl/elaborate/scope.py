"""What names stand for while a file is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.ir import build
from optdsl.ir.nodes import Expr, Symbol
from optdsl.ir.problem import AnySet, DataValue, LabelSet, Problem, Variable
from optdsl.ir.structure import FunctionVariable, Oracle
from optdsl.lower.evaluate import Evaluator
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import variable_condition
from optdsl.syntax.source import Span


class Broken(Exception):
    """A name whose declaration was already reported as wrong: what uses it is not reported again."""


@dataclass(frozen=True)
class Definition:
    """A `def`: expanded where it is called."""

    params: tuple[str, ...]
    body: ast.Expr
    span: Span


@dataclass
class Scope:
    """Values by name. `lets` are shared nodes; `spans` remember where each name was declared."""

    sets: dict[str, AnySet] = field(default_factory=dict)
    data: dict[str, DataValue] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    lets: dict[str, Expr] = field(default_factory=dict)
    definitions: dict[str, Definition] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    size_spans: dict[str, Span | None] = field(default_factory=dict)
    open_sets: dict[str, Span] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    functions: dict[str, FunctionVariable | Oracle] = field(default_factory=dict)
    symbols: dict[str, Symbol] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    mentioned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.evaluator = Evaluator(Problem("", self.sets, self.data, self.variables, None, []))

    def known(self) -> Iterable[str]:
        named = (
            self.sets,
            self.data,
            self.variables,
            self.lets,
            self.definitions,
            self.sizes,
            self.functions,
            self.symbols,
        )
        return [name for group in named for name in group]

    def value_node(self, name: str, span: Span) -> Expr | None:
        """The node of a data value, variable, `let` or size; None where the name is none of these."""
        if name in self.broken:
            raise Broken(name)
        self.mentioned.add(name)
        if name in self.lets:
            return self.lets[name]
        if name in self.data:
            d = self.data[name]
            return build.data(name, d.values.shape, d.axes, d.kind, span)
        if name in self.variables:
            v = self.variables[name]
            return build.var(name, v.shape, v.axes, v.kind, span)
        if name in self.symbols:
            return replace(self.symbols[name], span=span)
        if name in self.sizes:
            return build.const(self.sizes[name], span)
        return None

    def static(self, e: Expr) -> Any:
        """The value of an expression that must be known now: a Python scalar, or an array."""
        if e.variables:
            assert e.span is not None
            raise OptError(variable_condition(e.span, e.variables))
        value = self.evaluator(e)
        if sp.issparse(value):
            return value
        array = np.asarray(value)
        return array.item() if array.ndim == 0 else array

    def set_of_label(self, label: str) -> list[LabelSet]:
        return [s for s in self.sets.values() if isinstance(s, LabelSet) and label in s.position]
