"""The numeric targets agree: the same random expression has the same value by NumPy, torch, CasADi, CVXPY and, where it is
affine or quadratic, by sparse matrices; families agree with a plain Python loop."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from optdsl.functions.table import functions
from optdsl.ir import build
from optdsl.ir.build import Misfit
from optdsl.ir.nodes import Expr, Generator, Index, IndexValue, RangeDomain, Scope, SetDomain
from optdsl.ir.problem import DataValue, IntSet, LabelSet, Problem, TupleSet, Variable
from optdsl.lower.casadi import CasadiAlgebra
from optdsl.lower.cvxpy import CvxpyAlgebra
from optdsl.lower.evaluate import Evaluator
from optdsl.lower.sparse import SparseAlgebra
from optdsl.lower.torch import TorchAlgebra
from optdsl.lower.vector import Unsupported, Walk

SHAPES = {"x": (3,), "y": (3,), "M": (3, 3), "N": (2, 3), "s": ()}


def _problem() -> Problem:
    rng = np.random.default_rng(7)
    sets: dict[str, Any] = {
        "A": LabelSet("A", ("p", "q", "r")),
        "T": IntSet("T", 1, 4),
        "E": TupleSet("E", ("A", "T"), (np.array([0, 0, 1, 2, 2]), np.array([0, 2, 3, 1, 0])), (3, 4)),
    }
    data = {
        "c": DataValue("c", rng.uniform(0.5, 2, 3), (None,), "real", "", ""),
        "B": DataValue("B", rng.standard_normal((3, 3)), (None, None), "real", "", ""),
        "D": DataValue("D", rng.standard_normal((3, 4)), ("A", "T"), "real", "", ""),
    }
    variables = {n: Variable(n, s, (None,) * len(s), "real") for n, s in SHAPES.items()}
    variables["F"] = Variable("F", (3, 4), ("A", "T"), "real")
    variables["g"] = Variable("g", (5,), ("E",), "real")
    return Problem("", sets, data, variables, None, [])


PROBLEM = _problem()
FLAT = sum(v.size for v in PROBLEM.variables.values())
#: Keeps arguments inside every domain: values of variables are in (0.2, 1.5).
ELEMENTWISE = sorted(n for n, f in functions().items() if f.kind == "elementwise")
#: Where rounding can be told apart from a jump.
CONTINUOUS = [n for n in ELEMENTWISE if n not in ("floor", "ceil", "sign")]
REDUCTIONS = sorted(n for n, f in functions().items() if f.kind == "reduction")
STRUCTURAL = [
    "transpose",
    "reshape",
    "diag",
    "trace",
    "cumsum",
    "diff",
    "hstack",
    "vstack",
    "stack",
    "outer",
    "kron",
    "expand",
]
MATRIX = [
    "det",
    "quad_form",
    "quad_over_lin",
    "matrix_frac",
    "inv",
    "solve",
    "softmax",
    "norm_nuc",
    "lambda_max",
    "log_det",
]


def _leaf(draw: Any) -> Expr:
    name = draw(st.sampled_from(["x", "y", "M", "N", "s", "c", "B", "2"]))
    if name == "2":
        return build.const(draw(st.sampled_from([-1.5, 0.5, 2.0])))
    if name in PROBLEM.data:
        return build.data(name, PROBLEM.data[name].values.shape)
    return build.var(name, SHAPES[name])


@st.composite
def expressions(draw: Any, depth: int = 3) -> Expr:
    if depth == 0:
        return _leaf(draw)
    kind = draw(st.sampled_from(["leaf", "op", "op", "elementwise", "reduction", "structural", "matrix"]))
    sub = expressions(depth=depth - 1)
    try:
        if kind == "op":
            op = draw(st.sampled_from(["add", "sub", "mul", "div", "matmul", "neg"]))
            args = [draw(sub)] if op == "neg" else [draw(sub), draw(sub)]
            return build.op(op, *args)
        if kind == "elementwise":
            f = functions()[draw(st.sampled_from(CONTINUOUS))]
            params: dict[str, Any] = {"p": draw(st.sampled_from([-1, 0, 1, 2, 3, 0.5]))} if f.name == "power" else {}
            return build.apply(f.name, *(draw(sub) for _ in range(f.arity or 1)), **params)
        if kind == "reduction":
            name = draw(st.sampled_from(REDUCTIONS))
            child = draw(sub)
            axis = draw(st.sampled_from([None, *range(len(child.shape))]))
            params = {"k": 2} if name == "sum_largest" else {"p": 3} if name == "norm" else {}
            assume(name != "sum_largest" or (child.size >= 2 and (axis is None or child.shape[axis] >= 2)))
            assume(name not in ("var", "std") or (child.size >= 2 and (axis is None or child.shape[axis] >= 2)))
            return build.apply(name, child, axis=axis, **params)
        if kind == "structural":
            name = draw(st.sampled_from(STRUCTURAL))
            count = 2 if name in ("hstack", "vstack", "stack", "outer", "kron") else 1
            args = [draw(sub) for _ in range(count)]
            params = (
                {"shape_to": (args[0].size,)}
                if name == "reshape"
                else {"shape_to": (2, *args[0].shape)}
                if name == "expand"
                else {}
            )
            return build.apply(name, *args, **params)
        if kind == "matrix":
            name = draw(st.sampled_from(MATRIX))
            args = [draw(sub) for _ in range(functions()[name].arity or 1)]
            if name == "quad_form":
                args[1] = build.data("B", (3, 3))
            return build.apply(name, *args)
    except Misfit:
        assume(False)
    return _leaf(draw)


def _values(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    out = {n: rng.uniform(0.2, 1.5, v.shape) for n, v in PROBLEM.variables.items()}
    out["M"] = out["M"] + 2 * np.eye(3)
    return out


def by_numpy(e: Expr, values: dict[str, np.ndarray], table: Any = None) -> np.ndarray:
    with np.errstate(all="ignore"):
        ev = Evaluator(PROBLEM, values, strict=False)
        return np.asarray(ev(e) if table is None else ev(e, ev.open(table)), dtype=float).ravel()


def by_torch(e: Expr, values: dict[str, np.ndarray], scope: Any = None) -> np.ndarray:
    import torch

    a = TorchAlgebra()
    a.values = {n: torch.tensor(v) for n, v in values.items()}
    w = Walk(PROBLEM, a)
    w.constants.strict = False
    return w.vector(e, w.constants.open(scope)).numpy()


def by_casadi(e: Expr, values: dict[str, np.ndarray], scope: Any = None) -> np.ndarray:
    import casadi as ca

    a = CasadiAlgebra(PROBLEM)
    w = Walk(PROBLEM, a)
    w.constants.strict = False
    f = ca.Function("f", [a.x], [ca.densify(w.vector(e, w.constants.open(scope)))])
    flat = np.concatenate([values[n].ravel() for n in PROBLEM.variables])
    try:
        return np.asarray(f(flat)).ravel()
    except RuntimeError:
        assume(False)  # a singular matrix: CasADi refuses where NumPy gives what rounding left
        raise


def by_cvxpy(e: Expr, values: dict[str, np.ndarray], scope: Any = None) -> np.ndarray:
    a = CvxpyAlgebra(PROBLEM)
    w = Walk(PROBLEM, a)
    w.constants.strict = False
    v = w.vector(e, w.constants.open(scope))
    for name, made in a.variables.items():
        made.value = values[name]
    return np.asarray(v.value, dtype=float).ravel()


def by_sparse(e: Expr, values: dict[str, np.ndarray], scope: Any = None) -> np.ndarray:
    a = SparseAlgebra(PROBLEM)
    w = Walk(PROBLEM, a)
    w.constants.strict = False
    v = w.vector(e, w.constants.open(scope))
    flat = np.concatenate([values[n].ravel() for n in PROBLEM.variables])
    out = v.matrix(a.columns) @ flat + v.constant
    for t in v.terms:
        F, G = t.F.matrix(a.columns) @ flat + t.F.constant, t.G.matrix(a.columns) @ flat + t.G.constant
        out = out + np.bincount(t.row, t.d * F * G, minlength=v.n)
    return out


TARGETS = {"torch": by_torch, "casadi": by_casadi, "cvxpy": by_cvxpy, "sparse": by_sparse}


def _compare(e: Expr, seed: int, scope: Any = None) -> None:
    values = _values(seed)
    wanted = by_numpy(e, values, scope)
    assume(np.isfinite(wanted).all() and np.abs(wanted).max(initial=0) < 1e6)
    for name, target in TARGETS.items():
        try:
            with np.errstate(all="ignore"):
                got = target(e, values, scope)
        except Unsupported:
            continue
        if name == "cvxpy" and not np.isfinite(got).all():
            continue
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9, err_msg=f"{name}: {e!r}")


@settings(max_examples=250, deadline=None)
@given(expressions(), st.integers(0, 5))
def test_random_expressions_have_one_value(e: Expr, seed: int) -> None:
    _compare(e, seed)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_each_elementwise_function(name: str) -> None:
    f = functions()[name]
    args = [build.var("x", (3,)), build.var("y", (3,))][: f.arity]
    params: dict[str, Any] = {"p": 3} if name == "power" else {}
    _compare(build.apply(name, *args, **params), 1)


# --- families against a plain loop ---------------------------------------------------------------


def _index(name: str, over: str | None = None) -> tuple[Index, Expr]:
    i = Index(name, over)
    return i, build.index_value(i)


def test_family_of_sums_with_a_filter() -> None:
    i, iv = _index("i", "A")
    t, tv = _index("t")
    F, D = build.var("F", (3, 4), ("A", "T")), build.data("D", (3, 4), ("A", "T"))
    product = build.mul(build.gather(D, [iv, tv], (), ()), build.gather(F, [iv, tv], (), ()))
    inner = Scope((Generator((t,), SetDomain("T")),), build.op("ne", tv, build.const(2)))
    family = Scope((Generator((i,), SetDomain("A")),))
    e = build.reduce("sum", product, inner)
    values = _values(3)
    D_, F_ = PROBLEM.data["D"].values, values["F"]
    loop = [sum(D_[a, k] * F_[a, k] for k in range(4) if k + 1 != 2) for a in range(3)]
    np.testing.assert_allclose(by_numpy(e, values, family), loop)
    _compare(e, 3, family)


def test_join_over_tuples() -> None:
    """sum(g[i, t] for (i, t) in E if i == k), for k in A."""
    k, kv = _index("k", "A")
    i, t = Index("i", "A"), Index("t")
    iv, tv = build.index_value(i), build.index_value(t)
    g = build.gather(build.var("g", (5,), ("E",)), [(iv, tv)], (), ())
    e = build.reduce("sum", g, Scope((Generator((i, t), SetDomain("E")),), build.op("eq", iv, kv)))
    family = Scope((Generator((k,), SetDomain("A")),))
    E = PROBLEM.sets["E"]
    assert isinstance(E, TupleSet)
    values = _values(4)
    loop = [sum(values["g"][r] for r in range(5) if E.columns[0][r] == a) for a in range(3)]
    np.testing.assert_allclose(by_numpy(e, values, family), loop)
    _compare(e, 4, family)


@given(st.integers(0, 2), st.integers(0, 50))
@settings(max_examples=20, deadline=None)
def test_ragged_ranges(lag: int, seed: int) -> None:
    """sum(x[j] for j in range(i + 1)) and max over the same, for i in range(3 - lag)."""
    i, iv = _index("i")
    j, jv = _index("j")
    outer = Scope((Generator((i,), RangeDomain(build.const(0), build.const(3 - lag))),))
    inner = Scope((Generator((j,), RangeDomain(build.const(0), build.op("add", iv, build.const(1)))),))
    body = build.gather(build.var("x", (3,)), [jv], (), ())
    values = _values(seed)
    for name, reducer in (("sum", sum), ("max", max)):
        e = build.reduce(name, body, inner)
        loop = [reducer(values["x"][: a + 1]) for a in range(3 - lag)]
        np.testing.assert_allclose(by_numpy(e, values, outer), loop)
        _compare(e, seed, outer)


def test_rows_times_a_vector_is_one_matrix_product() -> None:
    """mean((B[i] @ x) for i in range(3)) lowers to B itself, not to one entry at a time."""
    i, iv = _index("i")
    from optdsl.ir.nodes import Sliced

    row = build.gather(build.data("B", (3, 3)), [iv, Sliced(0, 3)], (3,), (None,))
    scope = Scope((Generator((i,), RangeDomain(build.const(0), build.const(3))),))
    e = build.op("matmul", row, build.var("x", (3,)))
    ev = Evaluator(PROBLEM)
    assert ev(row, ev.open(scope)) is PROBLEM.data["B"].values
    _compare(e, 0, scope)
    _compare(build.reduce("mean", build.apply("square", e), scope), 0)


def test_matrices_inside_a_family() -> None:
    """Products where the constant, the variable, or both vary over the rows."""
    i, iv = _index("i")
    from optdsl.ir.nodes import Sliced

    scope = Scope((Generator((i,), RangeDomain(build.const(0), build.const(3))),))
    B_row = build.gather(build.data("B", (3, 3)), [iv, Sliced(0, 3)], (3,), (None,))
    M_row = build.gather(build.var("M", (3, 3)), [iv, Sliced(0, 3)], (3,), (None,))
    B, M = build.data("B", (3, 3)), build.var("M", (3, 3))
    for a, b in itertools.product([B_row, M_row, B, M], repeat=2):
        e = build.op("matmul", a, b)
        if e.indices:
            _compare(e, 2, scope)
        else:
            _compare(e, 2)


def test_index_of_an_index_value_is_its_number() -> None:
    i, iv = _index("i")
    scope = Scope((Generator((i,), RangeDomain(build.const(2), build.const(5))),))
    assert isinstance(iv, IndexValue)
    np.testing.assert_array_equal(by_numpy(iv, {}, scope), [2, 3, 4])
