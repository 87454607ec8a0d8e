"""The 2-approximation of the pruned sum (Hubara et al.): the smallest scores go first."""

from __future__ import annotations

from optdsl.backends.base import Backend, Options, Paper, Trait
from optdsl.backends.masks.blockwise import AT_MOST, TRANSPOSABLE, Blocks, Floats
from optdsl.forms.answer import Answer, Claim
from optdsl.forms.mask import Mask
from optdsl.run.run import Run


class Approx2(Backend):
    name = "approx2"
    forms = (Mask,)
    summary = "entries by increasing score are pruned while row or column has too many"
    assumes = (TRANSPOSABLE, AT_MOST)
    guarantees = "a pruned sum of at most twice the least possible, for nonnegative scores"
    traits = frozenset({Trait.BASELINE})
    paper = Paper(
        "Accelerated Sparse Neural Training: A Provable and Efficient Method to Find N:M Transposable Masks",
        "I. Hubara, B. Chmiel, M. Island, R. Banner, J. Naor, D. Soudry, arXiv 2102.08124, NeurIPS 2021",
    )
    preference = 70

    def solve(self, form: Mask, options: Options, run: Run) -> Answer:
        from optdsl.kernels.masks.rounding import two_approximation_blocks

        blocks = Blocks(form, run)

        def work(W: Floats, part: slice) -> None:
            two_approximation_blocks(W, form.pattern.N, blocks.X[part])

        return blocks.answer(blocks.solve(work), Claim.FEASIBLE)
