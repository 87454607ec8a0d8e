"""TSENOR: transposable masks by entropic optimal transport (Dykstra's algorithm) and rounding."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from optdsl.backends.base import Backend, Options, Paper, Trait
from optdsl.backends.masks.blockwise import TRANSPOSABLE, Blocks
from optdsl.forms.answer import Answer, Claim
from optdsl.forms.mask import Mask
from optdsl.run.run import Run
from optdsl.syntax.diagnostics.masks import device_missing, plan_not_converged
from optdsl.syntax.diagnostics.record import OptError

Floats = NDArray[np.float64]


class TsenorOptions(Options):
    tau: float = Field(400.0, gt=0, description="last inverse temperature, for scores scaled to a largest entry of 1")
    anneal: int = Field(5, ge=1, description="number of temperatures, doubled up to tau and warm-started; 1: tau alone")
    sweeps: int = Field(300, ge=1, description="Dykstra sweeps in all, shared evenly among the temperatures")
    tol: float = Field(1e-3, ge=0, description="a temperature ends early when no row sum is further from N than this")
    search: int = Field(10, ge=0, description="local search steps a block after greedy rounding (at-most patterns)")
    exchange: bool = Field(False, description="polish by 2-exchange (not in the paper): about half the error again")
    device: Literal["cpu", "cuda"] = Field(
        "cpu", description="cuda: sweeps in logarithms by PyTorch, rounding on the CPU"
    )
    dtype: Literal["float32", "float64"] = Field("float32", description="precision of the sweeps")


def scaled(W: Floats, at_most: bool) -> tuple[Floats, Floats, Floats]:
    """Scores in [0, 1] a block, with scale and shift (B,): W = scale · w + shift. When at most, what is negative is
    never kept, so it counts as 0."""
    shift = np.zeros(len(W)) if at_most else W.min(axis=(1, 2))
    w = np.maximum(W, 0.0) if at_most else W - shift[:, None, None]
    scale = w.max(axis=(1, 2))
    scale[scale == 0] = 1.0
    return w / scale[:, None, None], scale, shift


def prices(a: Floats, b: Floats, tau: float, scale: Floats, shift: Floats, at_most: bool) -> tuple[Floats, Floats]:
    """The transport problem's prices u = −a/τ, v = −b/τ in the units of the scores; nonnegative when at most."""
    u, v = -a / tau, -b / tau
    if at_most:  # only u_i + v_j matters to the plan: balance, then clip
        c = 0.5 * (v.min(axis=1) - u.min(axis=1))[:, None]
        u, v = np.maximum(u + c, 0.0), np.maximum(v - c, 0.0)
    return scale[:, None] * u + shift[:, None], scale[:, None] * v


class Tsenor(Backend):
    name = "tsenor"
    forms = (Mask,)
    Options: ClassVar[type[Options]] = TsenorOptions
    summary = "entropic transport with capacities by Dykstra's algorithm, annealed; greedy rounding and local search"
    assumes = (TRANSPOSABLE,)
    guarantees = "a feasible mask and prices that bound its distance from the optimum; typically within 0.1 %"
    traits = frozenset({Trait.GPU})
    paper = Paper(
        "TSENOR: Highly-Efficient Algorithm for Finding Transposable N:M Sparse Masks",
        "X. Meng, M. Makni, R. Mazumder, arXiv 2505.23949, NeurIPS 2025",
    )
    preference = 20

    def solve(self, form: Mask, options: TsenorOptions, run: Run) -> Answer:
        blocks = Blocks(form, run)
        if blocks.trivial():
            return blocks.answer(None, Claim.FEASIBLE, duals=True)
        from optdsl.kernels.masks.rounding import round_blocks

        N = form.pattern.N
        taus: Floats = np.asarray(options.tau * 0.5 ** np.arange(options.anneal - 1, -1, -1))
        each = max(1, options.sweeps // options.anneal)
        error = np.zeros(form.blocks)
        transport = _on_gpu if options.device == "cuda" else _on_cpu

        def work(W: Floats, part: slice) -> None:
            w, scale, shift = scaled(W, blocks.at_most)
            a, b, error[part] = transport(w, N, taus, each, options)
            blocks.u[part], blocks.v[part] = prices(a, b, options.tau, scale, shift, blocks.at_most)
            order = options.tau * w + a[:, :, None] + b[:, None, :]
            X = blocks.X[part]
            round_blocks(w, order, N, blocks.at_most, True, options.search, options.exchange, X)

        cut_short = blocks.solve(work)
        worst, far = float(error.max()), int((error > 0.5).sum())
        warnings = [plan_not_converged(worst, far, form.blocks)] if far else []
        return blocks.answer(cut_short, Claim.FEASIBLE, duals=True, warnings=warnings, row_error=worst)


def _on_cpu(w: Floats, N: int, taus: Floats, sweeps: int, options: TsenorOptions) -> tuple[Floats, Floats, Floats]:
    from optdsl.kernels.masks.transport import anneal_blocks

    B, M = w.shape[:2]
    a, b, error = np.zeros((B, M)), np.zeros((B, M)), np.zeros(B)
    anneal_blocks(w.astype(options.dtype), N, taus, sweeps, options.tol, a, b, error)
    return a, b, error


def _on_gpu(w: Floats, N: int, taus: Floats, sweeps: int, options: TsenorOptions) -> tuple[Any, Any, Any]:
    import torch

    from optdsl.kernels.masks.transport_torch import anneal

    if not torch.cuda.is_available():
        raise OptError(device_missing("cuda"))
    on_device = torch.as_tensor(w, dtype=getattr(torch, options.dtype), device="cuda")
    a, b, error = anneal(on_device, N, taus.tolist(), sweeps, options.tol)
    return tuple(t.double().cpu().numpy() for t in (a, b, error))  # type: ignore[return-value]
