"""Convex functions with a known proximal map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ProxFunction(Protocol):
    """h: R^k → R closed, convex, finite everywhere."""

    def value(self, y: Array) -> float: ...

    def prox(self, y: Array, t: float) -> Array:
        """argmin_z h(z) + ‖z − y‖²/(2t)."""
        ...

    def lipschitz(self, size: int) -> float:
        """A Lipschitz constant of h in the 2-norm on R^size; inf where there is none."""
        ...

    def entry_lipschitz(self) -> float:
        """A Lipschitz constant with respect to one entry."""
        ...


@dataclass(frozen=True)
class L1:
    """h(y) = Σ_i w_i |y_i|, w ≥ 0 a scalar or an array of y's shape."""

    weight: float | Array = 1.0

    def value(self, y: Array) -> float:
        return float(np.sum(self.weight * np.abs(y)))

    def prox(self, y: Array, t: float) -> Array:
        return np.asarray(np.sign(y) * np.maximum(np.abs(y) - t * self.weight, 0.0))

    def lipschitz(self, size: int) -> float:
        return (
            float(np.linalg.norm(np.broadcast_to(self.weight, (size,))))
            if np.ndim(self.weight) == 0
            else float(np.linalg.norm(self.weight))
        )

    def entry_lipschitz(self) -> float:
        return float(np.max(self.weight))
