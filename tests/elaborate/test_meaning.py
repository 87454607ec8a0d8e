"""What programs mean: small problems whose optimum is known by hand, by SciPy or by enumeration, feature by feature."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import optdsl

PROBLEMS = Path(__file__).parents[2] / "problems"
PLANTS = """
set Plants = ["a", "b"]
set Markets = ["x", "y", "z"]
data cap : real[Plants] = {"a": 35, "b": 50}
data need : real[Markets] = {"x": 30, "y": 20, "z": 25}
data cost : real[Plants, Markets] = {"a": {"x": 2, "y": 3, "z": 1}, "b": {"x": 5, "y": 4, "z": 8}}
var ship : real[Plants, Markets] >= 0
minimize sum(cost[i, j] * ship[i, j] for i in Plants, j in Markets)
subject to
"""
ROWS = """
  supply: for i in Plants: sum(ship[i, j] for j in Markets) <= cap[i]
  needs: for j in Markets: sum(ship[i, j] for i in Plants) >= need[j]
"""


def optimum(text: str, **kwargs: Any) -> float:
    report = optdsl.parse(text).solve(**kwargs)
    assert report.verdict.kind == "optimal", report.verdict
    assert report.objective is not None
    return report.objective


def transport(cap: list[float], need: list[float]) -> float:
    """The same program by SciPy."""
    c = [2, 3, 1, 5, 4, 8]
    A = np.zeros((5, 6))
    for i, j in itertools.product(range(2), range(3)):
        A[i, 3 * i + j] = 1
        A[2 + j, 3 * i + j] = -1
    return float(linprog(c, A_ub=A, b_ub=[*cap, *(-n for n in need)]).fun)


def test_families_over_labels() -> None:
    assert optimum(PLANTS + ROWS) == pytest.approx(transport([35, 50], [30, 20, 25]))


def test_duals_are_changes_of_the_optimum() -> None:
    """Of a family, for each label, by perturbing its right side in SciPy."""
    report = optdsl.parse(PLANTS + ROWS).solve()
    base = transport([35, 50], [30, 20, 25])
    for k, dual in enumerate(report.dual("supply")):
        cap = [35.0, 50.0]
        cap[k] += 1e-3
        assert dual == pytest.approx((transport(cap, [30, 20, 25]) - base) / 1e-3, abs=1e-6)
    for k, dual in enumerate(report.dual("needs")):
        need = [30.0, 20.0, 25.0]
        need[k] += 1e-3
        assert dual == pytest.approx((transport([35, 50], need) - base) / 1e-3, abs=1e-6)


@pytest.mark.parametrize("backend", ["highs", "clarabel", "scs", "osqp", "ipopt"])
def test_the_sign_of_duals_is_one_for_all(backend: str) -> None:
    """max −(x−3)² − (y−2)², x + y ≤ r, x ≥ l, x − y = d: by the multipliers of the optimum worked out by hand."""
    text = "var x : real\nvar y : real\nmaximize -(x - 3) ** 2 - (y - 2) ** 2\nsubject to\n  a: x + y <= 3\n"
    report = optdsl.parse(text).solve(backend)
    # at (2, 1) the gradient is (2, 2); one more unit of r gives 2
    assert report.objective == pytest.approx(-2, abs=1e-5)
    assert report.dual("a")[0] == pytest.approx(2, abs=1e-3)
    turned = text.replace("maximize -(x - 3) ** 2 - (y - 2) ** 2", "minimize (x - 3) ** 2 + (y - 2) ** 2")
    assert optdsl.parse(turned).solve(backend).dual("a")[0] == pytest.approx(-2, abs=1e-3)
    above = "var x : real\nminimize x ** 2\nsubject to\n  b: x >= 3\n"
    assert optdsl.parse(above).solve(backend).dual("b")[0] == pytest.approx(6, abs=1e-3)
    equal = "var x : real\nvar y : real\nminimize x ** 2 + y ** 2\nsubject to\n  c: x + y == 4\n"
    assert optdsl.parse(equal).solve(backend).dual("c")[0] == pytest.approx(4, abs=1e-3)


def test_filters_and_data_of_labels() -> None:
    """At most 0.4 in each sector: a cap a label, found by comparing data of labels with an index."""
    text = """
set Sectors = ["tech", "food"]
set Assets = ["p", "q", "r"]
data sector : Sectors[Assets] = {"p": "tech", "q": "food", "r": "tech"}
data gain : real[Assets] = {"p": 3, "q": 1, "r": 2}
data cap : real[Sectors] = {"tech": 0.4, "food": 0.5}
var w : real[Assets] >= 0
maximize sum(gain[i] * w[i] for i in Assets)
subject to
  limit: for s in Sectors: sum(w[i] for i in Assets if sector[i] == s) <= cap[s]
  one: for i in Assets: w[i] <= 0.3
