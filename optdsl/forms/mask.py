"""Masks: the best 0/1 array of a sparsity pattern for given scores.

maximise Σ scores ∘ S over S in the pattern. `Answer.point` is S, shape (m, n), bool. `Answer.dual` may hold `u` and
`v`, the row and column potentials of every block, shape (blocks, M) each (transposable patterns).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from optdsl.forms.base import Form


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


@dataclass(frozen=True, kw_only=True)
class Mask(Form):
    """`scores` (m, n) may have any sign; the sum over the mask is maximised."""

    title: ClassVar[str] = "mask of a sparsity pattern"
    scores: NDArray[Any]
    pattern: NM

    @property
    def sizes(self) -> dict[str, Any]:
        return {"entries": int(np.prod(self.scores.shape)), "pattern": str(self.pattern)}
