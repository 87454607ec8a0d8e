"""Rows of a problem in its report: labels, slacks, duals, and the choice of rows of a large family."""

from __future__ import annotations

import numpy as np
import pytest

import optdsl
from optdsl.report.rows import LISTED_IN_FULL, MeasuredRows, summarise

BANDS = """problem "bands"
set S = ["a", "b"]
var x : real[3] >= 0 <= 10
var y : real[S] >= 0 <= 10
minimize sum(x) + 2 * sum(y)
subject to
  band: 1 <= x[0] <= 4
  each: for s in S: y[s] >= 2
  all: x >= 1
  x[1] + x[2] == 5
"""


def test_labels_slacks_and_duals() -> None:
    """By hand: x = (1, u, 5 − u) with u in [1, 4] and y = 2, in all 6 + 8 = 14. The sum of x is 1 + 5 whatever u is."""
    report = optdsl.parse(BANDS).solve()
    assert report.objective == pytest.approx(14.0, abs=1e-7)
    rows = {(r.name, r.label): r for r in report.constraints}
    assert rows["each", "[a]"].slack == pytest.approx(0.0, abs=1e-7)
    assert rows["each", "[b]"].dual == pytest.approx(2.0, abs=1e-7)  # each unit more of y costs 2
    assert {label for name, label in rows if name == "all"} == {"[0]", "[1]", "[2]"}
    assert sum(f.rows for f in report.families) == len(report.constraints) == 8
    assert len({f.name for f in report.families}) == len(report.families)
    np.testing.assert_allclose(report.dual("each"), [2.0, 2.0], atol=1e-7)


def test_a_large_family_is_summarised() -> None:
    size = 100_000
    rng = np.random.default_rng(0)
    violation, slack, dual = np.zeros(size), rng.uniform(1, 2, size), np.zeros(size)
    violation[77], slack[77] = 0.5, -0.5
    slack[4242] = 0.0
    dual[999] = -3.0
    families, rows = summarise([MeasuredRows("cap", "<=", violation, slack, dual, lambda k: f"[{k}]")], 1e-6)
    (family,) = families
    assert (family.rows, family.violated, family.tight, family.worst) == (size, 1, 1, 0.5)
    assert family.shown == len(rows) <= 30
    assert {"[77]", "[4242]", "[999]"} <= {r.label for r in rows}


def test_a_row_that_is_no_number_counts_as_violated() -> None:
    bad = np.array([np.nan, 0.0])
    (family,), _ = summarise([MeasuredRows("c", "<=", bad, bad, None, str)], 1e-6)
    assert family.violated == 1


def test_a_small_family_is_listed_in_full() -> None:
    zeros = np.zeros(LISTED_IN_FULL)
    _, rows = summarise([MeasuredRows("c", "==", zeros, zeros, None, str)], 1e-6)
    assert len(rows) == LISTED_IN_FULL
    assert rows[0].slack is None and rows[0].dual is None
