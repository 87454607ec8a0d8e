"""Building expression nodes with their shapes. Wrong shapes raise `Misfit`, which the elaborator words with a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from optdsl.functions.table import Function, functions
from optdsl.ir.nodes import (
    Apply,
    Axes,
    Choose,
    Const,
    Data,
    Expr,
    Gather,
    Index,
    IndexValue,
    Op,
    Reduce,
    Scope,
    Shape,
    Var,
)
from optdsl.syntax.source import Span


class Misfit(Exception):
    """Shapes, kinds or sets do not fit; `rule` is the broken rule as a sentence, `hint` what to write instead."""

    def __init__(self, rule: str, hint: str | None = None) -> None:
        super().__init__(rule)
        self.rule, self.hint = rule, hint


def _facts(children: Sequence[Expr], span: Span | None) -> dict[str, Any]:
    variables: frozenset[str] = frozenset()
    indices: frozenset[Index] = frozenset()
    for c in children:
        variables |= c.variables
        indices |= c.indices
    return {"variables": variables, "indices": indices, "span": span}


def const(value: Any, span: Span | None = None, kind: str | None = None) -> Const:
    array = np.asarray(value)
    if kind is None:
        kind = {"b": "bool", "i": "int", "u": "int", "c": "complex"}.get(array.dtype.kind, "real")
    return Const(value=array, shape=array.shape, axes=(None,) * array.ndim, kind=kind, span=span)


def var(name: str, shape: Shape, axes: Axes | None = None, kind: str = "real", span: Span | None = None) -> Var:
    axes = (None,) * len(shape) if axes is None else axes
    return Var(name=name, shape=shape, axes=axes, kind=kind, span=span, variables=frozenset([name]))


def data(name: str, shape: Shape, axes: Axes | None = None, kind: str = "real", span: Span | None = None) -> Data:
    axes = (None,) * len(shape) if axes is None else axes
    return Data(name=name, shape=shape, axes=axes, kind=kind, span=span)


def index_value(index: Index, span: Span | None = None) -> IndexValue:
    return IndexValue(index=index, kind=index.kind, span=span, indices=frozenset([index]))


def show_shape(e: Expr) -> str:
    """A type as the language writes it: real[80], real[Plants, Markets]."""
    kind = e.kind.removeprefix("label:")
    if not e.shape:
        return kind
    return f"{kind}[{', '.join(a or str(s) for s, a in zip(e.shape, e.axes, strict=True))}]"


def _common(op: str, a: Expr, b: Expr) -> tuple[Shape, Axes]:
    """The shape of an entrywise operation: equal shapes, or one scalar."""
    if not a.shape:
        return b.shape, b.axes
    if not b.shape:
        return a.shape, a.axes
    if a.shape != b.shape:
        hint = "arithmetic takes equal shapes or a scalar"
        if len(a.shape) == len(b.shape) == 1:
            hint += "; for all pairs write outer(a, b) or an index family"
        elif {len(a.shape), len(b.shape)} == {1, 2}:
            hint += "; to repeat a vector write expand(v, (rows, columns)), or use `@` for a matrix product"
        raise Misfit(f"`{op}` needs equal shapes or a scalar", hint)
    for k, (s, t) in enumerate(zip(a.axes, b.axes, strict=True)):
        if s is not None and t is not None and s != t:
            raise Misfit(f"`{op}` joins axis {k} over {s} with an axis over {t}", "index by name: x[i] … for i in …")
    return a.shape, tuple(s or t for s, t in zip(a.axes, b.axes, strict=True))


SYMBOL = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "matmul": "@", "neg": "-",
    "eq": "==", "ne": "!=", "le": "<=", "ge": ">=", "lt": "<", "gt": ">", "and": "and", "or": "or", "not": "not",
}  # fmt: skip


def _numeric(op: str, *args: Expr) -> None:
    for a in args:
        if a.kind.startswith("label:"):
            raise Misfit(
                f"`{SYMBOL[op]}` needs numbers; this is a member of {a.kind.removeprefix('label:')}",
                "for the neighbour in an ordered set write prev(t) or next(t)",
            )


def _arith_kind(op: str, args: Sequence[Expr]) -> str:
    kinds = {a.kind for a in args}
    if "complex" in kinds:
        return "complex"
    if op == "div" or "real" in kinds:
        return "real"
    return "int"


def op(name: str, *args: Expr, span: Span | None = None) -> Expr:
    """An operator of `nodes.ARITHMETIC`, `COMPARISON` or `LOGIC`."""
    facts = _facts(args, span)
    if name == "neg":
        _numeric(name, *args)
        return Op(op=name, args=args, shape=args[0].shape, axes=args[0].axes, kind=_arith_kind(name, args), **facts)
    if name in ("add", "sub", "mul", "div", "mod"):
        _numeric(name, *args)
        shape, axes = _common(SYMBOL[name], *args)
        return Op(op=name, args=args, shape=shape, axes=axes, kind=_arith_kind(name, args), **facts)
    if name == "matmul":
        _numeric(name, *args)
        shape, axes = _matmul_shape(*args)
        return Op(op=name, args=args, shape=shape, axes=axes, kind=_arith_kind(name, args), **facts)
    if name in ("and", "or", "not"):
        return Op(op=name, args=args, shape=args[0].shape, axes=args[0].axes, kind="bool", **facts)
    a, b = args
    if a.kind.startswith("label:") != b.kind.startswith("label:"):
        raise Misfit("a member of a set is compared with a number", "compare it with a label or another member")
    shape, axes = _common(SYMBOL[name], a, b)
    return Op(op=name, args=args, shape=shape, axes=axes, kind="bool", **facts)


def _matmul_shape(a: Expr, b: Expr) -> tuple[Shape, Axes]:
    if not a.shape or not b.shape:
        raise Misfit("`@` is the matrix product and needs arrays", "use `*` with a scalar")
    if len(a.shape) > 2 or len(b.shape) > 2:
        raise Misfit("`@` takes vectors and matrices")
    inner_b = b.shape[0]
    if a.shape[-1] != inner_b:
        raise Misfit(
            f"`@` needs the last axis of the left ({a.axes[-1] or a.shape[-1]}) to equal the first axis of the right "
            f"({b.axes[0] or inner_b})"
        )
    if a.axes[-1] is not None and b.axes[0] is not None and a.axes[-1] != b.axes[0]:
        raise Misfit(f"`@` joins an axis over {a.axes[-1]} with an axis over {b.axes[0]}")
    return a.shape[:-1] + b.shape[1:], a.axes[:-1] + b.axes[1:]


def apply(name: str, *args: Expr, span: Span | None = None, axis: int | None = None, **params: Any) -> Expr:
    """A function of the table applied to whole arguments."""
    f = functions()[name]
    facts = _facts(args, span)
    for a in args:
        if a.kind.startswith("label:"):
            raise Misfit(f"`{name}` needs numbers; this is a member of {a.kind.removeprefix('label:')}")
    kind = args[0].kind if f.result == "same" and args else f.result if f.result != "same" else "real"
    if kind == "bool" and f.result == "same":
        kind = "int"
    full = {**{k: v for k, v in f.params.items() if v is not ...}, **params}
    if f.kind == "elementwise":
        shape, axes = args[0].shape, args[0].axes
        for other in args[1:]:
            shape, axes = _common(name, Const(value=np.empty(0), shape=shape, axes=axes), other)
        return Apply(function=name, args=args, params=full, shape=shape, axes=axes, kind=kind, **facts)
    if f.kind == "reduction":
        (a,) = args
        if axis is None:
            return Apply(function=name, args=args, params=full, kind=kind, **facts)
        if not -len(a.shape) <= axis < len(a.shape):
            raise Misfit(f"axis {axis} does not exist in {show_shape(a)}")
        axis %= len(a.shape)
        shape, axes = a.shape[:axis] + a.shape[axis + 1 :], a.axes[:axis] + a.axes[axis + 1 :]
        return Apply(function=name, args=args, params=full, axis=axis, shape=shape, axes=axes, kind=kind, **facts)
    return Apply(function=name, args=args, params=full, kind=kind, **_outer_shape(f, args, full), **facts)


def _outer_shape(f: Function, args: Sequence[Expr], params: Mapping[str, Any]) -> dict[str, Any]:
    shapes = [a.shape for a in args]
    if f.kind == "matrix":
        assert f.shape is not None
        shape = f.shape(*shapes)
    else:
        assert f.structure is not None
        _refuse_huge(f, shapes, params)
        plan = f.structure(*shapes, **params)
        shape = None if plan is None else tuple(int(k) for k in plan[-1])
    if shape is None:
        got = " and ".join(show_shape(a) for a in args)
        raise Misfit(f"`{f.name}` does not take {got}")
    axes: Axes = (None,) * len(shape)
    if f.name == "transpose":
        axes = args[0].axes[::-1]
    elif f.name == "diag" and len(shape) == 1:
        axes = (args[0].axes[0],)
    elif f.name in ("softmax", "sort", "cumsum", "inv", "cholesky"):
        axes = args[0].axes
    return {"shape": shape, "axes": axes}


#: Entries of an array that a structural function makes.
LARGEST = 50_000_000


def _refuse_huge(f: Function, shapes: Sequence[Shape], params: Mapping[str, Any]) -> None:
    sizes = [int(np.prod(s, dtype=object)) for s in shapes]
    size = sum(sizes)
    if f.name in ("outer", "kron"):
        size = int(np.prod(sizes, dtype=object))
    elif "shape_to" in params:
        size = int(np.prod(np.atleast_1d(np.array(params["shape_to"], dtype=object))))
    elif f.name == "cumsum":
        size = sizes[0] * shapes[0][-1] // 2 if shapes[0] else 0
    elif f.name == "diag" and len(shapes[0]) == 1:
        size = sizes[0] ** 2
    if size > LARGEST:
        raise Misfit(f"`{f.name}` would make {size:,} entries; the limit is {LARGEST:,}")


def choose(condition: Expr, then: Expr, otherwise: Expr, span: Span | None = None) -> Expr:
    shape, axes = _common("if", then, otherwise)
    kind = then.kind if then.kind == otherwise.kind else "real"
    return Choose(
        condition=condition, then=then, otherwise=otherwise, shape=shape, axes=axes, kind=kind,
        **_facts((condition, then, otherwise), span),
    )  # fmt: skip


def reduce(name: str, body: Expr, scope: Scope, span: Span | None = None, **params: Any) -> Expr:
    """`name(body for …)`; the body may be an array only in a sum or a mean."""
    f = functions()[name]
    if body.shape and name not in ("sum", "mean"):
        raise Misfit(f"`{name}` over a generator needs a scalar for each member")
    kind = ("int" if body.kind == "bool" else body.kind) if f.result == "same" else f.result
    full = {**{k: v for k, v in f.params.items() if v is not ...}, **params}
    facts = _facts([body], span)
    extra: frozenset[Index] = frozenset()
    node = Reduce(function=name, body=body, scope=scope, params=full)
    for child in node.children[1:]:
        extra |= child.indices
    indices = (facts.pop("indices") | extra) - frozenset(scope.indices)
    return Reduce(
        function=name, body=body, scope=scope, params=full, shape=body.shape, axes=body.axes, kind=kind,
        indices=indices, **facts,
    )  # fmt: skip


def gather(base: Expr, items: Sequence[Any], shape: Shape, axes: Axes, span: Span | None = None) -> Expr:
    """Items are checked by the elaborator; shape and axes are those that slices leave."""
    inner = [base] + [e for i in items for e in (i if isinstance(i, tuple) else (i,)) if isinstance(e, Expr)]
    return Gather(base=base, items=tuple(items), shape=shape, axes=axes, kind=base.kind, **_facts(inner, span))


def add(a: Expr, b: Expr) -> Expr:
    return op("add", a, b, span=a.span)


def sub(a: Expr, b: Expr) -> Expr:
    return op("sub", a, b, span=a.span)


def mul(a: Expr, b: Expr) -> Expr:
    return op("mul", a, b, span=a.span)
