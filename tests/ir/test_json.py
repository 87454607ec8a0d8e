"""The IR survives JSON: the problem read back has the same shape and solves to the same optimum."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import optdsl
from optdsl.ir.json import Unreadable, from_json, to_json
from optdsl.ir.nodes import Op
from optdsl.solve import Request, solve
from tests.ir.test_structure import BLOCKS, DATA

PROBLEMS = Path(__file__).parents[2] / "problems"
SMALL = [
    "linear/transport.opt",
    "integer/lot_sizing.opt",
    "quadratic/lasso_diabetes.opt",
    "conic/maxcut_petersen.opt",
    "conic/entropy.opt",
    "nonlinear/hs71.opt",
    "smooth/rosenbrock.opt",
]


@pytest.mark.parametrize("file", SMALL)
def test_round_trip_solves_to_the_same_optimum(file: str) -> None:
    instance = optdsl.load(PROBLEMS / file).instance()
    again = from_json(json.loads(json.dumps(to_json(instance))))
    before, after = solve(instance, Request()), solve(again, Request())
    assert after.certificate.objective == pytest.approx(before.certificate.objective, rel=1e-12)
    assert after.certificate.verdict.kind == before.certificate.verdict.kind
    assert to_json(again) == to_json(instance)


@pytest.mark.parametrize("which", BLOCKS)
def test_structure_survives(which: str) -> None:
    instance = optdsl.parse(BLOCKS[which][0], folder=DATA).instance()
    again = from_json(json.loads(json.dumps(to_json(instance))))
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
    again = from_json(content, {name: d.values for name, d in instance.data.items()})
    assert solve(again, Request()).certificate.objective == pytest.approx(153.675)


def test_other_files_are_refused() -> None:
    with pytest.raises(Unreadable):
        from_json({"schema": "optdsl.report/1"})
