"""Masks by linear programming: each block's transportation polytope is integral, so HiGHS' simplex ends at a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from optdsl.backends.base import Backend, Options, Paper, Trait
from optdsl.backends.masks.blockwise import TRANSPOSABLE, Blocks, Floats
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.mask import Mask
from optdsl.run.run import Run


class MaskLP(Backend):
    name = "mask_lp"
    forms = (Mask,)
    summary = "one linear program a block by HiGHS, the model kept and only its costs changed"
    assumes = (TRANSPOSABLE,)
    guarantees = "the optimum of every block, with the row duals as potentials"
    traits = frozenset({Trait.EXACT, Trait.BASELINE})
    paper = Paper(
        "Parallelizing the dual revised simplex method",
        "Q. Huangfu, J. A. J. Hall, Mathematical Programming Computation 10, 2018 (HiGHS)",
    )
    package = "highspy"
    preference = 60

    def solve(self, form: Mask, options: Options, run: Run) -> Answer:
        import highspy

        blocks = Blocks(form, run)
        M = form.pattern.M
        columns = np.arange(M * M, dtype=np.int32)
        failed: list[str] = []
        skipped = np.zeros(form.blocks, dtype=np.bool_)

        def work(W: Floats, part: slice) -> None:
            model = transport_model(form.pattern.N, M, blocks.at_most)
            for k in range(len(W)):
                if run.stop() is not None or failed:
                    skipped[part][k:] = True
                    break
                model.changeColsCost(M * M, columns, -W[k].ravel())
                model.run()
                if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                    failed.append(model.modelStatusToString(model.getModelStatus()))
                    break
                solution = model.getSolution()
                blocks.X[part][k] = np.asarray(solution.col_value).reshape(M, M) > 0.5
                prices = -np.asarray(solution.row_dual)
                blocks.u[part][k], blocks.v[part][k] = prices[:M], prices[M:]

        cut_short = blocks.solve(work)
        if failed:
            return blocks.answer(Stop(StopKind.FAILED, f"HiGHS ended with: {failed[0]}"), Claim.NONE)
        if skipped.any():
            cut_short = run.stop()
            blocks.fill(np.flatnonzero(skipped))
        return blocks.answer(cut_short, Claim.OPTIMAL, duals=True)


def transport_model(N: int, M: int, at_most: bool) -> Any:
    """A silent HiGHS model: M × M cells in [0, 1], row and column sums = N (or ≤ N), no costs yet."""
    import highspy

    cells = np.arange(M * M).reshape(M, M)
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = M * M, 2 * M
    lp.col_cost_ = np.zeros(M * M)
    lp.col_lower_, lp.col_upper_ = np.zeros(M * M), np.ones(M * M)
    lp.row_lower_ = np.full(2 * M, -np.inf if at_most else float(N))
    lp.row_upper_ = np.full(2 * M, float(N))
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.arange(0, 2 * M * M + 1, M)
    lp.a_matrix_.index_ = np.concatenate([cells.ravel(), cells.T.ravel()])
    lp.a_matrix_.value_ = np.ones(2 * M * M)
    model.passModel(lp)
    return model
