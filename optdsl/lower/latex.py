"""Expressions and problems as LaTeX: what a reader would write on paper, families with their quantifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from optdsl.functions.table import functions
from optdsl.ir.nodes import (
    Apply,
    Choose,
    Const,
    Data,
    Expr,
    Gather,
    IndexValue,
    Op,
    RangeDomain,
    Reduce,
    Scope,
    Shifted,
    Sliced,
    Var,
)
from optdsl.ir.problem import Constraint, Problem, Variable
from optdsl.ir.sets.table import members, set_kinds

#: Binding strength: what stands inside a stronger one needs brackets.
SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4
RELATIONS = {"==": "=", "<=": r"\le", ">=": r"\ge", ">>": r"\succeq", "<<": r"\preceq"}
COMPARISONS = {
    "eq": "=",
    "ne": r"\ne",
    "le": r"\le",
    "ge": r"\ge",
    "lt": "<",
    "gt": ">",
    "and": r"\wedge",
    "or": r"\vee",
}
GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "eta", "theta", "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau",
    "phi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Phi", "Psi", "Omega",
}  # fmt: skip


def name(text: str) -> str:
    """A name: one letter in italics, Greek ones as such, words upright."""
    if len(text) == 1 or not text.isascii():
        return text
    if text in GREEK or text in ("lam",):
        return "\\" + {"lam": "lambda"}.get(text, text)
    return r"\mathrm{" + text.replace("_", r"\_") + "}"


def number(value: Any) -> str:
    x = float(value)
    if np.isinf(x):
        return r"\infty" if x > 0 else r"-\infty"
    shown = f"{x:.6g}"
    if "e" in shown:
        mantissa, exponent = shown.split("e")
        lead = "" if mantissa == "1" else "-" if mantissa == "-1" else rf"{mantissa} \cdot "
        return f"{lead}10^{{{int(exponent)}}}"
    return shown


class Latex:
    """Writes the expressions of one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._named = {id(e): n for n, e in problem.lets.items() if e.children}
        self.used: list[str] = []

    def __call__(self, e: Expr) -> str:
        return self._write(e)[0]

    def _inside(self, e: Expr, strength: int) -> str:
        text, own = self._write(e)
        return text if own >= strength else rf"\left({text}\right)"

    def _write(self, e: Expr) -> tuple[str, int]:
        if id(e) in self._named:
            known = self._named[id(e)]
            if known not in self.used:
                self.used.append(known)
            return name(known), ATOM
        return self._plain(e)

    def _plain(self, e: Expr) -> tuple[str, int]:
        match e:
            case Const():
                return self._constant(e)
            case Data() | Var():
                return name(e.name), ATOM
            case IndexValue():
                return name(e.index.name), ATOM
            case Shifted():
                return f"{self._inside(e.base, SUM)}{'+' if e.by > 0 else '-'}{abs(e.by)}", SUM
            case Op():
                return self._op(e)
            case Apply():
                return self._apply(e)
            case Gather():
                return self._gather(e), ATOM
            case Reduce():
                return self._reduce(e), SUM
            case Choose():
                then, other, condition = self(e.then), self(e.otherwise), self(e.condition)
                return rf"\begin{{cases}} {then} & {condition} \\ {other} & \text{{else}} \end{{cases}}", ATOM
        return r"\cdot", ATOM

    def _constant(self, e: Const) -> tuple[str, int]:
        if e.kind.startswith("label:"):
            return rf"\text{{{self.problem.member(e.kind.removeprefix('label:'), int(e.value))}}}", ATOM
        if not e.shape:
            text = number(e.value)
            return text, SUM if text.startswith("-") else PRODUCT if "cdot" in text else ATOM
        if e.size and np.all(e.value == e.value.flat[0]):
            return {0.0: r"\mathbf{0}", 1.0: r"\mathbf{1}"}.get(float(e.value.flat[0]), number(e.value.flat[0])), ATOM
        if e.value.ndim == 2 and e.shape[0] == e.shape[1] and np.array_equal(e.value, np.eye(e.shape[0])):
            return "I", ATOM
        if e.value.ndim == 1 and e.size <= 6:
            return "(" + ", ".join(number(x) for x in e.value) + ")", ATOM
        return rf"\mathbf{{c}}_{{{_times(e.shape)}}}", ATOM

    def _op(self, e: Op) -> tuple[str, int]:
        if e.op == "neg":
            return f"-{self._inside(e.args[0], PRODUCT)}", SUM
        if e.op == "not":
            return rf"\neg {self._inside(e.args[0], ATOM)}", PRODUCT
        a, b = e.args
        if e.op in ("add", "sub"):
            sign = "+" if e.op == "add" else "-"
            return f"{self._inside(a, SUM)} {sign} {self._inside(b, SUM if e.op == 'add' else PRODUCT)}", SUM
        if e.op == "div":
            return rf"\frac{{{self(a)}}}{{{self(b)}}}", ATOM
        if e.op == "mul":
            both = bool(a.shape) and bool(b.shape)
            joint = r" \odot " if both else r"\, "
            if not both and isinstance(b, Const) and not b.shape:
                joint = r" \cdot "
            return f"{self._inside(a, PRODUCT)}{joint}{self._inside(b, PRODUCT)}", PRODUCT
        if e.op == "matmul":
            left = self._inside(a, PRODUCT) + (r"^\top" if len(a.shape) == 1 else "")
            return f"{left} {self._inside(b, PRODUCT)}", PRODUCT
        if e.op == "mod":
            return rf"{self._inside(a, PRODUCT)} \bmod {self._inside(b, POWER)}", PRODUCT
        return f"{self(a)} {COMPARISONS[e.op]} {self(b)}", SUM

    def _apply(self, e: Apply) -> tuple[str, int]:
        f = functions()[e.function]
        bare = (
            any(f.latex.startswith(s) for s in (r"\left|", r"\|", r"\sqrt", r"\lfloor", r"\lceil", r"\frac", "e^"))
            or "(" in f.latex
        )
        args = [self(a) if bare else self._inside(a, ATOM) for a in e.args]
        if f.arity is None:
            args = [", ".join(args)]
        params: Mapping[str, Any] = {
            k: number(v) if np.ndim(v) == 0 and not isinstance(v, str) else v for k, v in e.params.items()
        }
        text = f.latex.format(*args, **params)
        if e.axis is not None:
            text = rf"\left[{text}\right]_{{\text{{axis }}{e.axis}}}"
        if e.function in ("sum", "mean", "prod", "max", "min") and e.axis is None:
            return text, SUM
        return text, POWER if e.function in ("square", "power", "transpose", "inv") else PRODUCT

    def _gather(self, e: Gather) -> str:
        items = []
        for item, size in zip(e.items, e.base.shape, strict=True):
            if isinstance(item, Sliced):
                items.append(":" if (item.low, item.high) == (0, size) else f"{item.low}:{item.high}")
            elif isinstance(item, tuple):
                items += [self(i) for i in item]
            else:
                items.append(self(item))
        return f"{self._inside(e.base, ATOM)}_{{{', '.join(items)}}}"

    def _reduce(self, e: Reduce) -> str:
        under = self.scope(e.scope)
        sign = {"sum": r"\sum", "prod": r"\prod", "max": r"\max", "min": r"\min"}.get(e.function)
        if e.function == "mean":
            return rf"\operatorname*{{mean}}_{{{under}}} {self._inside(e.body, PRODUCT)}"
        if sign is None:
            inner = functions()[e.function].latex.format(self(e.body), **{k: number(v) for k, v in e.params.items()})
            return rf"{inner}_{{{under}}}"
        return rf"{sign}_{{{under}}} {self._inside(e.body, PRODUCT)}"

    def scope(self, scope: Scope) -> str:
        """`i \\in S, t = 1, …, T: condition`."""
        parts = []
        for g in scope.generators:
            names = ", ".join(name(i.name) for i in g.indices)
            if isinstance(g.domain, RangeDomain):
                parts.append(rf"{names} = {self(g.domain.low)}, \dots, {self._last(g.domain.high)}")
            else:
                shown = f"({names})" if len(g.indices) > 1 else names
                parts.append(rf"{shown} \in {name(g.domain.name)}")
        text = r",\ ".join(parts)
        return text if scope.condition is None else rf"{text}:\ {self(scope.condition)}"

    def _last(self, high: Expr) -> str:
        """high − 1, simplified where it was written `a..b`."""
        if isinstance(high, Const):
            return number(int(high.value) - 1)
        if (
            isinstance(high, Op)
            and high.op == "add"
            and isinstance(high.args[1], Const)
            and int(high.args[1].value) == 1
        ):
            return self(high.args[0])
        return f"{self._inside(high, SUM)} - 1"

    # --- the problem ----------------------------------------------------------------------------

    def constraint(self, c: Constraint) -> str:
        row = f"{self(c.left)} {RELATIONS[c.relation]} {self(c.right)}"
        if c.when is not None:
            row = rf"{self(c.when)} = 1 \Rightarrow {row}"
        if c.complements is not None:
            row = rf"0 \le {self(c.left)} \perp {self(c.complements[1])} \ge 0"
        return row if c.scope is None else rf"{row} \qquad \forall\, {self.scope(c.scope)}"

    def variable(self, v: Variable) -> str:
        field = {"real": r"\mathbb R", "int": r"\mathbb Z", "bool": r"\{0, 1\}", "complex": r"\mathbb C"}[v.kind]
        dims = [name(a) if a is not None else str(s) for a, s in zip(v.axes, v.shape, strict=True)]
        text = rf"{name(v.name)} \in {field}" + (rf"^{{{_times(dims)}}}" if dims else "")
        if v.lower is not None:
            text += rf",\ {name(v.name)} \ge {self(v.lower)}"
        if v.upper is not None:
            text += rf",\ {name(v.name)} \le {self(v.upper)}"
        for part in members(v.within):
            kind = set_kinds()[part.kind]
            shown = {
                k: number(x) if np.ndim(x) == 0 and not isinstance(x, str | bool) else k for k, x in part.params.items()
            }
            text += rf",\ {name(v.name)} \in {kind.latex.format(**shown)}"
        return text

    def problem_lines(self) -> list[str]:
        """The lines of the `aligned` environment: objective, rows, variables."""
        lines = []
        objective = self.problem.objective
        if objective is not None:
            lines.append(rf"\{'max' if objective.maximise else 'min'} \quad & {self(objective.expr)}")
        else:
            lines.append(r"\text{find} \quad &")
        lead = r"\text{s.t.} \quad"
        for c in self.problem.constraints:
            if c.origin == "complementarity" and c.complements is None:
                continue
            tag = rf" \qquad \text{{({c.name})}}" if c.name else ""
            lines.append(f"{lead} & {self.constraint(c)}{tag}")
            lead = ""
        lines += [
            f"{lead if k == 0 else ''} & {self.variable(v)}" for k, v in enumerate(self.problem.variables.values())
        ]
        return lines + self._where()

    def _where(self) -> list[str]:
        """What the named expressions that were used stand for, and those inside them."""
        lines, done = [], 0
        while done < len(self.used):
            known = self.used[done]
            lead = r"\text{where} \quad" if done == 0 else ""
            lines.append(f"{lead} & {name(known)} = {self._plain(self.problem.lets[known])[0]}")
            done += 1
        return lines


def _times(dims: Sequence[Any]) -> str:
    return r" \times ".join(str(d) for d in dims)


def problem_latex(problem: Problem) -> str:
    """The whole problem as one display."""
    body = " \\\\\n  ".join(Latex(problem).problem_lines())
    return f"\\begin{{aligned}}\n  {body}\n\\end{{aligned}}"
