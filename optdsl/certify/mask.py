"""Certificates of masks: the pattern counted exactly, the score recomputed, and an upper bound from potentials.

For a transposable pattern any potentials bound what a block can keep (see `forms.mask`); those of the answer are
evaluated from the scores alone, and where they leave a gap, or there are none, a few rounds of exact coordinate
descent on the dual function look for better ones. Each block takes the best bound found. For a plain pattern the
bound is the sum of the N largest of every group.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.certify.record import Check, Proof, Tolerances
from optdsl.forms.answer import Answer
from optdsl.forms.mask import NM, Mask

FORMS = (Mask,)
Floats = NDArray[np.float64]
ENTRIES_AT_ONCE = 1 << 17
ROUNDS = 30


def prove(form: Mask, answer: Answer, tolerances: Tolerances) -> Proof:
    """Feasibility, score and bound of a mask, in the minimising sense (minus the score)."""
    if answer.point is None:
        return Proof(bound=-_upper_bound(form, None, tolerances.gap)[0])
    S = np.asarray(answer.point)
    if S.shape != form.scores.shape:
        words = f"the mask has shape {list(S.shape)}, the scores have {list(form.scores.shape)}"
        return Proof(objective=None, violation=1.0, reason=words, notes=[words])
    kept: NDArray[np.bool_] = S if S.dtype == np.bool_ else S > 0.5
    fraction = 0.0 if S.dtype == np.bool_ else float(np.abs(S.astype(np.float64) - kept).max(initial=0.0))
    if not np.isfinite(fraction):
        words = "the mask holds values that are not finite"
        return Proof(objective=float("nan"), violation=float("nan"), notes=[words])
    offended, lines, worst = _count(kept, form.pattern)
    score = float(np.sum(form.scores, where=kept, dtype=np.float64))
    upper, worst_block = _upper_bound(form, answer, tolerances.gap, kept)
    gap = float(_relative(upper, score))
    pattern = form.pattern
    asked = "exactly" if pattern.exactly else "at most"
    where = "rows and columns of blocks" if pattern.transposable else "groups"
    checks = [
        Check("entries", fraction, tolerances.integrality, "largest distance of an entry from 0 or 1"),
        Check(
            "pattern", float(offended), 0.0, f"{where} (of {lines}) that do not keep {asked} {pattern.N} of {pattern.M}"
        ),
        Check("relative gap", gap, tolerances.gap, "(upper bound − score kept) / upper bound"),
    ]
    notes = [] if worst_block is None else [f"largest relative gap of a single block: {worst_block:.3g}"]
    # a single bad line must not drown among millions: the violation is the surplus of the worst, against N
    return Proof(
        objective=-score,
        violation=max(worst / (1 + pattern.N), fraction if fraction > tolerances.integrality else 0.0),
        bound=-upper,
        checks=checks,
        notes=notes,
        reason="potentials of rows and columns prove that no mask of the pattern keeps more"
        if pattern.transposable
        else "every group keeps the entries with the largest scores",
    )


def _blocks(array: NDArray[Any], M: int) -> NDArray[Any]:
    m, n = array.shape
    return array.reshape(m // M, M, n // M, M).transpose(0, 2, 1, 3)


def _lines(array: NDArray[Any], pattern: NM, axis: int) -> NDArray[Any]:
    moved = np.moveaxis(array, axis, -1)
    return moved.reshape(*moved.shape[:-1], -1, pattern.M)


def _count(kept: NDArray[np.bool_], pattern: NM) -> tuple[int, int, int]:
    """Offended lines, all lines, and by how many entries the worst is off."""
    offended = lines = worst = 0
    for axis in (0, 1) if pattern.transposable else (pattern.axis,):
        off = np.count_nonzero(_lines(kept, pattern, axis), axis=-1) - pattern.N
        off = np.abs(off) if pattern.exactly else np.maximum(off, 0)
        offended += int(np.count_nonzero(off))
        lines += off.size
        worst = max(worst, int(off.max(initial=0)))
    return offended, lines, worst


def _upper_bound(
    form: Mask, answer: Answer | None, gap: float, kept: NDArray[np.bool_] | None = None
) -> tuple[float, float | None]:
    """An upper bound on the score of every mask; and the largest relative gap of a block, for a given mask."""
    if not form.pattern.transposable:
        return _plain_bound(form), None
    M, scores = form.pattern.M, form.scores
    u, v = _given(form, answer)
    across = scores.shape[1] // M
    bands = max(1, ENTRIES_AT_ONCE // (M * scores.shape[1]))  # rows of blocks at once
    total, worst = 0.0, 0.0
    for first in range(0, scores.shape[0] // M, bands):
        part = slice(first * M, (first + bands) * M)
        W = np.ascontiguousarray(_blocks(scores[part], M), dtype=np.float64).reshape(-1, M, M)
        if kept is None:
            value = np.full(len(W), -np.inf)
        else:
            value = np.sum(W, axis=(1, 2), where=_blocks(kept[part], M).reshape(-1, M, M))
        of_chunk = slice(first * across, first * across + len(W))
        bound = np.full(len(W), np.inf) if u is None or v is None else _dual(W, u[of_chunk], v[of_chunk], form.pattern)
        loose = ~np.isfinite(bound) | ~(bound - value <= 0.1 * gap * np.abs(value))
        if loose.any():
            bound[loose] = np.minimum(bound[loose], _descend(W[loose], value[loose], form.pattern))
        total += float(bound.sum())
        if kept is not None:
            worst = max(worst, float(_relative(bound, value).max(initial=0.0)))
    return total, None if kept is None else worst


def _relative(upper: Any, score: Any) -> Any:
    """(upper − score) as a share of the larger of the two; 0 where both are 0."""
    return (upper - score) / np.maximum(np.maximum(np.abs(upper), np.abs(score)), np.finfo(np.float64).tiny)


def _given(form: Mask, answer: Answer | None) -> tuple[Floats | None, Floats | None]:
    """The answer's potentials where they have the right shape and are finite."""
    if answer is None or not {"u", "v"} <= answer.dual.keys():
        return None, None
    u, v = (np.asarray(answer.dual[k], dtype=np.float64) for k in ("u", "v"))
    shape = (form.blocks, form.pattern.M)
    if u.shape != shape or v.shape != shape or not (np.isfinite(u).all() and np.isfinite(v).all()):
        return None, None
    return u, v


