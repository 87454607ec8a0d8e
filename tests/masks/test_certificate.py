"""Certificates of masks: what is optimal is proven so, what is not is never called so, and lies are refuted."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest

import optdsl.certify.mask as certifier
from optdsl.backends.masks.exact_masks import ExactMasks, ExactMasksOptions
from optdsl.certify.conclude import conclude, prove
from optdsl.certify.record import Certificate, Tolerances, VerdictKind
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.mask import Mask
from optdsl.kernels.masks.blocks import circulant, cut
from optdsl.run.run import Run
from tests.masks.conftest import block_kinds, lp_optimum, retained

CONVERGED = Stop(StopKind.CONVERGED)


def judged(form: Mask, answer: Answer) -> Certificate:
    tolerances = Tolerances()
    return conclude(answer, prove(form, answer, tolerances), tolerances, maximise=True)


def solved(form: Mask) -> Answer:
    return ExactMasks().solve(form, ExactMasksOptions(), Run(threads=1))


def form_of(W: np.ndarray, exactly: bool = True, N: int = 4, M: int = 8) -> Mask:
    return Mask.from_scores(W, N, M, transposable=True, exactly=exactly)


@pytest.mark.parametrize("exactly", [True, False])
def test_exact_masks_are_proven_optimal(exactly: bool) -> None:
    for kind, W in block_kinds(8, 4, seed=5).items():
        form = form_of(W, exactly)
        certificate = judged(form, solved(form))
        assert certificate.verdict.kind is VerdictKind.OPTIMAL, kind
        assert certificate.objective == pytest.approx(certificate.bound, rel=1e-12), kind


@pytest.mark.parametrize("exactly", [True, False])
def test_plain_masks_are_proven_optimal(exactly: bool, rng: np.random.Generator) -> None:
    form = Mask.from_scores(rng.standard_normal((12, 20)), 2, 4, exactly=exactly, axis=0)
    answer = solved(form)
    assert judged(form, answer).verdict.kind is VerdictKind.OPTIMAL
    worse = answer.point[::-1].copy()
    assert judged(form, replace(answer, point=worse)).verdict.kind in (VerdictKind.UNPROVEN, VerdictKind.REFUTED)


@pytest.mark.parametrize("exactly", [True, False])
def test_bounds_hold_far_from_the_optimum(exactly: bool, rng: np.random.Generator) -> None:
    for kind, W in block_kinds(8, 1, seed=6).items():
        if kind in ("tiny", "huge"):
            continue
        form = form_of(W, exactly)
        optimum = lp_optimum(W, 4, exactly)
        slack = 1e-7 * np.abs(W).max() * W.size
        bad = circulant(4, 8)[rng.permutation(8)]
        for size in (0.0, 0.1, 1.0, 10.0):
            u, v = size * rng.standard_normal((2, 1, 8))
            assert certifier._dual(W[None], u, v, form.pattern)[0] >= optimum - slack, kind
            answer = Answer(CONVERGED, Claim.OPTIMAL, bad, dual={"u": u, "v": v})
            proof = prove(form, answer, Tolerances())
            assert proof.bound is not None and -proof.bound >= optimum - slack, kind
        without = prove(form, Answer(CONVERGED, Claim.OPTIMAL, bad), Tolerances())
        assert without.bound is not None and -without.bound >= optimum - slack, kind


@pytest.mark.parametrize("exactly", [True, False])
def test_a_bound_is_found_without_potentials(exactly: bool, rng: np.random.Generator) -> None:
    form = form_of(np.abs(rng.standard_normal((64, 64))), exactly, 8, 16)
    answer = solved(form)
    bare = prove(form, replace(answer, dual={}), Tolerances())
    assert bare.objective is not None and bare.bound is not None
    assert 0 <= bare.objective - bare.bound <= 2e-3 * abs(bare.objective)
    alone = prove(form, replace(answer, point=None, dual={}), Tolerances())
    assert alone.bound == pytest.approx(bare.bound, rel=1e-4)


def test_lies_are_never_optimal(rng: np.random.Generator) -> None:
    form = form_of(rng.random((16, 16)))
    good = solved(form)
    crossed = good.point.copy()
    crossed[0, 0] ^= True
    cases = {
        "infeasible mask": replace(good, point=crossed),
        "everything kept": replace(good, point=np.ones_like(good.point)),
        "nothing kept": replace(good, point=np.zeros_like(good.point)),
        "poor mask": replace(good, point=np.tile(circulant(4, 8), (2, 2)), objective=good.objective, bound=good.bound),
        "fractions": replace(good, point=np.full(good.point.shape, 0.5)),
        "not numbers": replace(good, point=np.full(good.point.shape, np.nan)),
        "wrong shape": replace(good, point=good.point[:8]),
    }
    for name, lie in cases.items():
        verdict = judged(form, lie).verdict
        assert verdict.kind in (VerdictKind.REFUTED, VerdictKind.UNPROVEN), name
        if name != "poor mask":
            assert verdict.kind is VerdictKind.REFUTED, name


def test_one_bad_line_among_many_is_found() -> None:
    W = np.ones((1024, 1024))
    form = form_of(W, N=16, M=32)
    answer = solved(form)
    answer.point[700, :] = np.roll(answer.point[700, :], 1)
    assert judged(form, answer).verdict.kind is VerdictKind.REFUTED


def test_a_false_claim_of_infeasibility_is_refuted(rng: np.random.Generator) -> None:
    form = form_of(rng.random((8, 8)))
    answer = replace(solved(form), claim=Claim.INFEASIBLE)
    assert judged(form, answer).verdict.kind is VerdictKind.REFUTED
    assert judged(form, Answer(CONVERGED, Claim.INFEASIBLE)).verdict.kind is VerdictKind.UNPROVEN


@pytest.mark.parametrize("exactly", [True, False])
def test_false_potentials_prove_nothing(exactly: bool, rng: np.random.Generator) -> None:
    """Potentials that would make the bound too small are impossible; those that are useless are replaced."""
    form = form_of(rng.standard_normal((8, 8)), exactly)
    optimum = lp_optimum(form.scores, 4, exactly)
    good = solved(form)
    for dual in (
        {"u": np.full((1, 8), -1e3), "v": np.zeros((1, 8))},
        {"u": np.full((1, 8), np.nan), "v": np.zeros((1, 8))},
        {"u": np.zeros((2, 8)), "v": np.zeros((2, 8))},
        {"u": np.zeros((1, 8))},
    ):
        proof = prove(form, replace(good, dual=dual), Tolerances())
        assert proof.bound is not None
        assert optimum - 1e-9 <= -proof.bound <= optimum + 0.05 * abs(optimum)


def test_a_mask_of_one_kind_is_not_held_to_the_optimum_of_the_other(rng: np.random.Generator) -> None:
    W = rng.standard_normal((8, 8))
    exact, at_most = form_of(W, True), form_of(W, False)
    assert judged(at_most, solved(exact)).verdict.kind is VerdictKind.UNPROVEN
    assert judged(exact, solved(at_most)).verdict.kind is VerdictKind.REFUTED


def test_the_certifier_shares_no_code_with_the_backends() -> None:
    source = inspect.getsource(certifier)
    assert "optdsl.kernels" not in source and "optdsl.backends" not in source


def test_a_part_of_blocks_gets_its_own_bound(rng: np.random.Generator) -> None:
    """Blocks a stopped run did not reach have potentials 0; their bound is found afresh, that of the others kept."""
    form = form_of(rng.random((64, 64)))
    answer = solved(form)
    answer.dual["u"][::2] = 0.0
    answer.dual["v"][::2] = 0.0
    blocks = cut(form.scores, 8)
    proof = prove(form, answer, Tolerances())
    assert proof.bound is not None
    naive = certifier._dual(blocks, answer.dual["u"], answer.dual["v"], form.pattern).sum()
    assert retained(answer) - 1e-9 <= -proof.bound < 0.9 * naive
