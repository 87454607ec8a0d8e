"""Curvature, sign and strong convexity: what is claimed of random expressions holds at random points (Jensen's inequality),
agrees with CVXPY where CVXPY decides, and is right on cases decided by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import optdsl
from optdsl.analysis.curvature import Analysis, Facts
from optdsl.analysis.strong import strong_convexity
from optdsl.forms.smooth import SmoothUnconstrained
from optdsl.ir.nodes import Expr
from optdsl.lower.cvxpy import CvxpyAlgebra
from optdsl.lower.vector import Unsupported, Walk
from tests.lower.test_agreement import PROBLEM, SHAPES, by_numpy, expressions


def _points(seed: int, positive: bool) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    low = 0.2 if positive else -1.5
    return [{n: rng.uniform(low, 1.5, v.shape) for n, v in PROBLEM.variables.items()} for _ in range(2)]


def _known(e: Expr) -> Facts:
    """The facts; expressions with undefined constants are not of interest here."""
    try:
        return Analysis(PROBLEM).facts(e)
    except optdsl.OptError:
        assume(False)
        raise


@settings(max_examples=300, deadline=None)
@given(expressions(), st.integers(0, 30), st.booleans())
def test_claims_hold_at_points(e: Expr, seed: int, positive: bool) -> None:
    facts = _known(e)
    assume(facts.curvature not in ("unknown", "constant"))
    a, b = _points(seed, positive)
    middle = {n: 0.5 * (a[n] + b[n]) for n in a}
    fa, fb, fm = (by_numpy(e, v) for v in (a, b, middle))
    assume(np.isfinite([fa, fb, fm]).all() and max(np.abs(fa).max(initial=0), np.abs(fb).max(initial=0)) < 1e8)
    slack = 1e-8 * (1 + np.abs(fa) + np.abs(fb))
    if facts.convex:
        assert (fm <= 0.5 * (fa + fb) + slack).all(), repr(e)
    if facts.concave:
        assert (fm >= 0.5 * (fa + fb) - slack).all(), repr(e)
    if facts.sign == 1:
        assert (fa >= -slack).all(), repr(e)
    if facts.sign == -1:
        assert (fa <= slack).all(), repr(e)


@settings(max_examples=200, deadline=None)
@given(expressions())
def test_affine_means_affine_for_cvxpy_too(e: Expr) -> None:
    """Where both decide, affine is affine; what CVXPY calls convex we call convex, but for its finer knowledge of signs."""
    facts = _known(e)
    try:
        v = Walk(PROBLEM, CvxpyAlgebra(PROBLEM)).vector(e)
    except (Unsupported, optdsl.OptError, ValueError):
        assume(False)
        return
    if facts.curvature == "affine":
        assert v.is_affine(), repr(e)
    if facts.convex and not facts.affine:
        assert v.is_convex() or not v.is_concave(), repr(e)


def _facts(objective: str, variables: str = "var x : real[3]") -> Any:
    instance = optdsl.parse(f"{variables}\nminimize {objective}\n").instance()
    return Analysis(instance).objective()


@pytest.mark.parametrize(
    ("text", "curvature"),
    [
        ("sum(exp(x))", "convex"),
        ("-sum(exp(x))", "concave"),
        ("sum(log(x))", "concave"),
        ("norm2(x) ** 2", "convex"),
        ("sqrt(norm2(x))", "unknown"),
        ("log_sum_exp(x) + x[0]", "convex"),
        ("x[0] * x[1]", "unknown"),
        ("x @ x", "convex"),
        ("max(x[0], exp(x[1]))", "convex"),
        ("min(x[0], x[1])", "concave"),
        ("sum(square(x[i] - i) for i in range(3))", "convex"),
        ("sum((i - 1) * square(x[i]) for i in range(3))", "unknown"),
        ("quad_form(x, [[2, 0, 0], [0, 1, 0], [0, 0, 0]])", "convex"),
        ("quad_form(x, [[2, 0, 0], [0, -1, 0], [0, 0, 0]])", "unknown"),
        ("sum(x) / 2 - 3", "affine"),
        ("1 / sqrt(x[0])", "convex"),
        ("square(pos(x[0]))", "convex"),
        ("square(log(x[0]))", "unknown"),
    ],
)
def test_curvature_by_hand(text: str, curvature: str) -> None:
    assert _facts(text).curvature == curvature


def test_sign_of_a_variable_helps() -> None:
    """x³ is convex on x ≥ 0 and neither on the line."""
    assert _facts("sum(x ** 3)").curvature == "unknown"
    assert _facts("sum(x ** 3)", "var x : real[3] >= 0").curvature == "convex"


def test_the_reason_leads_to_the_guilty_part() -> None:
    facts = _facts("sum(exp(x)) + sqrt(norm2(x))")
    assert facts.guilty is not None and facts.guilty.span is not None
    assert facts.guilty.span.text == "sqrt(norm2(x))"
    assert any("sqrt is concave" in line for line in facts.chain())


@pytest.mark.parametrize(
    ("text", "modulus"),
    [
        ("sum(exp(x)) + 0.5 * sum_squares(x)", 1.0),
        ("3 * square(x[0]) + square(x[1]) + 2 * square(x[2])", 2.0),
        ("sum_squares(x) + x[0] * x[1]", 1.0),
        ("sum(exp(x))", None),
        ("square(x[0]) + logistic(x[1])", None),
    ],
)
def test_strong_convexity_by_hand(text: str, modulus: float | None) -> None:
    """The least eigenvalue of the quadratic part: for x² + y² + z² + xy it is 2 − 1."""
    instance = optdsl.parse(f"var x : real[3]\nminimize {text}\n").instance()
    found = strong_convexity(instance, Analysis(instance))
    assert found == (None if modulus is None else pytest.approx(modulus, rel=1e-9))


def test_strong_convexity_is_a_lower_bound_on_the_curvature() -> None:
    from optdsl.forms import match_smooth

    text = "var x : real[3]\nminimize sum(logistic(x)) + quad_form(x, [[2, 1, 0], [1, 3, 0], [0, 0, 1]]) + exp(x[0])\n"
    (form,) = match_smooth.match(optdsl.parse(text).instance())
    assert isinstance(form, SmoothUnconstrained) and form.strong_convexity is not None and form.hess is not None
    rng = np.random.default_rng(0)
    for _ in range(20):
        H = form.hess(3 * rng.standard_normal(3))
        assert np.linalg.eigvalsh(H)[0] >= form.strong_convexity - 1e-12


assert set(SHAPES) <= set(PROBLEM.variables)
