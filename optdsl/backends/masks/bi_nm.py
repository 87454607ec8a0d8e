"""Bi-NM: N of M along rows, then N of what is left along columns."""

from __future__ import annotations

import numpy as np

from optdsl.backends.base import Backend, Options, Paper, Trait
from optdsl.backends.masks.blockwise import AT_MOST, TRANSPOSABLE, Bits, Blocks, Floats
from optdsl.forms.answer import Answer, Claim
from optdsl.forms.mask import Mask
from optdsl.run.run import Run


def largest(W: Floats, N: int, axis: int) -> Bits:
    """The N largest along an axis, the first among equals."""
    order = np.argsort(-W, axis=axis, kind="stable")
    rank = np.argsort(order, axis=axis, kind="stable")
    return np.asarray(rank < N)


class BiNM(Backend):
    name = "bi_nm"
    forms = (Mask,)
    summary = "the N largest of every row, and of those the N largest of every column"
    assumes = (TRANSPOSABLE, AT_MOST)
    guarantees = "a feasible mask"
    traits = frozenset({Trait.BASELINE})
    paper = Paper(
        "Bi-directional Masks for Efficient N:M Sparse Training",
        "Y. Zhang, Y. Luo, M. Lin, Y. Zhong, J. Xie, F. Chao, R. Ji, arXiv 2302.06058, ICML 2023",
    )
    preference = 71

    def solve(self, form: Mask, options: Options, run: Run) -> Answer:
        blocks = Blocks(form, run)
        N = form.pattern.N

        def work(W: Floats, part: slice) -> None:
            by_row = largest(W, N, axis=2)
            blocks.X[part] = by_row & largest(np.where(by_row, W, -np.inf), N, axis=1)

        return blocks.answer(blocks.solve(work), Claim.FEASIBLE)
