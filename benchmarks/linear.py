"""What the corridor adds to a plain HiGHS call on a transport program given as matrices, and what the proof costs.

PYTHONPATH=. python benchmarks/linear.py [plants] [markets] [repeats]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from highspy._core import _Highs

from optdsl.backends.linear.highs import Highs, HighsOptions
from optdsl.certify.conclude import conclude, prove
from optdsl.certify.record import Tolerances
from optdsl.forms.answer import Answer, Stop, StopKind
from optdsl.forms.linear import LinearProgram
from optdsl.run.run import Run


def transport(plants: int, markets: int) -> LinearProgram:
    """Points in the unit square, cost = distance, supply 1.2 times demand."""
    rng = np.random.default_rng(0)
    places, sinks = rng.random((plants, 2)), rng.random((markets, 2))
    cost = np.linalg.norm(places[:, None] - sinks[None], axis=2)
    demand = rng.uniform(1, 2, markets)
    supply = rng.uniform(1, 2, plants)
    supply *= 1.2 * demand.sum() / supply.sum()
    A = sp.vstack([
        sp.kron(sp.eye_array(plants), np.ones((1, markets))),
        sp.kron(np.ones((1, plants)), sp.eye_array(markets)),
    ], format="csr")  # fmt: skip
    lower = np.concatenate([np.full(plants, -np.inf), demand])
    upper = np.concatenate([supply, np.full(markets, np.inf)])
    return LinearProgram.from_arrays(cost.ravel(), A, lower, upper, 0.0)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    out = work()
    return time.perf_counter() - start, out


def plain(form: LinearProgram) -> tuple[float, float, float]:
    """(seconds to load, seconds to solve, objective) of HiGHS called directly."""
    h = _Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("random_seed", int(Run().rng("highs").integers(2**31 - 1)))  # the same pivots as the backend
    m, n = form.A.shape
    A, none = form.A, np.zeros(0)

    def load() -> None:
        h.passModel(
            n, m, A.nnz, 0, 2, 1, 1, 0.0, form.c, form.lower, form.upper, form.row_lower, form.row_upper,
            A.indptr, A.indices, A.data, np.zeros(n + 1, np.int32), none.astype(np.int32), none, np.zeros(n, np.int32),
        )  # fmt: skip

    loading, _ = timed(load)
    solving, _ = timed(h.run)
    return loading, solving, float(h.getObjectiveValue())


def main(plants: int = 1000, markets: int = 1000, repeats: int = 5) -> None:
    """Medians over `repeats` runs taken in turn."""
    form, tol = transport(plants, markets), Tolerances()
    prove(transport(3, 3), Answer(Stop(StopKind.STALLED)), tol)  # imports are not what is measured
    seconds: dict[str, list[float]] = {"load": [], "solve": [], "backend": [], "proof": []}
    for _ in range(repeats):
        loading, solving, value = plain(form)
        ours, answer = timed(lambda: Highs().solve(form, HighsOptions(), Run()))
        proving, proof = timed(lambda: prove(replace(form), answer, tol))  # noqa: B023
        for name, spent in zip(seconds, (loading, solving, ours, proving), strict=True):
            seconds[name].append(spent)
    load, solve, backend, proving = (float(np.median(spent)) for spent in seconds.values())
    verdict = conclude(answer, proof, tol).verdict
    print(f"HiGHS {_Highs().version()}, {plants} x {markets}, {form.A.nnz} nonzeros, median of {repeats}")
    print(f"plain highspy  load {load:.3f} s, solve {solve:.2f} s, objective {value:.9g}")
    print(f"highs backend  {backend:.2f} s ({backend / (load + solve) - 1:+.1%}), objective {answer.objective:.9g}")
    print(f"certificate    {proving:.2f} s ({proving / backend:.1%} of that), {verdict.kind.value} {verdict.value:.2g}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
