"""Convex functions with a known proximal map (Parikh and Boyd, "Proximal Algorithms", 2014, ch. 6).

Functions of groups act on the fibres of an array along `axis` and add up; `axis=None` is the whole array as one group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ProxFunction(Protocol):
    """h: R^shape → R closed, convex, finite everywhere."""

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
        if np.ndim(self.weight) == 0:
            return float(self.weight) * float(np.sqrt(size))
        return float(np.linalg.norm(self.weight))

    def entry_lipschitz(self) -> float:
        return float(np.max(self.weight))


@dataclass(frozen=True)
class Hinge:
    """h(y) = w Σ_i max(y_i, 0)."""

    weight: float = 1.0

    def value(self, y: Array) -> float:
        return self.weight * float(np.maximum(y, 0.0).sum())

    def prox(self, y: Array, t: float) -> Array:
        return np.asarray(np.minimum(y, 0.0) + np.maximum(y - t * self.weight, 0.0))

    def lipschitz(self, size: int) -> float:
        return self.weight * float(np.sqrt(size))

    def entry_lipschitz(self) -> float:
        return self.weight


@dataclass(frozen=True)
class Huber:
    """h(y) = w Σ_i φ(y_i), φ(x) = x² where |x| ≤ M, 2M|x| − M² beyond (CVXPY's convention)."""

    weight: float = 1.0
    M: float = 1.0

    def value(self, y: Array) -> float:
        inside = np.minimum(np.abs(y), self.M)
        return self.weight * float(np.sum(inside**2 + 2 * self.M * (np.abs(y) - inside)))

    def prox(self, y: Array, t: float) -> Array:
        s = 2.0 * t * self.weight
        return np.asarray(np.where(np.abs(y) <= self.M * (1.0 + s), y / (1.0 + s), y - s * self.M * np.sign(y)))

    def lipschitz(self, size: int) -> float:
        return self.entry_lipschitz() * float(np.sqrt(size))

    def entry_lipschitz(self) -> float:
        return 2.0 * self.weight * self.M


@dataclass(frozen=True)
class L2:
    """h(y) = w Σ_g ‖y_g‖₂ over the fibres along `axis`; the Frobenius norm without one."""

    weight: float = 1.0
    axis: int | None = None
    groups: int = 1

    def _norms(self, y: Array) -> Array:
        return np.asarray(np.sqrt(np.sum(y * y, axis=self.axis, keepdims=True)))

    def value(self, y: Array) -> float:
        return self.weight * float(self._norms(y).sum())

    def prox(self, y: Array, t: float) -> Array:
        size = self._norms(y)
        shrink = np.maximum(1.0 - t * self.weight / np.maximum(size, 1e-300), 0.0)
        return np.asarray(shrink * y)

    def lipschitz(self, size: int) -> float:
        return self.weight * float(np.sqrt(self.groups))

    def entry_lipschitz(self) -> float:
        return self.weight


def _thresholds(rows: Array, total: float) -> Array:
    """τ (k, 1) with Σ_j max(rows_ij − τ_i, 0) = total for every row, by sorting."""
    order = -np.sort(-rows, axis=1)
    taus = (np.cumsum(order, axis=1) - total) / np.arange(1, rows.shape[1] + 1)
    last = np.maximum(np.sum(order > taus, axis=1), 1) - 1
    return np.asarray(np.take_along_axis(taus, last[:, None], axis=1))


def _by_rows(y: Array, axis: int | None, f: Callable[[Array], Array]) -> Array:
    """f (k, d) → (k, d) applied to the fibres of y along `axis`, or to y as one row."""
    if axis is None:
        return f(y.reshape(1, -1)).reshape(y.shape)
    moved = np.moveaxis(y, axis, -1)
    return np.moveaxis(f(moved.reshape(-1, moved.shape[-1])).reshape(moved.shape), -1, axis)


@dataclass(frozen=True)
class LInf:
    """h(y) = w Σ_g ‖y_g‖_∞ over the fibres along `axis`."""

    weight: float = 1.0
    axis: int | None = None
    groups: int = 1

    def value(self, y: Array) -> float:
        return self.weight * float(np.sum(np.abs(y).max(axis=self.axis)))

    def prox(self, y: Array, t: float) -> Array:
        """y minus its projection on the 1-norm ball of radius t w: every entry is clipped at a common height."""

        def clip(rows: Array) -> Array:
            height = np.maximum(_thresholds(np.abs(rows), t * self.weight), 0.0)
            return np.asarray(np.clip(rows, -height, height))

        return _by_rows(y, self.axis, clip)

    def lipschitz(self, size: int) -> float:
        return self.weight * float(np.sqrt(self.groups))

    def entry_lipschitz(self) -> float:
        return self.weight


@dataclass(frozen=True)
class Max:
    """h(y) = w Σ_g max_j y_gj over the fibres along `axis`."""

    weight: float = 1.0
    axis: int | None = None
    groups: int = 1

    def value(self, y: Array) -> float:
        return self.weight * float(np.sum(y.max(axis=self.axis)))

    def prox(self, y: Array, t: float) -> Array:
        return _by_rows(y, self.axis, lambda rows: np.minimum(rows, _thresholds(rows, t * self.weight)))

    def lipschitz(self, size: int) -> float:
        return self.weight * float(np.sqrt(self.groups))

    def entry_lipschitz(self) -> float:
        return self.weight


@dataclass(frozen=True)
class Nuclear:
    """h(Y) = w Σ σ_i(Y), the nuclear norm of a matrix of that shape."""

    shape: tuple[int, int]
    weight: float = 1.0

    def value(self, y: Array) -> float:
        return self.weight * float(np.linalg.svd(y.reshape(self.shape), compute_uv=False).sum())

    def prox(self, y: Array, t: float) -> Array:
        U, s, Vt = np.linalg.svd(y.reshape(self.shape), full_matrices=False)
        return np.asarray((U * np.maximum(s - t * self.weight, 0.0)) @ Vt).reshape(y.shape)

    def lipschitz(self, size: int) -> float:
        return self.weight * float(np.sqrt(min(self.shape)))

    def entry_lipschitz(self) -> float:
        return self.weight


@dataclass(frozen=True)
class Shifted:
    """y ↦ h(y − b)."""

    h: ProxFunction
    b: Array

    def value(self, y: Array) -> float:
        return self.h.value(y - self.b)

    def prox(self, y: Array, t: float) -> Array:
        return self.b + self.h.prox(y - self.b, t)

    def lipschitz(self, size: int) -> float:
        return self.h.lipschitz(size)

    def entry_lipschitz(self) -> float:
        return self.h.entry_lipschitz()


@dataclass(frozen=True)
class Group:
    """What `make_prox` knows of the term: weight, shape of the argument, axis of the reduction, parameters."""

    weight: float
    shape: tuple[int, ...]
    axis: int | None
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of groups: fibres along the axis."""
        return 1 if self.axis is None else int(np.prod(self.shape)) // max(1, self.shape[self.axis])


_MAKERS: dict[str, Callable[[Group], ProxFunction]] = {
    "norm1": lambda g: L1(g.weight),
    "abs": lambda g: L1(g.weight),
    "sum abs": lambda g: L1(g.weight),
    "sum norm1": lambda g: L1(g.weight),
    "norm2": lambda g: L2(g.weight),
    "norm_fro": lambda g: L2(g.weight),
    "sum norm2": lambda g: L2(g.weight, g.axis, g.count),
    "sum norm_fro": lambda g: L2(g.weight, g.axis, g.count),
    "norm_inf": lambda g: LInf(g.weight),
    "sum norm_inf": lambda g: LInf(g.weight, g.axis, g.count),
    "max": lambda g: Max(g.weight),
    "sum max": lambda g: Max(g.weight, g.axis, g.count),
    "pos": lambda g: Hinge(g.weight),
    "relu": lambda g: Hinge(g.weight),
    "sum pos": lambda g: Hinge(g.weight),
    "sum relu": lambda g: Hinge(g.weight),
    "huber": lambda g: Huber(g.weight, float(g.params.get("M", 1.0))),
    "sum huber": lambda g: Huber(g.weight, float(g.params.get("M", 1.0))),
}


def make_prox(
    name: str, weight: float, shape: tuple[int, ...], axis: int | None, params: Mapping[str, Any]
) -> ProxFunction | None:
    """The function `name` of an array of `shape`, times `weight` ≥ 0; None where no prox is known.

    `axis` is that of the reduction for names like "sum norm2"; `params` may hold huber's M.
    """
    if name == "norm_nuc":
        return Nuclear((shape[0], shape[1]), weight) if len(shape) == 2 else None
    if name not in _MAKERS:
        return None
    return _MAKERS[name](Group(weight, shape, axis, params))
