"""Nearby members of the cones of a standard form and of their duals.

Each function moves a vector into the cone by a small change; what it gives is a member up to rounding, though not
always the nearest one. Dual cones: nonnegative, second-order and semidefinite are their own; the dual of {0} is
everything; exponential: −u exp(v/u) ≤ e w, u < 0, closed with u = 0, v, w ≥ 0; power: Π (x_i/α_i)^α_i ≥ |z|
(Chares, "Cones and interior-point algorithms for structured convex optimization involving powers and exponentials",
thesis, Louvain, 2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from optdsl.certify.polyhedron import EPS
from optdsl.forms.conic import Cones

Vector = NDArray[np.float64]


def member(cones: Cones, v: Vector, *, dual: bool) -> Vector:
    """A member of K, or of K* where `dual`, near v (the rows of the standard form)."""
    v = v.copy()
    if not dual:
        v[: cones.zero] = 0.0
    at = cones.zero
    v[at : at + cones.nonneg] = np.maximum(v[at : at + cones.nonneg], 0.0)
    at += cones.nonneg
    for size, count in _runs(cones.soc):
        block = v[at : at + size * count].reshape(count, size)
        block[:] = _second_order(block)
        at += size * count
    for k in cones.psd:
        size = k * (k + 1) // 2
        v[at : at + size] = _semidefinite(v[at : at + size], k)
        at += size
    block = v[at : at + 3 * cones.exp].reshape(cones.exp, 3)
    block[:] = _nearest(block, _dual_exponential(block) if dual else _exponential(block))
    at += 3 * cones.exp
    for alpha in cones.powers:
        size = len(alpha) + 1
        v[at : at + size] = _power(v[at : at + size], np.array(alpha) if dual else np.ones(len(alpha)), np.array(alpha))
        at += size
    return v


def block_sizes(cones: Cones) -> NDArray[np.intp]:
    """The number of rows of each cone; one a row for {0} and the nonnegative numbers."""
    single = [1] * (cones.zero + cones.nonneg)
    psd = [k * (k + 1) // 2 for k in cones.psd]
    powers = [len(alpha) + 1 for alpha in cones.powers]
    return np.array([*single, *cones.soc, *psd, *([3] * cones.exp), *powers], dtype=np.intp)


def interior(cones: Cones) -> Vector:
    """A direction into the interior of each cone of more than one dimension and of its dual: the centre of the cone's
    barrier (Nesterov & Todd; Skajaa & Ye for the exponential cone)."""
    parts = [np.zeros(cones.zero + cones.nonneg)]
    parts += [np.eye(1, size).ravel() for size in cones.soc]
    for k in cones.psd:
        column, row = np.tril_indices(k)
        parts.append((row == column).astype(float))
    parts.append(np.tile([-1.051383945322714, 0.556409619469370, 1.258967884768947], cones.exp))
    parts += [np.append(np.sqrt(1 + np.array(alpha)), 0.0) for alpha in cones.powers]
    return np.concatenate(parts)


def _runs(sizes: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    for size, group in groupby(sizes):
        yield size, len(list(group))


def _second_order(block: Vector) -> Vector:
    """Euclidean projection, rows (t, x)."""
    t, x = block[:, :1], block[:, 1:]
    length = np.linalg.norm(x, axis=1, keepdims=True)
    share = np.where(length <= t, 1.0, np.where(length <= -t, 0.0, (1 + t / np.where(length > 0, length, 1.0)) / 2))
    x = share * x
    return np.hstack([np.maximum(t, np.linalg.norm(x, axis=1, keepdims=True) * (1 + 4 * EPS)), x])


def matrix(v: Vector, k: int) -> Vector:
    """The symmetric matrix of order k of an upper triangle by columns with off-diagonals times √2."""
    column, row = np.tril_indices(k)
    M = np.zeros((k, k))
    M[row, column] = v / np.where(row == column, 1.0, np.sqrt(2))
    return M + np.triu(M, 1).T


def _semidefinite(v: Vector, k: int) -> Vector:
    M = matrix(v, k)
    values, vectors = np.linalg.eigh(M)
    if values.size == 0 or values[0] >= 0:
        return v
    M = (vectors * np.maximum(values, 0.0)) @ vectors.T
    M = M + 4 * k * EPS * max(values[-1], 0.0) * np.eye(k)
    column, row = np.tril_indices(k)
    return M[row, column] * np.where(row == column, 1.0, np.sqrt(2))


def _nearest(block: Vector, candidates: list[Vector]) -> Vector:
    stack = np.stack(candidates)
    away = np.where(np.isfinite(stack).all(axis=2), np.linalg.norm(stack - block, axis=2), np.inf)
    return stack[np.argmin(away, axis=0), np.arange(block.shape[0])]


def _exponential(block: Vector) -> list[Vector]:
    """(x, y, z): z raised; or the face y = 0."""
    x, y, z = block.T
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        least = np.where(y > 0, y * np.exp(x / y), np.inf)
    raised = np.column_stack([x, y, np.maximum(z, least * (1 + 8 * EPS))])
    face = np.column_stack([np.minimum(x, 0.0), np.zeros_like(y), np.maximum(z, 0.0)])
    return [raised, face]


def _dual_exponential(block: Vector) -> list[Vector]:
    """(u, v, w): w raised; v raised; or the face u = 0."""
    u, v, w = block.T
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        least_w = np.where(u < 0, -u * np.exp(v / u - 1), np.inf)
        least_v = np.where((u < 0) & (w > 0), u * (1 + np.log(w / -u)), np.inf)
    raised_w = np.column_stack([u, v, np.maximum(w, least_w * (1 + 8 * EPS))])
    margin = 8 * EPS * (np.abs(u) + np.where(np.isfinite(least_v), np.abs(least_v), 0.0))
    raised_v = np.column_stack([u, np.maximum(v, least_v + margin), w])
    face = np.column_stack([np.zeros_like(u), np.maximum(v, 0.0), np.maximum(w, 0.0)])
    return [raised_w, raised_v, face]


def _power(v: Vector, scale: Vector, alpha: Vector) -> Vector:
    """(x, z) with Π (x_i/scale_i)^α_i ≥ |z|: x cut at 0, z cut."""
    x = np.maximum(v[:-1], 0.0)
    limit = float(np.prod((x / scale) ** alpha)) * (1 - 16 * EPS)
    return np.append(x, np.clip(v[-1], -limit, limit))