"""
    assert optimum(text) == pytest.approx(3 * 0.3 + 2 * 0.1 + 1 * 0.3)


def test_sparse_tuples_and_joins() -> None:
    """The maximum flow of a small network, 2 + 1 by cuts."""
    text = """
set N = ["s", "u", "v", "t"]
set Arcs in N * N = [("s", "u"), ("s", "v"), ("u", "v"), ("u", "t"), ("v", "t")]
data cap : real[Arcs] = [2, 2, 1, 1, 2]
var f : real[Arcs] >= 0
maximize sum(f[i, j] for (i, j) in Arcs if i == "s")
subject to
  for k in N if k != "s" and k != "t":
    sum(f[i, j] for (i, j) in Arcs if j == k) == sum(f[i, j] for (i, j) in Arcs if i == k)
  limit: for (i, j) in Arcs: f[i, j] <= cap[i, j]
"""
    assert optimum(text) == pytest.approx(3)


def test_ordered_sets() -> None:
    text = """
set Days = ["mon", "tue", "wed"]
data d : real[Days] = {"mon": 1, "tue": 5, "wed": 2}
var made : real[Days] >= 0 <= 3
var stock : real[Days] >= 0
minimize sum(stock[t] for t in Days)
subject to
  stock[first(Days)] == made[first(Days)] - d[first(Days)]
  for t in Days if t != first(Days): stock[t] == stock[prev(t)] + made[t] - d[t]
  stock[last(Days)] == 0
"""
    assert optimum(text) == pytest.approx(2)


def test_ranges_slices_and_negative_indices() -> None:
    text = """
var x : real[6] >= 0
minimize sum(x[1:3]) + 2 * sum(x[3:]) + x[-1] + 10 * x[0]
subject to
  for t in range(1, 6): x[t] - x[t - 1] == 1
  0 <= x[0] <= 5
"""
    assert optimum(text) == pytest.approx(1 + 2 + 2 * (3 + 4 + 5) + 5)


def test_integer_sets_as_axes() -> None:
    text = "set T = 3..6\nvar x : real[T] >= 0\nminimize sum(t * x[t] for t in T)\nsubject to\n  sum(x) == 2\n  for t in 3..5: x[t] <= 1\n"
    assert optimum(text) == pytest.approx(3 + 4)


def test_lists_and_filtered_sets() -> None:
    text = PLANTS.replace(
        "var ship", "set Big = [i for i in Plants if cap[i] > 40]\nlet caps = [cap[i] / 10 for i in Plants]\nvar ship"
    )
    instance = optdsl.parse(text + ROWS).instance()
    assert instance.labels(("Big",), (1,)) == [["b"]]
    value: Any = instance.lets["caps"]
    np.testing.assert_allclose(value.value, [3.5, 5.0])


def test_definitions_expand() -> None:
    text = "def twice(r) = 2 * r\ndef norm4(r) = sum(twice(r) ** 4)\nvar x : real[2]\nminimize norm4(x - [1, 2]) + twice(x[0])\n"
    found = optdsl.parse(text).solve()
    # 64 (x − 1)³ · … : d/dx [16 (x−1)⁴ + 2x] = 0 at x − 1 = −(1/32)^(1/3)
    assert found["x"][0] == pytest.approx(1 - (1 / 32) ** (1 / 3), abs=1e-3)


def test_indexing_twice() -> None:
    text = "data A : real[2, 2] = [[1, 2], [3, 4]]\nvar X : real[2, 2]\n"
    text += "minimize sum((X[i][j] - A[i][j]) ** 2 for i in range(2), j in range(2))\n"
    report = optdsl.parse(text).solve()
    np.testing.assert_allclose(report["X"], [[1, 2], [3, 4]], atol=1e-5)


# --- whole numbers, against enumeration ----------------------------------------------------------


def test_subsets_by_enumeration() -> None:
    values, weights = [10, 13, 7, 8, 6], [3, 4, 2, 3, 1]
    text = f"""
set Items = ["a", "b", "c", "d", "e"]
data v : real[Items] = {values}
data w : real[Items] = {weights}
var S : subset(Items, size <= 3)
maximize sum(v[i] for i in S)
subject to
  sum(w[i] for i in S) <= 7
