"""The baselines on blocks worked by hand, and the order of all methods."""

from __future__ import annotations

import numpy as np
import pytest

from optdsl.backends.base import Backend, Trait
from optdsl.backends.masks.approx2 import Approx2
from optdsl.backends.masks.bi_nm import BiNM
from optdsl.backends.masks.exact_masks import ExactMasks
from optdsl.backends.masks.greedy_mask import GreedyMask
from optdsl.backends.masks.mask_lp import MaskLP
from optdsl.backends.masks.random_masks import RandomMasks, RandomMasksOptions
from optdsl.backends.masks.tsenor import Tsenor
from optdsl.certify.conclude import prove
from optdsl.certify.record import Tolerances
from optdsl.forms.answer import Claim, StopKind
from optdsl.forms.mask import Mask
from optdsl.run.run import Run
from tests.masks.conftest import retained
from tests.masks.test_exact import holds, solve

FIRST = np.array([[9, 8, 7, 1], [8, 9, 1, 2], [7, 1, 9, 3], [1, 2, 3, 4]])
SECOND = np.array([[1, 7, 6, 6], [7, 8, 8, 6], [0, 7, 0, 9], [7, 8, 9, 5]])
BACKENDS = [ExactMasks(), Tsenor(), MaskLP(), GreedyMask(), Approx2(), BiNM(), RandomMasks()]


def score(backend: Backend, W: np.ndarray, N: int, M: int, exactly: bool = False, **options: object) -> float:
    form = Mask.from_scores(W, N, M, transposable=True, exactly=exactly)
    answer = backend.solve(form, backend.Options(**options), Run(threads=1))
    assert holds(answer.point, N, M, exactly)
    return -float(answer.objective or 0.0)


@pytest.mark.parametrize(
    ("backend", "values"), [(Approx2(), (47, 42)), (BiNM(), (50, 42)), (GreedyMask(), (53, 49)), (MaskLP(), (53, 60))]
)
def test_blocks_worked_by_hand(backend: Backend, values: tuple[int, int]) -> None:
    assert (score(backend, FIRST, 2, 4), score(backend, SECOND, 2, 4)) == values


def test_the_linear_program_agrees_and_its_potentials_prove_it(rng: np.random.Generator) -> None:
    W = rng.standard_normal((16, 32))
    for exactly in (True, False):
        form = Mask.from_scores(W, 4, 8, transposable=True, exactly=exactly)
        answer = MaskLP().solve(form, MaskLP.Options(), Run(threads=1))
        assert answer.objective == pytest.approx(solve(W, 4, 8, exactly).objective, rel=1e-12)
        proof = prove(form, answer, Tolerances())
        assert proof.bound == pytest.approx(proof.objective, rel=1e-12)


def test_guarantees_of_greedy_and_of_the_2_approximation(rng: np.random.Generator) -> None:
    for _ in range(20):
        W = rng.random((8, 8))
        best = retained(solve(W, 4, 8))
        at_most = retained(solve(W, 4, 8, exactly=False))
        assert score(GreedyMask(), W, 4, 8) >= 0.5 * at_most
        assert W.sum() - score(Approx2(), W, 4, 8) <= 2 * (W.sum() - best) + 1e-12


def test_order_of_the_methods(rng: np.random.Generator) -> None:
    W = np.abs(rng.standard_normal((128, 256)))
    names = ["exact_masks", "tsenor", "greedy_mask", "bi_nm", "approx2", "random_masks"]
    by_name = {b.name: b for b in BACKENDS}
    values = [score(by_name[name], W, 8, 16) for name in names]
    assert values == sorted(values, reverse=True)
    assert score(GreedyMask(), W, 8, 16, search=False) <= score(GreedyMask(), W, 8, 16)


def test_methods_that_may_fall_short_refuse_exact_patterns() -> None:
    exact = Mask.from_scores(FIRST, 2, 4, transposable=True, exactly=True)
    plain = Mask.from_scores(FIRST, 2, 4)
    refused = {b.name for b in BACKENDS if not all(a.check(exact) for a in b.assumes)}
    assert refused == {"approx2", "bi_nm"}
    assert [b.name for b in BACKENDS if all(a.check(plain) for a in b.assumes)] == ["exact_masks"]


def test_exact_masks_come_first_and_baselines_last() -> None:
    order = sorted(BACKENDS, key=lambda b: b.preference)
    assert [b.name for b in order][:2] == ["exact_masks", "tsenor"]
    assert all(Trait.BASELINE in b.traits for b in order[2:])


@pytest.mark.parametrize("backend", [b for b in BACKENDS if b.name != "exact_masks"], ids=lambda b: b.name)
def test_stopping_at_once_and_negative_scores(backend: Backend, rng: np.random.Generator) -> None:
    W = rng.standard_normal((16, 16))
    form = Mask.from_scores(W, 2, 4, transposable=True)
    answer = backend.solve(form, backend.Options(), Run(threads=1, time_limit=0.0))
    assert (answer.stop.kind, answer.claim) == (StopKind.TIME_LIMIT, Claim.FEASIBLE)
    assert holds(answer.point, 2, 4, False)
    whole = backend.solve(form, backend.Options(), Run(threads=1)).point
    assert np.all(W[whole] > 0) and holds(whole, 2, 4, False)


def test_random_masks_depend_on_the_seed_alone(rng: np.random.Generator) -> None:
    form = Mask.from_scores(rng.random((64, 64)), 8, 16, transposable=True, exactly=True)
    runs = [
        RandomMasks().solve(form, RandomMasksOptions(), Run(seed=s, threads=t)) for s, t in ((1, 1), (1, 3), (2, 1))
    ]
    np.testing.assert_array_equal(runs[0].point, runs[1].point)
    assert np.any(runs[0].point != runs[2].point)