def _dual(W: Floats, u: Floats, v: Floats, pattern: NM) -> Floats:
    """D(u, v) of every block: W (B, M, M), u, v (B, M). Potentials below 0 count as 0 when the pattern is at most."""
    if not pattern.exactly:
        u, v = np.maximum(u, 0.0), np.maximum(v, 0.0)
    excess = np.maximum(W - u[:, :, None] - v[:, None, :], 0.0)
    return np.asarray(pattern.N * (u.sum(axis=1) + v.sum(axis=1)) + excess.sum(axis=(1, 2)))


def _descend(W: Floats, value: Floats, pattern: NM) -> Floats:
    """The least D found by coordinate descent: for fixed v, u_i between the N-th and (N+1)-th largest of W_i· − v.

    Ends when a round closes less than a hundredth of what is left between the bounds and `value`, the scores kept
    (−inf where there is no mask: when a round gains less than a millionth of the bound).
    """
    N, M = pattern.N, pattern.M
    floor = -np.inf if pattern.exactly else 0.0
    if N in (0, M):
        edge = W.max(axis=2) if N == 0 else W.min(axis=2)
        return _dual(W, np.maximum(edge, floor), np.zeros_like(edge), pattern)

    def minimiser(R: Floats) -> Floats:
        pair = np.partition(R, (M - N - 1, M - N), axis=2)[:, :, M - N - 1 : M - N + 1]
        return np.asarray(np.maximum(pair.mean(axis=2), floor))

    v = np.zeros(W.shape[::2])
    best = np.full(len(W), np.inf)
    for k in range(ROUNDS):
        u = minimiser(W - v[:, None, :])
        if k == 0 and not pattern.exactly:  # start inside u, v ≥ 0
            v[:] = u.mean(axis=1, keepdims=True) / 2
            u = minimiser(W - v[:, None, :])
        v = minimiser((W - u[:, :, None]).swapaxes(1, 2))
        before, best = best, np.minimum(best, _dual(W, u, v, pattern))
        left = best - value if np.isfinite(value).all() else 1e-4 * np.abs(best)
        if float(np.sum(before - best)) <= 1e-2 * float(np.sum(left)):
            break
    return best


def _plain_bound(form: Mask) -> float:
    """Σ over groups of the N largest (positive ones only when at most)."""
    N, M = form.pattern.N, form.pattern.M
    if N == 0:
        return 0.0
    top = np.partition(_lines(form.scores, form.pattern, form.pattern.axis), M - N, axis=-1)[..., M - N :]
    return float(np.sum(top, dtype=np.float64, where=True if form.pattern.exactly else top > 0))