"""
    best = max(
        sum(values[i] for i in c)
        for k in range(4)
        for c in itertools.combinations(range(5), k)
        if sum(weights[i] for i in c) <= 7
    )
    assert optimum(text) == pytest.approx(best)


def test_permutations_by_enumeration() -> None:
    c = [3.0, 1.0, 2.0, 5.0]
    best = min(float(np.dot(c, p)) for p in itertools.permutations(range(4)))
    assert optimum(f"var p : int[4] in permutation\nminimize sum({c} * p)\n") == pytest.approx(best)


@pytest.mark.parametrize(
    ("within", "count"),
    [
        ("sparse(2)", lambda x: np.count_nonzero(x) <= 2),
        ("nm(1, 2)", lambda x: all(np.count_nonzero(x[i : i + 2]) <= 1 for i in (0, 2))),
    ],
)
def test_patterns_of_a_bounded_variable_by_enumeration(within: str, count: Any) -> None:
    target = np.array([1.0, -2.0, 0.5, 1.5])
    text = f"var x : real[4] in {within} >= -3 <= 3\nminimize sum(abs(x - {target.tolist()}))\n"
    supports = (np.array(s) for s in itertools.product([0, 1], repeat=4) if count(np.array(s)))
    best = min(float(np.abs(target * (1 - s)).sum()) for s in supports)
    assert optimum(text) == pytest.approx(best)


def test_indicators_and_strict_integers() -> None:
    text = """
var open : bool[2]
var x : real[2] >= 0 <= 10
var k : int >= 0 <= 9
minimize 5 * open[0] + 3 * open[1] - x[0] - x[1] + k
subject to
  for f in range(2): 1 - open[f] => x[f] <= 1
  k > 2
  use: open[0] => x[0] >= 4
"""
    # opening 1 gains 9 for 3, opening 0 gains 9 for 5; k = 3
    assert optimum(text) == pytest.approx(5 + 3 - 20 + 3)


def test_complementarity() -> None:
    """min (p−3)² + (q−2)² with pq = 0: drop the smaller, 4."""
    text = "var p : real >= 0 <= 10\nvar q : real >= 0 <= 10\n"
    text += "minimize (p - 3) ** 2 + (q - 2) ** 2\nsubject to\n  0 <= p complements q >= 0\n"
    report = optdsl.parse(text).solve()
    assert report.objective == pytest.approx(4, abs=1e-6) and report.verdict.kind in ("stationary", "optimal")
    linear = text.replace("(p - 3) ** 2 + (q - 2) ** 2", "-3 * p - 2 * q")
    assert optimum(linear) == pytest.approx(-30)


# --- convex sets and matrices ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("within", "wanted"),
    [
        ("ball(2)", 3 - 2),
        ("ball(2, p=1)", None),
        ("box(-1, [0.5, 2])", None),
        ("simplex", None),
        ("nonneg", 0.0),
        ("l1_ball(1)", None),
        ("halfspace([1, 1], 1)", None),
        ("polyhedron([[1, 0], [0, 1]], [1, 1])", None),
        ("ellipsoid([[1, 0], [0, 0.25]])", None),
        ("box(0, 1) & halfspace([1, 1], 1.5)", None),
    ],
)
def test_projections_onto_convex_sets(within: str, wanted: float | None) -> None:
    """‖x − t‖ over the set equals CVXPY's answer."""
    import cvxpy as cp

    t = np.array([3.0 * 0.6, 3.0 * 0.8])
    x = cp.Variable(2)
    rows = {
        "ball(2)": [cp.norm(x) <= 2],
        "ball(2, p=1)": [cp.norm1(x) <= 2],
        "box(-1, [0.5, 2])": [x >= -1, x <= np.array([0.5, 2])],
        "simplex": [x >= 0, cp.sum(x) == 1],
        "nonneg": [x >= 0],
        "l1_ball(1)": [cp.norm1(x) <= 1],
        "halfspace([1, 1], 1)": [cp.sum(x) <= 1],
        "polyhedron([[1, 0], [0, 1]], [1, 1])": [x <= 1],
        "ellipsoid([[1, 0], [0, 0.25]])": [cp.square(x[0]) + 0.25 * cp.square(x[1]) <= 1],
        "box(0, 1) & halfspace([1, 1], 1.5)": [x >= 0, x <= 1, cp.sum(x) <= 1.5],
    }[within]
    peer = cp.Problem(cp.Minimize(cp.sum_squares(x - t)), rows)
    peer.solve()
    found = optimum(f"var x : real[2] in {within}\nminimize sum_squares(x - {t.tolist()})\n")
    assert found == pytest.approx(peer.value, abs=2e-6)
    if wanted is not None:
        assert np.sqrt(max(found, 0)) == pytest.approx(wanted, abs=1e-4)


