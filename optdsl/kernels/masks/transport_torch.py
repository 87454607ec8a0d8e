"""The potential form of `transport`, in logarithms, on all blocks at once with torch: for GPUs, and as a check."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def sweep(wt: Tensor, N: int, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """One sweep of Dykstra's algorithm: wt = τ w (B, M, M), potentials a, b (B, M) before and after."""
    L = (wt + a[:, :, None] + b[:, None, :]).clamp(max=0.0)
    r = math.log(N) - L.logsumexp(dim=2)
    c = math.log(N) - (L + r[:, :, None]).logsumexp(dim=1)
    return a + r, b + c


def row_error(wt: Tensor, N: int, a: Tensor, b: Tensor) -> Tensor:
    """Largest |row sum − N| of the plan of each block, (B,)."""
    S = (wt + a[:, :, None] + b[:, None, :]).clamp(max=0.0).exp()
    return (S.sum(dim=2) - N).abs().amax(dim=1)


def anneal(w: Tensor, N: int, taus: list[float], sweeps: int, tolerance: float) -> tuple[Tensor, Tensor, Tensor]:
    """`sweeps` sweeps at each temperature, warm-started: a/τ and b/τ, the prices, persist.

    w (B, M, M). Ends a temperature early when every block's row error is at most `tolerance` (looked at every tenth
    sweep). Returns a, b (B, M) at the last temperature and the row errors (B,).
    """
    a = -taus[0] * w.amax(dim=2)
    b = w.new_zeros(w.shape[0], w.shape[2])
    before = taus[0]
    error = w.new_zeros(w.shape[0])
    for tau in taus:
        a, b, wt = a * (tau / before), b * (tau / before), tau * w
        before = tau
        for k in range(sweeps):
            a, b = sweep(wt, N, a, b)
            if k % 10 == 9 and bool((row_error(wt, N, a, b) <= tolerance).all()):
                break
        error = row_error(wt, N, a, b)
    return a, b, error
