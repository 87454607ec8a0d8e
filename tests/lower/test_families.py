"""Families, filters, joins and nested generators mean what plain Python loops over dictionaries compute."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import optdsl
from optdsl.lower.evaluate import Evaluator
from optdsl.lower.torch import TorchAlgebra
from optdsl.lower.vector import Walk

P = ["p0", "p1", "p2", "p3"]
Q = ["q0", "q1", "q2"]
T = [3, 4, 5, 6]
ARCS = [("p0", "q1"), ("p2", "q0"), ("p0", "q2"), ("p3", "q2"), ("p2", "q2")]
SMALL = ["p3", "p0"]
HOME = {"q0": "p2", "q1": "p0", "q2": "p2"}
MEMBERS: dict[str, list[Any]] = {"P": P, "Q": Q, "T": T, "Arcs": ARCS, "Small": SMALL}

rng = np.random.default_rng(3)
C = {p: round(float(v), 2) for p, v in zip(P, rng.normal(size=4), strict=True)}
D = {(p, q): round(float(rng.normal()), 2) for p in P for q in Q}
E = {arc: round(float(rng.normal()), 2) for arc in ARCS}
N = {t: int(v) for t, v in zip(T, [2, 0, 3, 1], strict=True)}
X = dict(zip(P, rng.normal(size=4), strict=True))
Y = {(p, q): float(rng.normal()) for p in P for q in Q}
Z = {arc: float(rng.normal()) for arc in ARCS}
U = dict(zip(T, rng.normal(size=4), strict=True))


def braces(table: Mapping[Any, Any]) -> str:
    key: Callable[[Any], str] = lambda k: str(k).replace("'", '"')  # noqa: E731
    return (
        "{"
        + ", ".join(f"{key(k) if isinstance(k, tuple) else repr(k)}: {v!r}".replace("'", '"') for k, v in table.items())
        + "}"
    )


HEAD = f"""
set P = {P}
set Q = {Q}
set T = 3..6
set Arcs in P * Q = {ARCS}
set Small in P = {SMALL}
data c : real[P] = {braces(C)}
data d : real[P, Q] = {[[D[p, q] for q in Q] for p in P]}
data e : real[Arcs] = {list(E.values())}
data n : int[T] = {list(N.values())}
data home : P[Q] = {braces(HOME)}
var x : real[P]
var y : real[P, Q]
var z : real[Arcs]
var u : real[T]
""".replace("'", '"')

VALUES = {
    "x": np.array(list(X.values())),
    "y": np.array(list(Y.values())).reshape(4, 3),
    "z": np.array(list(Z.values())),
    "u": np.array(list(U.values())),
}

Env = dict[str, Any]


@dataclass(frozen=True)
class Piece:
    """A text of the language beside the Python function of the indices that it stands for."""

    text: str
    value: Callable[[Env], Any]


@dataclass(frozen=True)
class Bound:
    """Indices in scope by kind, and the pairs that run over the arcs."""

    p: tuple[str, ...] = ()
    q: tuple[str, ...] = ()
    t: tuple[str, ...] = ()
    arcs: tuple[tuple[str, str], ...] = ()
    depth: int = 0


def lookup(name: str, table: Mapping[Any, Any], *indices: str) -> Piece:
    key: Callable[[Env], Any] = (
        (lambda v: v[indices[0]]) if len(indices) == 1 else (lambda v: tuple(v[i] for i in indices))
    )
    return Piece(f"{name}[{', '.join(indices)}]", lambda v: table[key(v)])


@st.composite
def leaves(draw: Any, b: Bound) -> Piece:
    kinds = ["number", *("cx" if b.p else ""), *("dy" if b.p and b.q else ""), *("nu" if b.t else "")]
    kinds += ["home"] if b.q else []
    kinds += ["e", "z"] if b.arcs else []
    kind = draw(st.sampled_from(kinds))
    if kind == "number":
        number = draw(st.sampled_from([-1.5, 0.5, 2]))
        return Piece(f"({number})", lambda v: number)
    if kind in "cx":
        return lookup(kind, {"c": C, "x": X}[kind], draw(st.sampled_from(b.p)))
    if kind in "nu":
        return lookup(kind, {"n": N, "u": U}[kind], draw(st.sampled_from(b.t)))
    if kind == "home":
        q = draw(st.sampled_from(b.q))
        return Piece(f"x[home[{q}]]", lambda v: X[HOME[v[q]]])
    if kind in "ez":
        return lookup(kind, {"e": E, "z": Z}[kind], *draw(st.sampled_from(b.arcs)))
    return lookup(kind, {"d": D, "y": Y}[kind], draw(st.sampled_from(b.p)), draw(st.sampled_from(b.q)))


COMPARISONS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge}


@st.composite
def conditions(draw: Any, b: Bound, depth: int = 1) -> Piece:
    kinds = ["p"] * bool(b.p) + ["pp"] * (len(b.p) > 1) + ["home"] * bool(b.p and b.q) + ["t"] * bool(b.t)
    kinds += ["tt"] * (len(b.t) > 1) + ["small"] * bool(b.p) + ["arc"] * bool(b.p and b.q) + ["q"] * bool(b.q)
    kind = draw(st.sampled_from(kinds + ["and", "or", "not"] * bool(depth)))
    if kind in ("and", "or"):
        one, two = draw(conditions(b, depth - 1)), draw(conditions(b, depth - 1))
        join = (lambda v: one.value(v) and two.value(v)) if kind == "and" else (lambda v: one.value(v) or two.value(v))
        return Piece(f"({one.text} {kind} {two.text})", join)
    if kind == "not":
        inner = draw(conditions(b, depth - 1))
        return Piece(f"not ({inner.text})", lambda v: not inner.value(v))
    op = draw(st.sampled_from(list(COMPARISONS)))
    test = COMPARISONS[op]
    if kind == "p":
        p = draw(st.sampled_from(b.p))
        return Piece(f"c[{p}] {op} 0", lambda v: test(C[v[p]], 0))
    if kind == "t":
        t, limit = draw(st.sampled_from(b.t)), draw(st.integers(3, 6))
        return Piece(f"{t} % 3 {op} {limit} - 3", lambda v: test(v[t] % 3, limit - 3))
    if kind == "tt":
        s, t = draw(st.permutations(b.t))[:2]
        return Piece(f"{s} {op} {t}", lambda v: test(v[s], v[t]))
    if kind == "small":
        p, word = draw(st.sampled_from(b.p)), draw(st.sampled_from(["in", "not in"]))
        return Piece(f"{p} {word} Small", lambda v: (v[p] in SMALL) == (word == "in"))
    if kind == "arc":
        p, q = draw(st.sampled_from(b.p)), draw(st.sampled_from(b.q))
        return Piece(f"({p}, {q}) in Arcs", lambda v: (v[p], v[q]) in ARCS)
    op = "==" if op in ("==", "<") else "!="
    test = COMPARISONS[op]
    if kind == "home":
        p, q = draw(st.sampled_from(b.p)), draw(st.sampled_from(b.q))
        return Piece(f"home[{q}] {op} {p}", lambda v: test(HOME[v[q]], v[p]))
    if kind == "q":
        q, label = draw(st.sampled_from(b.q)), draw(st.sampled_from(Q))
        return Piece(f'{q} {op} "{label}"', lambda v: test(v[q], label))
    one, two = draw(st.permutations(b.p))[:2]
    return Piece(f"{one} {op} {two}", lambda v: test(v[one], v[two]))


@st.composite
def generators(draw: Any, b: Bound) -> tuple[str, Callable[[Env], Iterator[Env]], Bound]:
    """Clauses, the loop they stand for, and the indices bound inside."""
    text: list[str] = []
    loops: list[tuple[tuple[str, ...], Callable[[Env], Any]]] = []
    p, q, t, arcs = b.p, b.q, b.t, b.arcs
    for k in range(draw(st.integers(1, 2))):
        name = f"{'ijk'[b.depth]}{k}"
        kind = draw(st.sampled_from(["P", "Q", "T", "Small", "Arcs", "range", "dots"] + ["ragged"] * bool(t)))
        if kind == "Arcs":
            pair = (f"{name}a", f"{name}b")
            text.append(f"({pair[0]}, {pair[1]}) in Arcs")
            loops.append((pair, lambda v: ARCS))
            p, q, arcs = (*p, pair[0]), (*q, pair[1]), (*arcs, pair)
            continue
        if kind == "ragged":
            outer = draw(st.sampled_from(t))
            text.append(f"{name} in range(3, {outer} + 1)")
            loops.append(((name,), lambda v, o=outer: range(3, v[o] + 1)))  # type: ignore[misc]
        elif kind in ("range", "dots"):
            text.append(f"{name} in {'range(4, 7)' if kind == 'range' else '4..6'}")
            loops.append(((name,), lambda v: range(4, 7)))
        else:
            text.append(f"{name} in {kind}")
            loops.append(((name,), lambda v, kind=kind: MEMBERS[kind]))  # type: ignore[misc]
        p, q, t = (*p, name) if kind in ("P", "Small") else p, (*q, name) if kind == "Q" else q, (
            (*t, name) if kind in ("T", "range", "dots", "ragged") else t
        )  # fmt: skip
    inner = Bound(p, q, t, arcs, b.depth + 1)
    test = draw(st.none() | conditions(inner))

    def run(v: Env, rest: int = 0) -> Iterator[Env]:
        if rest == len(loops):
            if test is None or test.value(v):
                yield v
            return
        names, members = loops[rest]
        for member in members(v):
            yield from run({**v, **dict(zip(names, member if len(names) > 1 else (member,), strict=True))}, rest + 1)

    return ", ".join(text) + (f" if {test.text}" if test is not None else ""), run, inner


@st.composite
def expressions(draw: Any, b: Bound, depth: int) -> Piece:
    kinds = ["leaf", "op"] if depth and b.depth else ["leaf"] if b.depth else []
    kinds += ["sum", "sum"] if b.depth < 3 and depth else []
    kinds += ["choice"] if depth and (b.p or b.q or b.t) else []
    kind = draw(st.sampled_from(kinds))
    if kind == "op":
        op = draw(st.sampled_from("+-*"))
        one, two = draw(expressions(b, depth - 1)), draw(expressions(b, depth - 1))
        f = {"+": operator.add, "-": operator.sub, "*": operator.mul}[op]
        return Piece(f"({one.text} {op} {two.text})", lambda v: f(one.value(v), two.value(v)))
    if kind == "choice":
        test, one, two = draw(conditions(b)), draw(expressions(b, depth - 1)), draw(expressions(b, depth - 1))
        text = f"({one.text} if {test.text} else {two.text})"
        return Piece(text, lambda v: one.value(v) if test.value(v) else two.value(v))
    if kind == "sum":
        clauses, run, inner = draw(generators(b))
        body = draw(expressions(inner, depth - 1))
        return Piece(f"sum({body.text} for {clauses})", lambda v: sum(body.value(w) for w in run(v)))
    return draw(leaves(b))


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(piece=expressions(Bound(), 3))
def test_sums_are_loops(piece: Piece) -> None:
    instance = optdsl.parse(f"{HEAD}minimize {piece.text}\n").instance()
    assert instance.objective is not None
    wanted = piece.value({})
    found = Evaluator(instance, VALUES)(instance.objective.expr)
    assert float(found) == pytest.approx(wanted, rel=1e-10, abs=1e-10)
    import torch

    algebra = TorchAlgebra()
    algebra.values = {n: torch.tensor(v) for n, v in VALUES.items()}
    lowered = Walk(instance, algebra).vector(instance.objective.expr)
    assert float(lowered[0]) == pytest.approx(wanted, rel=1e-10, abs=1e-10)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_families_are_loops(data: st.DataObject) -> None:
    """One row a binding, in the order of the loops, with the value that the loops give."""
    clauses, run, inner = data.draw(generators(Bound()))
    body = data.draw(expressions(inner, 2))
    instance = optdsl.parse(f"{HEAD}minimize 0\nsubject to\n  for {clauses}: {body.text} <= 0\n").instance()
    (row,) = instance.constraints
    at = Evaluator(instance, VALUES)
    table = at.open(row.scope)
    wanted = [body.value(v) for v in run({})]
    assert table.size == len(wanted)
    found = np.broadcast_to(np.asarray(at(row.left, table), dtype=float), (table.size,))
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