def test_semidefinite_rows() -> None:
    """The least t with tI ⪰ A is the largest eigenvalue; a nearest correlation matrix has a unit diagonal."""
    A = np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, -1.0]])
    text = f"data A : real[n, n] = {A.tolist()}\nvar t : real\nminimize t\nsubject to\n  t * eye(3) >> A\n"
    assert optimum(text) == pytest.approx(np.linalg.eigvalsh(A)[-1], abs=1e-6)
    text = "var X : real[2, 2] in psd\nminimize sum_squares(X - [[1, 2], [2, 1]])\nsubject to\n  for i in range(2): X[i, i] == 1\n"
    assert optimum(text) == pytest.approx(2.0, abs=1e-5)


def test_missing_data_is_checked_and_asked_for() -> None:
    model = optdsl.parse("data A : real[m, n]\ndata b : real[m]\nvar x : real[n]\nminimize sum_squares(A @ x - b)\n")
    assert model.check() == []
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((8, 3)), rng.standard_normal(8)
    report = model.solve(data={"A": A, "b": b})
    np.testing.assert_allclose(report["x"], np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-6)
    wrong = optdsl.parse("data A : real[m, n]\nvar x : real[m]\nminimize sum_squares(A @ x)\n")
    with pytest.raises(optdsl.OptError) as caught:
        wrong.check()
    assert caught.value.diagnostics[0].code == "E203"


def test_models_without_data_are_checked_whatever_they_do_with_sizes() -> None:
    """The shipped mask problems and the standardised regression, with every value still to come."""
    for file in ("sparsity/mask_minilm_2_4.opt", "sparsity/mask_minilm_16_32.opt"):
        model = optdsl.load(PROBLEMS / file)
        assert model.check() == []
        with pytest.raises(optdsl.OptError) as caught:
            model.solve()
        assert [d.code for d in caught.value.diagnostics] == ["E301"]
    text = (PROBLEMS / "smooth/logistic_breast_cancer.opt").read_text(encoding="utf-8")
    for part in ("data", "target"):
        text = text.replace(f' = dataset("breast_cancer", "{part}")', "")
    assert optdsl.parse(text).check() == []


def test_params_sets_imports_and_foreach(tmp_path: Path) -> None:
    (tmp_path / "shared.opt").write_text("param mu : real >= 0 = 2\ndef loss(r) = sum_squares(r)\n")
    text = 'import "shared.opt"\nvar x : real[2]\nminimize loss(x - [1, 1]) + mu * sum_squares(x)\n'
    problem = optdsl.parse(text, folder=tmp_path)
    assert problem.solve().objective == pytest.approx(4 / 3)
    assert problem.solve(mu=1).objective == pytest.approx(1.0)
    many = optdsl.parse("foreach k in [1, 3]\nvar x : real\nminimize (x - k) ** 2 + k\n").solve()
    assert [p.objective for p in many.parts] == pytest.approx([1, 3])


def test_goal_budget_and_options_of_the_file() -> None:
    base = "var x : real[2] = [-1.2, 1]\nminimize 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2\n"
    report = optdsl.parse(base + "solve with bfgs(max_iter=3)\n").solve()
    assert report.stop.kind == "iteration_limit" and report.iterations == 3
    report = optdsl.parse(base + "solve with bfgs(max_iter=3)\n").solve(options={"max_iter": 4})
    assert report.iterations == 4
    assert optdsl.parse(base + "budget iterations <= 5\n").solve().iterations == 5
    loose = optdsl.parse(base + "goal stationary(1e-2)\nsolve with bfgs(max_iter=35)\n").solve()
    assert loose.verdict.tolerance == 1e-2
    found = optdsl.parse("var x : real[2] in simplex\nsubject to\n  x[0] >= 0.9\n").solve()
    assert found.verdict.kind == "feasible"


@pytest.mark.parametrize("name", ["cone", "standard", "rows", "bounds", "row"])
def test_a_constraint_may_carry_any_name(name: str) -> None:
    """Names of constraints live apart from all others: their duals arrive."""
    text = f"var x : real\nvar y : real\nminimize x + y\nsubject to\n  {name}: x >= 0.6\n  norm2([x, y]) <= 1\n"
    report = optdsl.parse(text).solve()
    # at x = 0.6, y = −√(1 − x²) = −0.8: d/dx (x + y) = 1 + x/√(1 − x²) = 1.75
    assert report.objective == pytest.approx(-0.2, abs=1e-6)
    assert report.dual(name)[0] == pytest.approx(1.75, abs=1e-4)
