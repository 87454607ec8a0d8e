"""The IR survives JSON: the problem read back has the same shape and solves to the same optimum."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import optdsl
from optdsl.ir.json import Unreadable, from_json, to_json
from optdsl.ir.nodes import Op
from optdsl.ir.problem import DataValue, Problem
from optdsl.solve import Request, solve
from tests.ir.test_structure import BLOCKS, DATA

PROBLEMS = Path(__file__).parents[2] / "problems"
SHIPPED = sorted(str(p.relative_to(PROBLEMS)) for p in PROBLEMS.rglob("*.opt"))
LARGE = "linear/transport_large.opt"
TEXTS = [
    text
    for page in sorted((Path(__file__).parents[2] / "docs").glob("*.md"))
    for text in re.findall(r"```opt\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    if not text.startswith("# outcome: error E") or "E505" in text.splitlines()[0]
]


def through_text(problem: Problem, data: bool = True) -> Problem:
    given = {} if data else {name: d.values for name, d in problem.data.items()}
    return from_json(json.loads(json.dumps(to_json(problem, data), allow_nan=False)), given)


@pytest.mark.parametrize(
    "file",
    [pytest.param(f, marks=pytest.mark.slow) if f == LARGE else f for f in SHIPPED if "sparsity" not in f],
)
def test_round_trip_solves_to_the_same_optimum(file: str) -> None:
    instance = optdsl.load(PROBLEMS / file).instance()
    again = through_text(instance)
    assert to_json(again) == to_json(instance)
    before, after = solve(instance, Request()), solve(again, Request())
    assert after.certificate.verdict.kind == before.certificate.verdict.kind
    if before.certificate.objective is None:
        assert after.certificate.objective is None
    else:
        assert after.certificate.objective == pytest.approx(before.certificate.objective, rel=1e-12)


def test_a_large_problem_goes_through() -> None:
    instance = optdsl.load(PROBLEMS / LARGE).instance()
    assert to_json(through_text(instance)) == to_json(instance)


@pytest.mark.parametrize("file", [f for f in SHIPPED if "sparsity" in f])
def test_masks_go_through_without_their_weights(file: str) -> None:
    W = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    instance = optdsl.load(PROBLEMS / file).instance({"W": W})
    again = through_text(instance, data=False)
    assert to_json(again) == to_json(instance)
    assert again.data["W"].values is instance.data["W"].values


@pytest.mark.parametrize("text", TEXTS)
def test_examples_of_the_manual(text: str) -> None:
    instance = optdsl.parse(text).instance()
    assert to_json(through_text(instance)) == to_json(instance)


def test_an_expression_as_deep_as_the_language_allows() -> None:
    instance = optdsl.parse("var x : real in box(0, 1)\nminimize " + "exp(" * 180 + "x" + ")" * 180 + "\n").instance()
    assert to_json(through_text(instance)) == to_json(instance)


@given(
    arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.bool_, np.complex128]),
        array_shapes(min_dims=0, max_dims=3, max_side=3),
    )
)
def test_arrays_survive_to_the_bit(values: np.ndarray) -> None:
    """Infinities, NaN with its payload and the sign of zero included: bytes are compared."""
    data = DataValue("a", values, (None,) * values.ndim, "real", "drawn", "")
    again = through_text(Problem("", {}, {"a": data}, {}, None, [])).data["a"].values
    assert (again.dtype, again.shape, again.tobytes()) == (values.dtype, values.shape, values.tobytes())


@pytest.mark.parametrize("which", BLOCKS)
def test_structure_survives(which: str) -> None:
    instance = optdsl.parse(BLOCKS[which][0], folder=DATA).instance()
    again = through_text(instance)
    assert to_json(again) == to_json(instance)
    assert again.features[0].title == instance.features[0].title


def test_a_let_used_twice_is_one_node_still() -> None:
    instance = optdsl.parse("var x : real\nlet y = x + 1\nminimize y * y\n").instance()
    again = from_json(to_json(instance))
    assert again.objective is not None and isinstance(again.objective.expr, Op)
    left, right = again.objective.expr.args
    assert left is right


def test_spans_keep_their_places() -> None:
    instance = optdsl.parse("var x : real\nminimize x ** 2 + 1\n").instance()
    again = from_json(to_json(instance))
    assert again.objective is not None and again.objective.expr.span is not None
    assert (again.objective.expr.span.line, again.objective.expr.span.text) == (2, "x ** 2 + 1")


def test_data_may_stay_outside() -> None:
    instance = optdsl.load(PROBLEMS / "linear/transport.opt").instance()
    content = to_json(instance, data=False)
    with pytest.raises(Unreadable, match="capacity"):
        from_json(content)
    wrong = {name: np.zeros(3) for name in instance.data}
    with pytest.raises(Unreadable, match=r"of shape \[3\]"):
        from_json(content, wrong)
    again = from_json(content, {name: d.values for name, d in instance.data.items()})
    assert solve(again, Request()).certificate.objective == pytest.approx(153.675)


def test_other_files_are_refused() -> None:
    with pytest.raises(Unreadable):
        from_json({"schema": "optdsl.report/1"})
