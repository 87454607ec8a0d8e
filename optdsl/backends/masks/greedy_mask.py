"""Greedy masks: the largest scores first, then a local search."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from optdsl.backends.base import Backend, Options, Trait
from optdsl.backends.masks.blockwise import TRANSPOSABLE, Blocks, Floats
from optdsl.forms.answer import Answer, Claim
from optdsl.forms.mask import Mask
from optdsl.run.run import Run


class GreedyMaskOptions(Options):
    search: bool = Field(
        True, description="fill rows and columns that are short by swaps (always done for an exact pattern)"
    )
    exchange: bool = Field(False, description="polish by 2-exchange")


class GreedyMask(Backend):
    name = "greedy_mask"
    forms = (Mask,)
    Options: ClassVar[type[Options]] = GreedyMaskOptions
    summary = "entries by decreasing score while row and column have room, then swaps"
    assumes = (TRANSPOSABLE,)
    guarantees = "at least half of the largest score that can be kept, for nonnegative scores"
    traits = frozenset({Trait.BASELINE})
    preference = 40

    def solve(self, form: Mask, options: GreedyMaskOptions, run: Run) -> Answer:
        from optdsl.kernels.masks.rounding import round_blocks

        blocks = Blocks(form, run)
        N, M = form.pattern.N, form.pattern.M

        def work(W: Floats, part: slice) -> None:
            X = blocks.X[part]
            round_blocks(W, W, N, blocks.at_most, options.search, 2 * M, options.exchange, X)

        return blocks.answer(blocks.solve(work), Claim.FEASIBLE)
