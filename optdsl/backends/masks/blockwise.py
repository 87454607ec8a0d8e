"""What the mask backends have in common: blocks are independent, so each solves chunks of blocks.

A run that is stopped keeps the blocks that are done and fills the others with a mask that needs no search, so that the
whole array meets the pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.backends.base import Assumption
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.mask import Mask
from optdsl.kernels.masks.blocks import circulant, cut, join
from optdsl.run.chunks import share_out
from optdsl.run.run import Run
from optdsl.syntax.diagnostics.record import Diagnostic

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
ENTRIES_A_CHUNK = 1 << 19

TRANSPOSABLE = Assumption(
    "transposable",
    lambda form: form.pattern.transposable,
    "it is made for patterns that hold along both axes of every block",
)
AT_MOST = Assumption(
    "at most N",
    lambda form: not form.pattern.exactly,
    "its masks may hold fewer than N entries in a row or column, and the pattern asks for exactly N",
)


def contiguous(scores: NDArray[Any]) -> NDArray[Any]:
    """Scores as the kernels take them: float32 or float64, C order; a copy only where that is needed."""
    dtype = np.float32 if scores.dtype in (np.float32, np.float16) else np.float64
    return np.ascontiguousarray(scores, dtype=dtype)


@dataclass
class Blocks:
    """The blocks of one form as they are solved: masks X (B, M, M), potentials u, v (B, M), filled chunk by chunk."""

    form: Mask
    run: Run

    def __post_init__(self) -> None:
        B, M = self.form.blocks, self.form.pattern.M
        self.X = np.zeros((B, M, M), dtype=np.bool_)
        self.u = np.zeros((B, M))
        self.v = np.zeros((B, M))
        self.kept = np.zeros(B)
        self.scores = contiguous(self.form.scores)

    @property
    def at_most(self) -> bool:
        return not self.form.pattern.exactly

    def chunk(self, start: int, stop: int) -> Floats:
        """Scores of blocks start … stop − 1, (stop − start, M, M), float64."""
        M = self.form.pattern.M
        across = self.scores.shape[1] // M
        first, last = start // across, -(-stop // across)
        band = cut(self.scores[first * M : last * M], M)
        return np.asarray(band[start - first * across : stop - first * across], dtype=np.float64)

    def trivial(self) -> bool:
        """Solves the patterns without a choice: N = 0 and, when exact, N = M. True when it did."""
        N, M = self.form.pattern.N, self.form.pattern.M
        if N == 0:
            self.u[:] = cut(self.scores, M).max(axis=2, initial=0.0 if self.at_most else -np.inf)
        elif N == M and not self.at_most:
            self.X[:] = True
            self.u[:] = cut(self.scores, M).min(axis=2)
        elif N == M:
            self.X[:] = cut(self.scores, M) > 0
        else:
            return False
        return True

    def solve(self, work: Callable[[Floats, slice], None]) -> Stop | None:
        """Calls `work(W, part)` on chunks; it fills X[part] (and u, v). Entries that lose are dropped when at most.

        Returns why the run was cut short; the blocks not reached hold a feasible mask.
        """
        B, M = self.form.blocks, self.form.pattern.M
        left = B

        def one(start: int, stop: int) -> None:
            W, part = self.chunk(start, stop), slice(start, stop)
            work(W, part)
            if self.at_most:
                self.X[part] &= W > 0
            self.kept[part] = np.sum(W, axis=(1, 2), where=self.X[part])

        def finished(start: int, stop: int) -> None:
            nonlocal left
            left -= stop - start
            self.run.report(B - left, -float(self.kept.sum()), blocks_left=float(left))

        done, cut_short = share_out(one, B, max(1, ENTRIES_A_CHUNK // M**2), self.run, finished)
        self.fill(np.flatnonzero(~done))
        return cut_short

    def fill(self, open_blocks: NDArray[np.int64]) -> None:
        """A feasible mask for blocks that were not reached."""
        if not len(open_blocks):
            return
        N, M = self.form.pattern.N, self.form.pattern.M
        self.X[open_blocks] = circulant(N, M)
        if self.at_most:
            self.X[open_blocks] &= cut(self.scores, M)[open_blocks] > 0

    def joined(self) -> Bits:
        """The mask of the whole array, (m, n)."""
        m, n = self.scores.shape
        return join(self.X, (m, n))

    def answer(
        self,
        stop: Stop | None,
        claim: Claim,
        *,
        duals: bool = False,
        warnings: Iterable[Diagnostic] = (),
        **info: Any,
    ) -> Answer:
        return finish(self.form, self.joined(), stop, claim, (self.u, self.v) if duals else None, warnings, info)


def finish(
    form: Mask,
    mask: Bits,
    stop: Stop | None,
    claim: Claim,
    duals: tuple[Floats, Floats] | None = None,
    warnings: Iterable[Diagnostic] = (),
    info: dict[str, Any] | None = None,
) -> Answer:
    """The answer for a whole mask; a run that was cut short claims no more than a feasible point."""
    told = [str(w) for w in warnings]
    return Answer(
        stop=stop or Stop(StopKind.CONVERGED),
        claim=claim if stop is None or claim is Claim.NONE else Claim.FEASIBLE,
        point=mask,
        objective=-float(np.sum(form.scores, where=mask, dtype=np.float64)),
        dual={} if duals is None else {"u": duals[0], "v": duals[1]},
        info={"blocks": form.blocks} | (info or {}) | ({"warnings": told} if told else {}),
    )
