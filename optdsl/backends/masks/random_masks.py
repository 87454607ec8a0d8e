"""The best of many random masks."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from optdsl.backends.base import Backend, Options, Trait
from optdsl.backends.masks.blockwise import TRANSPOSABLE, Blocks, Floats
from optdsl.forms.answer import Answer, Claim
from optdsl.forms.mask import Mask
from optdsl.kernels.masks.blocks import circulant
from optdsl.run.run import Run


class RandomMasksOptions(Options):
    count: int = Field(1000, ge=1, description="number of random masks; every block keeps its best")


class RandomMasks(Backend):
    name = "random_masks"
    forms = (Mask,)
    Options: ClassVar[type[Options]] = RandomMasksOptions
    summary = "row and column permutations of a circulant mask, drawn once for all blocks; each block keeps its best"
    assumes = (TRANSPOSABLE,)
    guarantees = "a feasible mask"
    traits = frozenset({Trait.BASELINE, Trait.STOCHASTIC})
    preference = 80

    def solve(self, form: Mask, options: RandomMasksOptions, run: Run) -> Answer:
        blocks = Blocks(form, run)
        N, M = form.pattern.N, form.pattern.M
        index = np.tile(np.arange(M), (options.count, 1))
        rng = run.rng("random_masks")
        rows, columns = rng.permuted(index, axis=1), rng.permuted(index, axis=1)
        masks = circulant(N, M)[rows[:, :, None], columns[:, None, :]]
        flat = masks.reshape(options.count, -1).astype(np.float64)

        def work(W: Floats, part: slice) -> None:
            worth = np.maximum(W, 0.0) if blocks.at_most else W
            best = np.argmax(worth.reshape(len(W), -1) @ flat.T, axis=1)
            blocks.X[part] = masks[best]

        return blocks.answer(blocks.solve(work), Claim.FEASIBLE)
