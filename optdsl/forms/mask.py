"""Masks: the best 0/1 array of a sparsity pattern for given scores.

maximise Σ scores ∘ S over S in the pattern. `Answer.point` is S, of the shape of the scores, bool. `Answer.dual` may
hold `u` and `v`, the row and column potentials of every M × M block in row-major order of blocks, shape (blocks, M)
each (transposable patterns): D(u, v) = N (Σ u + Σ v) + Σ max(0, scores − u 1ᵀ − 1 vᵀ) bounds a block's score from
above, for any u, v when the pattern is exact, for u, v ≥ 0 when it is at most. `Answer.objective` and `Answer.bound`
are in the minimising sense: minus the score kept, minus the upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optdsl.forms.base import Form
from optdsl.syntax.diagnostics import masks as mistakes
from optdsl.syntax.diagnostics.record import Diagnostic, OptError
from optdsl.syntax.source import Cell, Span


@dataclass(frozen=True)
class NM:
    """N of every M consecutive entries along `axis`; along both axes of every M × M block when `transposable`.

    `exactly` asks for N and no fewer; otherwise at most N.
    """

    N: int
    M: int
    transposable: bool = False
    exactly: bool = False
    axis: int = -1

    def __str__(self) -> str:
        extra = ", transposable" if self.transposable else ""
        return f"{self.N}:{self.M}{extra}{', exactly' if self.exactly else ''}"


def pattern_mistakes(
    shape: tuple[int, ...], pattern: NM, name: str = "scores", place: Span | Cell | None = None
) -> list[Diagnostic]:
    """Why an array of that shape cannot carry the pattern; empty when it can."""
    N, M, axis = pattern.N, pattern.M, pattern.axis
    if not 0 <= N <= M or M < 1:
        return [mistakes.pattern_out_of_range(N, M, place)]
    if pattern.transposable:
        if len(shape) != 2:
            return [mistakes.pattern_needs_matrix(shape, name, place)]
        axes = [0, 1]
    elif not -len(shape) <= axis < len(shape):
        return [mistakes.pattern_axis_missing(axis, shape, name, place)]
    else:
        axes = [axis % len(shape)]
    return [mistakes.pattern_does_not_divide(M, k, shape, name, place) for k in axes if shape[k] % M]


def score_mistakes(scores: NDArray[Any], name: str = "scores", place: Span | Cell | None = None) -> list[Diagnostic]:
    """Why the values cannot be scores: not real, NaN, infinite (the first such entry is named)."""
    if scores.dtype.kind not in "fiub":
        return [mistakes.score_not_real(name, str(scores.dtype), place)]
    finite = np.isfinite(scores)
    if finite.all():
        return []
    index = tuple(int(k) for k in np.argwhere(~finite)[0])
    return [mistakes.score_not_finite(name, index, float(scores[index]), int((~finite).sum()), place)]


@dataclass(frozen=True, kw_only=True)
class Mask(Form):
    """`scores` may have any sign; the sum over the mask is maximised. Two axes when the pattern is transposable.

    Raises `OptError` (E330, E331, E430–E433) when scores and pattern do not make a problem.
    """

    title: ClassVar[str] = "mask of a sparsity pattern"
    scores: NDArray[Any]
    pattern: NM

    def __post_init__(self) -> None:
        found = pattern_mistakes(self.scores.shape, self.pattern) + score_mistakes(self.scores)
        if found:
            raise OptError(found)

    @property
    def sizes(self) -> dict[str, Any]:
        return {"entries": int(np.prod(self.scores.shape)), "pattern": str(self.pattern)}

    @property
    def blocks(self) -> int:
        """Number of M × M blocks (transposable) or of groups of M entries."""
        per_block = self.pattern.M ** (2 if self.pattern.transposable else 1)
        return self.scores.size // per_block

    @staticmethod
    def from_scores(
        scores: ArrayLike, N: int, M: int, *, transposable: bool = False, exactly: bool = False, axis: int = -1
    ) -> Mask:
        """A form without a problem file: keep N of every M entries with the largest sum of `scores`."""
        return Mask(scores=np.asarray(scores), pattern=NM(N, M, transposable, exactly, axis))
