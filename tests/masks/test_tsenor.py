"""TSENOR: the potential form is Dykstra's algorithm; its plans, prices and roundings."""

from __future__ import annotations

import numpy as np
import pytest

from optdsl.backends.masks.tsenor import Tsenor, TsenorOptions, prices, scaled
from optdsl.forms.answer import Answer, StopKind
from optdsl.forms.mask import Mask
from optdsl.kernels.masks.blocks import cut
from optdsl.kernels.masks.rounding import complete, exchange, greedy
from optdsl.kernels.masks.transport import anneal_blocks, cold_start, log_sweep
from optdsl.run.run import Run
from optdsl.syntax.diagnostics.record import OptError
from tests.masks.conftest import Floats, block_kinds, lp_optimum, retained
from tests.masks.test_exact import dual, holds, solve


def dykstra(w: Floats, N: int, tau: float, sweeps: int) -> Floats:
    """The algorithm as published: KL projections on rows, columns and capacity, with the multiplier Q."""
    S = np.exp(tau * (w - w.max()))
    Q = np.ones_like(S)
    for _ in range(sweeps):
        S = S * (N / S.sum(axis=1, keepdims=True))
        S = S * (N / S.sum(axis=0, keepdims=True))
        capped = np.minimum(S * Q, 1.0)
        Q = S * Q / capped
        S = capped
    return S


def plan(w: Floats, tau: float, a: Floats, b: Floats) -> Floats:
    return np.exp(np.minimum(tau * w + a[:, None] + b[None, :], 0.0))


def test_potential_form_equals_dykstra_at_every_sweep(rng: np.random.Generator) -> None:
    import torch

    from optdsl.kernels.masks.transport_torch import sweep

    w, tau, N = rng.random((8, 8)), 30.0, 3
    a, b, L = np.empty(8), np.empty(8), np.empty((8, 8))
    cold_start(w, tau, a, b)
    wt = torch.as_tensor(tau * w)[None]
    ta, tb = torch.tensor(a)[None], torch.tensor(b)[None]
    for sweeps in range(1, 38):
        literal = dykstra(w, N, tau, sweeps)
        log_sweep(w, tau, N, a, b, L)
        ta, tb = sweep(wt, N, ta, tb)
        fa, fb, error = np.zeros((1, 8)), np.zeros((1, 8)), np.zeros(1)
        anneal_blocks(w[None], N, np.array([tau]), sweeps, 0.0, fa, fb, error)
        for form in (plan(w, tau, a, b), plan(w, tau, ta[0].numpy(), tb[0].numpy()), plan(w, tau, fa[0], fb[0])):
            np.testing.assert_allclose(form, literal, rtol=0, atol=1e-12)
        assert error[0] == pytest.approx(np.abs(literal.sum(axis=1) - N).max(), abs=1e-12)


@pytest.mark.parametrize("tau", [100.0, 3000.0])
def test_factors_equal_logarithms_beyond_the_range_of_single_precision(tau: float, rng: np.random.Generator) -> None:
    w = rng.random((1, 8, 8)) ** 4
    w[0, 3] = 0.0
    w[0, :, 5] *= 1e-3
    a, b, L = np.empty(8), np.empty(8), np.empty((8, 8))
    cold_start(w[0], tau, a, b)
    for _ in range(40):
        log_sweep(w[0], tau, 3, a, b, L)
    for dtype, atol in ((np.float64, 1e-9), (np.float32, 2e-3)):
        fa, fb, error = np.zeros((1, 8)), np.zeros((1, 8)), np.zeros(1)
        anneal_blocks(w.astype(dtype), 3, np.array([tau]), 40, 0.0, fa, fb, error)
        S = plan(w[0].astype(dtype), tau, fa[0], fb[0])
        np.testing.assert_allclose(S, plan(w[0], tau, a, b), rtol=0, atol=atol)


def test_annealing_by_torch_and_by_compiled_loops_agree(rng: np.random.Generator) -> None:
    import torch

    from optdsl.kernels.masks.transport_torch import anneal

    w = rng.random((5, 8, 8))
    taus = [25.0, 50.0, 100.0]
    a, b, error = np.zeros((5, 8)), np.zeros((5, 8)), np.zeros(5)
    anneal_blocks(w, 4, np.array(taus), 40, 0.0, a, b, error)
    ta, tb, terror = anneal(torch.as_tensor(w), 4, taus, 40, 0.0)
    np.testing.assert_allclose(a[:, :, None] + b[:, None, :], (ta[:, :, None] + tb[:, None, :]).numpy(), atol=1e-8)
    np.testing.assert_allclose(error, terror.numpy(), atol=1e-10)


def test_entropy_gap_of_a_converged_plan(rng: np.random.Generator) -> None:
    """⟨S, w⟩ ≥ OPT − M N log(M/N)/τ."""
    w, tau, N, M = rng.random((1, 8, 8)), 40.0, 4, 8
    a, b, error = np.zeros((1, M)), np.zeros((1, M)), np.zeros(1)
    anneal_blocks(w, N, np.array([tau]), 3000, 1e-10, a, b, error)
    S = plan(w[0], tau, a[0], b[0])
    optimum = lp_optimum(w[0], N, True)
    assert optimum - M * N * np.log(M / N) / tau <= np.sum(S * w[0]) <= optimum + 1e-8


