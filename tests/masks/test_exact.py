"""Exact masks against linear programs, enumeration, the assignment problem and invariances."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from optdsl.backends.masks.exact_masks import ExactMasks, ExactMasksOptions
from optdsl.forms.answer import Answer, Claim, StopKind
from optdsl.forms.mask import Mask
from optdsl.kernels.masks.blocks import cut, groups, join
from optdsl.kernels.masks.selection import merge_exchange, selection_network
from optdsl.run.run import Run
from tests.masks.conftest import Floats, block_kinds, lp_optimum, retained


def solve(W: np.ndarray, N: int, M: int, exactly: bool = True, sweeps: int = 8, **pattern: object) -> Answer:
    form = Mask.from_scores(W, N, M, exactly=exactly, **{"transposable": True, **pattern})  # type: ignore[arg-type]
    return ExactMasks().solve(form, ExactMasksOptions(sweeps=sweeps), Run(threads=1))


def holds(X: np.ndarray, N: int, M: int, exactly: bool) -> bool:
    sums = np.concatenate([cut(X, M).sum(axis=1).ravel(), cut(X, M).sum(axis=2).ravel()])
    return bool(np.all(sums == N) if exactly else np.all(sums <= N))


def dual(W: Floats, u: Floats, v: Floats, N: int) -> Floats:
    return N * (u.sum(1) + v.sum(1)) + np.maximum(W - u[:, :, None] - v[:, None, :], 0).sum((1, 2))


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize(("N", "M", "count"), [(1, 2, 4), (2, 4, 12), (3, 5, 6), (5, 8, 4), (16, 32, 1)])
def test_equals_the_linear_program_with_gap_zero(N: int, M: int, count: int, exactly: bool) -> None:
    for kind, W in block_kinds(M, count, seed=M).items():
        for sweeps in (8, 0):
            answer = solve(W, N, M, exactly, sweeps)
            assert holds(answer.point, N, M, exactly), kind
            scale = M * M * max(np.abs(W).max(), 1e-300)
            blocks = cut(W, M)
            kept = np.sum(blocks, axis=(1, 2), where=cut(answer.point, M))
            upper = dual(blocks, answer.dual["u"], answer.dual["v"], N)
            assert np.all(np.abs(upper - kept) <= 1e-13 * scale), kind
            if not exactly:
                assert min(answer.dual["u"].min(), answer.dual["v"].min()) >= 0
                assert np.all(W[answer.point] >= 0)
        if kind not in ("tiny", "huge", "large offset"):  # beyond the solver's absolute tolerances
            optima = [lp_optimum(block, N, exactly) for block in blocks[:4]]
            np.testing.assert_allclose(kept[:4], optima, rtol=1e-9, atol=1e-7 * np.abs(W).max(), err_msg=kind)


def all_masks_2_4() -> np.ndarray:
    rows = [np.isin(np.arange(4), c) for c in combinations(range(4), 2)]
    masks = [np.array(m) for m in product(rows, repeat=4) if np.all(np.sum(m, axis=0) == 2)]
    return np.array(masks)


def test_the_90_masks_of_2_4(rng: np.random.Generator) -> None:
    masks = all_masks_2_4()
    assert len(masks) == 90
    W = rng.standard_normal((40, 40))
    best = np.einsum("bij,kij->bk", cut(W, 4), masks).max(axis=1)
    kept = np.sum(cut(W, 4), axis=(1, 2), where=cut(solve(W, 2, 4).point, 4))
    np.testing.assert_allclose(kept, best, rtol=1e-13, atol=1e-13)


def test_two_blocks_worked_by_hand() -> None:
    first = np.array([[9, 8, 7, 1], [8, 9, 1, 2], [7, 1, 9, 3], [1, 2, 3, 4]])
    answer = solve(first, 2, 4)
    assert answer.objective == -53
    assert ["".join(map(str, row)) for row in answer.point.astype(int)] == ["1100", "1100", "0011", "0011"]
    second = np.array([[1, 7, 6, 6], [7, 8, 8, 6], [0, 7, 0, 9], [7, 8, 9, 5]])
    answer = solve(second, 2, 4)
    assert answer.objective == -60
    assert ["".join(map(str, row)) for row in answer.point.astype(int)] == ["0101", "1010", "0101", "1010"]


def test_one_of_m_is_the_assignment_problem(rng: np.random.Generator) -> None:
    W = rng.standard_normal((9, 9))
    rows, columns = linear_sum_assignment(W, maximize=True)
    expected = np.zeros((9, 9), dtype=bool)
    expected[rows, columns] = True
    np.testing.assert_array_equal(solve(W, 1, 9).point, expected)


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("N", [0, 4])
def test_none_and_all(N: int, exactly: bool, rng: np.random.Generator) -> None:
    W = rng.standard_normal((8, 12))
    answer = solve(W, N, 4, exactly)
    expected = np.full(W.shape, N == 4) if exactly else (W > 0) & (N == 4)
    np.testing.assert_array_equal(answer.point, expected)
    upper = dual(cut(W, 4), answer.dual["u"], answer.dual["v"], N)
    np.testing.assert_allclose(upper, np.sum(cut(W, 4), axis=(1, 2), where=cut(expected, 4)), atol=1e-14)


def test_at_most_may_keep_more_than_exactly() -> None:
    W = np.zeros((4, 4))
    W[0, 0] = W[1, 1] = 1.0
    W[2:, 2:] = -1.0
    W[0, 1] = W[1, 0] = 1.0
    assert solve(W, 2, 4, exactly=True).objective == 0.0  # the block at the lower right is forced
    assert solve(W, 2, 4, exactly=False).objective == -4.0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.booleans())
def test_permuting_shifting_and_transposing(seed: int, N: int, exactly: bool) -> None:
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((6, 6))
    X = solve(W, N, 6, exactly).point
    rows, columns = rng.permutation(6), rng.permutation(6)
    np.testing.assert_array_equal(solve(W[rows][:, columns], N, 6, exactly).point, X[rows][:, columns])
    np.testing.assert_array_equal(solve(W.T, N, 6, exactly).point, X.T)
    if exactly:
        np.testing.assert_array_equal(solve(W + 3 * rng.standard_normal((6, 1)), N, 6).point, X)


def test_types_of_numbers_agree(rng: np.random.Generator) -> None:
    whole = rng.integers(-50, 50, (32, 64))
    expected = solve(whole.astype(np.float64), 4, 8).objective
    for dtype in (np.float32, np.float16, np.int8, np.int64):
        assert solve(whole.astype(dtype), 4, 8).objective == expected
    assert solve(np.asfortranarray(whole)[::2], 4, 8).objective == solve(whole[::2].copy(), 4, 8).objective


def test_threads_and_chunks_do_not_matter(rng: np.random.Generator) -> None:
    form = Mask.from_scores(rng.random((256, 512)), 2, 4, transposable=True)
    one, four = (ExactMasks().solve(form, ExactMasksOptions(), Run(threads=k)) for k in (1, 4))
    np.testing.assert_array_equal(one.point, four.point)
    np.testing.assert_array_equal(one.dual["u"], four.dual["u"])


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize(("N", "M"), [(2, 4), (1, 2), (3, 7), (0, 4), (4, 4), (20, 64)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_plain_patterns_keep_the_largest_of_every_group(N: int, M: int, axis: int, exactly: bool) -> None:
    rng = np.random.default_rng(N * 100 + M)
    for W in (rng.standard_normal((448, 448)), rng.integers(-2, 3, (448, 448))):
        answer = solve(W, N, M, exactly, transposable=False, axis=axis)
        sums = groups(answer.point, M, axis).sum(axis=-1)
        assert np.all(sums == N) if exactly else np.all(sums <= N)
        ordered = np.sort(groups(W, M, axis), axis=-1)[..., M - N :]
        expected = ordered.sum() if exactly else ordered[ordered > 0].sum()
        assert answer.objective == pytest.approx(-float(expected), rel=1e-12)


def test_plain_ties_go_to_the_first_and_any_number_of_axes() -> None:
    answer = solve(np.ones((3, 2, 8)), 2, 4, transposable=False)
    np.testing.assert_array_equal(answer.point, np.broadcast_to([1, 1, 0, 0, 1, 1, 0, 0], (3, 2, 8)).astype(bool))


@pytest.mark.parametrize("transposable", [True, False])
@pytest.mark.parametrize("exactly", [True, False])
def test_a_stopped_run_still_gives_a_feasible_mask(exactly: bool, transposable: bool) -> None:
    W = np.random.default_rng(3).standard_normal((2048, 2048))
    run = Run(threads=1)
    run.on_event = lambda event: run.interrupt()
    form = Mask.from_scores(W, 2, 4, transposable=transposable, exactly=exactly)
    answer = ExactMasks().solve(form, ExactMasksOptions(), run)
    assert answer.stop.kind is StopKind.INTERRUPTED
    assert answer.claim is Claim.FEASIBLE
    if transposable:
        assert holds(answer.point, 2, 4, exactly)
    else:
        sums = groups(answer.point, 4, -1).sum(axis=-1)
        assert np.all(sums == 2) if exactly else np.all(sums <= 2)
    whole = ExactMasks().solve(form, ExactMasksOptions(), Run(threads=1))
    assert retained(whole) > retained(answer)
    assert exactly or np.all(W[answer.point] > 0)


@pytest.mark.parametrize("M", [1, 2, 3, 5, 8, 9])
def test_networks_sort_and_select_by_the_zero_one_principle(M: int) -> None:
    inputs = np.array(list(product((0, 1), repeat=M)))
    expected = -np.sort(-inputs, axis=1)

    def run_network(comparators: object) -> np.ndarray:
        T = inputs.copy()
        for a, b in comparators:  # type: ignore[attr-defined]
            T[:, a], T[:, b] = np.maximum(T[:, a], T[:, b]), np.minimum(T[:, a], T[:, b])
        return T

    np.testing.assert_array_equal(run_network(merge_exchange(M)), expected)
    for N in range(1, M):
        wanted = [N - 1, N]
        np.testing.assert_array_equal(run_network(selection_network(N, M))[:, wanted], expected[:, wanted])


def test_cutting_and_joining() -> None:
    A = np.arange(24).reshape(4, 6)
    assert cut(A, 2)[1].tolist() == [[2, 3], [8, 9]]
    np.testing.assert_array_equal(join(cut(A, 2), (4, 6)), A)
