"""Embedded manifolds by the names that follow `in`; `MANIFOLDS[name](shape, **params)` makes one."""

from __future__ import annotations

from collections.abc import Callable

from optdsl.kernels.manifolds.base import Array, Manifold
from optdsl.kernels.manifolds.curved import Hyperbolic, SimplexInterior, SymmetricPositive
from optdsl.kernels.manifolds.low_rank import FixedRank
from optdsl.kernels.manifolds.orthonormal import Grassmann, Orthogonal, Rotations, Stiefel
from optdsl.kernels.manifolds.product import Euclidean, Product
from optdsl.kernels.manifolds.spheres import Oblique, Sphere

MANIFOLDS: dict[str, Callable[..., Manifold]] = {
    "stiefel": lambda shape: Stiefel(*shape),
    "grassmann": lambda shape: Grassmann(*shape),
    "orthogonal": lambda shape: Orthogonal(*shape),
    "rotations": lambda shape: Rotations(*shape),
    "sphere": lambda shape: Sphere(tuple(shape)),
    "oblique": lambda shape: Oblique(*shape),
    "spd": lambda shape: SymmetricPositive(shape[0]),
    "fixed_rank": lambda shape, r: FixedRank(shape[0], shape[1], int(r)),
    "simplex_interior": lambda shape: SimplexInterior(shape[0]),
    "hyperbolic": lambda shape: Hyperbolic(shape[0]),
}

__all__ = [
    "MANIFOLDS", "Array", "Euclidean", "FixedRank", "Grassmann", "Hyperbolic", "Manifold", "Oblique", "Orthogonal", "Product", "Rotations",
    "SimplexInterior", "Sphere", "Stiefel", "SymmetricPositive",
]  # fmt: skip