def tsenor(W: Floats, N: int, M: int, exactly: bool = True, **options: object) -> Answer:
    form = Mask.from_scores(W, N, M, transposable=True, exactly=exactly)
    return Tsenor().solve(form, TsenorOptions(**options), Run(threads=1))


def test_two_blocks_worked_by_hand() -> None:
    first = np.array([[9, 8, 7, 1], [8, 9, 1, 2], [7, 1, 9, 3], [1, 2, 3, 4.0]])
    answer = tsenor(first, 2, 4, tau=100, anneal=1)
    assert answer.objective == -53
    assert dual(first[None], answer.dual["u"], answer.dual["v"], 2)[0] == pytest.approx(53.0008, abs=2e-4)
    second = np.array([[1, 7, 6, 6], [7, 8, 8, 6], [0, 7, 0, 9], [7, 8, 9, 5.0]])
    answer = tsenor(second, 2, 4, tau=100, anneal=1)
    assert answer.objective == -60
    assert dual(second[None], answer.dual["u"], answer.dual["v"], 2)[0] == pytest.approx(60.003, abs=5e-4)


@pytest.mark.parametrize("exactly", [True, False])
def test_feasible_and_near_the_optimum_on_all_kinds(exactly: bool) -> None:
    for kind, W in block_kinds(16, 4, seed=2).items():
        answer, best = tsenor(W, 8, 16, exactly, exchange=True), solve(W, 8, 16, exactly)
        assert holds(answer.point, 8, 16, exactly), kind
        upper = dual(cut(W, 16), answer.dual["u"], answer.dual["v"], 8).sum()
        slack = 1e-9 * max(np.abs(W).max(), 1e-300) * W.size
        assert retained(answer) - slack <= retained(best) <= upper + slack, kind
        if kind in ("gaussian", "uniform", "signed", "shifted below 0"):
            assert retained(best) - retained(answer) <= 0.01 * abs(retained(best)), kind


def test_all_equal_scores_give_the_uniform_plan() -> None:
    w, scale, shift = scaled(np.full((1, 6, 6), 0.7), at_most=True)
    a, b, error = np.zeros((1, 6)), np.zeros((1, 6)), np.zeros(1)
    anneal_blocks(w, 2, np.array([50.0]), 5, 0.0, a, b, error)
    np.testing.assert_allclose(plan(w[0], 50.0, a[0], b[0]), 2 / 6, rtol=1e-12)
    u, v = prices(a, b, 50.0, scale, shift, at_most=True)
    assert min(u.min(), v.min()) >= 0


def test_rounding_never_gets_worse(rng: np.random.Generator) -> None:
    for at_most in (False, True):
        for _ in range(30):
            W = rng.standard_normal((8, 8))
            W = np.maximum(W, 0) if at_most else W
            X = np.zeros((8, 8), dtype=bool)
            greedy(W, W, 4, at_most, X)
            first = W[X].sum() if X.sum() == 32 or at_most else -np.inf
            complete(W, 4, at_most, 16, X)
            second = W[X].sum()
            exchange(W, X)
            assert first <= second <= W[X].sum() <= lp_optimum(W, 4, not at_most) + 1e-9
            assert holds(X, 4, 8, not at_most)


def test_polish_and_order_of_methods(rng: np.random.Generator) -> None:
    W = np.abs(rng.standard_normal((64, 256)))
    plain, polished, best = tsenor(W, 8, 16), tsenor(W, 8, 16, exchange=True), solve(W, 8, 16)
    assert retained(best) >= retained(polished) >= retained(plain)


def test_a_plan_that_has_not_converged_is_told_of(rng: np.random.Generator) -> None:
    W = np.abs(rng.standard_normal((32, 32)))
    answer = tsenor(W, 16, 32, tau=4000, anneal=1, sweeps=20)
    assert "W430" in answer.info["warnings"][0] and answer.info["row_error"] > 0.5
    assert holds(answer.point, 16, 32, True)
    assert "warnings" not in tsenor(W, 16, 32).info


def test_a_missing_device_is_an_error() -> None:
    import torch

    if torch.cuda.is_available():
        assert holds(tsenor(np.eye(8), 2, 4, device="cuda").point, 2, 4, True)
        return
    with pytest.raises(OptError) as caught:
        tsenor(np.eye(4), 2, 4, device="cuda")
    assert caught.value.diagnostics[0].code == "E643"


def test_time_limit_leaves_a_feasible_mask(rng: np.random.Generator) -> None:
    form = Mask.from_scores(rng.random((1024, 1024)), 2, 4, transposable=True, exactly=True)
    answer = Tsenor().solve(form, TsenorOptions(), Run(threads=1, time_limit=0.0))
    assert answer.stop.kind is StopKind.TIME_LIMIT
    assert holds(answer.point, 2, 4, True)
