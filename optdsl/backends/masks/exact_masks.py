"""Optimal N:M masks: selection for plain patterns; duality and augmenting paths for transposable ones."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from optdsl.backends.base import Backend, Options, Trait
from optdsl.backends.masks.blockwise import ENTRIES_A_CHUNK, Blocks, contiguous, finish
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.mask import NM, Mask
from optdsl.kernels.masks.blocks import groups
from optdsl.run.chunks import share_out
from optdsl.run.run import Run


class ExactMasksOptions(Options):
    sweeps: int = Field(
        8, ge=0, description="rounds of dual coordinate descent before the exact repair; the mask is optimal with any"
    )


def best_of_groups(W: NDArray[Any], N: int, exactly: bool) -> NDArray[np.bool_]:
    """The N largest of every row of W (G, M), the first among equals; positive ones only unless `exactly`."""
    M = W.shape[1]
    keep = np.ones(W.shape, dtype=np.bool_) if N == M else np.zeros(W.shape, dtype=np.bool_)
    if 0 < N < M:
        smallest_kept = np.partition(W, M - N, axis=1)[:, M - N, None]
        np.greater(W, smallest_kept, out=keep)
        ties = W == smallest_kept
        room = N - keep.sum(axis=1)
        crowded = ties.sum(axis=1) > room
        ties[crowded] &= np.cumsum(ties[crowded], axis=1) <= room[crowded, None]
        keep |= ties
    return keep if exactly else keep & (W > 0)


class ExactMasks(Backend):
    name = "exact_masks"
    forms = (Mask,)
    Options: ClassVar[type[Options]] = ExactMasksOptions
    summary = "the best mask, block by block: dual coordinate descent, threshold, exact repair by augmenting paths"
    guarantees = "the optimum of every block, with potentials that prove it (duality gap 0 up to rounding)"
    traits = frozenset({Trait.EXACT})
    preference = 10

    def solve(self, form: Mask, options: ExactMasksOptions, run: Run) -> Answer:
        return transposable(form, options, run) if form.pattern.transposable else plain(form, run)


def plain(form: Mask, run: Run) -> Answer:
    """N of M along one axis: each group of M by itself."""
    pattern: NM = form.pattern
    N, M, exactly = pattern.N, pattern.M, pattern.exactly
    W = groups(form.scores, M, pattern.axis)
    shape, flat = W.shape, W.reshape(-1, M)
    mask = np.zeros(flat.shape, dtype=np.bool_)
    mask[:, :N] = True  # what a group holds until it is reached
    kept = np.zeros(len(flat))

    def work(start: int, stop: int) -> None:
        mask[start:stop] = best_of_groups(flat[start:stop], N, exactly)
        kept[start:stop] = np.sum(flat[start:stop], axis=1, where=mask[start:stop], dtype=np.float64)

    def finished(start: int, stop: int) -> None:
        run.report(stop, -float(kept.sum()), groups_left=float(len(flat) - stop))

    done, cut_short = share_out(work, len(flat), max(1, 2 * ENTRIES_A_CHUNK // M), run, finished)
    if not exactly:
        mask[~done] &= flat[~done] > 0
    whole = mask.reshape(*shape[:-2], shape[-2] * M)
    whole = np.ascontiguousarray(np.moveaxis(whole, -1, pattern.axis))
    return finish(form, whole, cut_short, Claim.OPTIMAL)


def transposable(form: Mask, options: ExactMasksOptions, run: Run) -> Answer:
    """N of M along both axes of every block."""
    N, M, at_most = form.pattern.N, form.pattern.M, not form.pattern.exactly
    if N in (0, M):
        blocks = Blocks(form, run)
        blocks.trivial()
        return blocks.answer(None, Claim.OPTIMAL, duals=True)
    from optdsl.kernels.masks.exact import solve_blocks
    from optdsl.kernels.masks.selection import selection_network

    B, network = form.blocks, selection_network(N, M)
    scores = contiguous(form.scores)
    mask = np.zeros(scores.shape, dtype=np.bool_)
    u, v = np.zeros((B, M)), np.zeros((B, M))
    kept, bound, repairs = np.zeros(B), np.zeros(B), np.zeros(B, dtype=np.int64)
    left = B

    def work(start: int, stop: int) -> None:
        solve_blocks(scores, N, M, at_most, options.sweeps, network, start, stop, mask, u, v, kept, bound, repairs)

    def finished(start: int, stop: int) -> None:
        nonlocal left
        left -= stop - start
        total = float(kept.sum())
        gap = (float(bound.sum()) - total) / max(1.0, abs(total))
        run.report(B - left, -total, gap=max(gap, 0.0), blocks_left=float(left))

    done, cut_short = share_out(work, B, max(1, ENTRIES_A_CHUNK // M**2), run, finished)
    info = {"augmentations_mean": float(repairs.mean()), "augmentations_max": int(repairs.max())}
    if cut_short is not None:
        blocks = Blocks(form, run)
        blocks.fill(np.flatnonzero(~done))
        m, n = scores.shape
        rest = ~done.reshape(m // M, n // M)
        spread = np.repeat(np.repeat(rest, M, axis=0), M, axis=1)
        mask[spread] = blocks.joined()[spread]
    if repairs.min() < 0:
        words = f"no augmenting path in {int((repairs < 0).sum())} blocks: their scores overflow in double precision"
        return finish(form, mask, Stop(StopKind.FAILED, words), Claim.NONE, (u, v), info=info)
    answer = finish(form, mask, cut_short, Claim.OPTIMAL, (u, v), info=info)
    if cut_short is None:
        answer.bound = -float(bound.sum())
    return answer
