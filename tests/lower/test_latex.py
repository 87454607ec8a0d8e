"""Problems as mathematics, compared with what one would write."""

from __future__ import annotations

from pathlib import Path

import optdsl
from optdsl.functions.table import functions
from optdsl.ir.sets.table import set_kinds

PROBLEMS = Path(__file__).parents[2] / "problems"


def test_transport() -> None:
    assert (
        optdsl.load(PROBLEMS / "linear/transport.opt").latex()
        == r"""\begin{aligned}
  \min \quad & \sum_{i \in \mathrm{Plants},\ j \in \mathrm{Markets}} \frac{\mathrm{freight}\, \mathrm{distance}_{i, j}}{1000}\, \mathrm{ship}_{i, j} \\
  \text{s.t.} \quad & \sum_{j \in \mathrm{Markets}} \mathrm{ship}_{i, j} \le \mathrm{capacity}_{i} \qquad \forall\, i \in \mathrm{Plants} \qquad \text{(supply)} \\
   & \sum_{i \in \mathrm{Plants}} \mathrm{ship}_{i, j} \ge \mathrm{demand}_{j} \qquad \forall\, j \in \mathrm{Markets} \qquad \text{(needs)} \\
   & \mathrm{ship} \in \mathbb R^{\mathrm{Plants} \times \mathrm{Markets}},\ \mathrm{ship} \ge 0
\end{aligned}"""
    )


def test_named_expressions_keep_their_names() -> None:
    shown = optdsl.load(PROBLEMS / "manifold/sparse_pca.opt").latex()
    assert r"\operatorname{tr}(X^\top H X)" in shown and r"\mu\, \|X\|_1" in shown
    assert r"\text{where} \quad & H = \frac{Z^\top Z}{1797}" in shown


def test_brackets_follow_binding() -> None:
    shown = optdsl.parse("var x : real[2]\nlet a = 2\nminimize (x[0] + 1) * (x[1] - a) ** 2 - (x[0] - x[1])\n").latex()
    assert r"\left(x_{0} + 1\right)\, \left(x_{1} - 2\right)^2 - \left(x_{0} - x_{1}\right)" in shown


def test_every_function_and_set_has_latex() -> None:
    for f in functions().values():
        assert f.latex.format("x", "y", **dict.fromkeys(f.params, 1))
    for k in set_kinds().values():
        assert k.latex.format(**dict.fromkeys(k.params, 1))
