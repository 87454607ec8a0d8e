"""Linear, quadratic and mixed-integer programs as sparse matrices.

    minimise  c·x + c0 + ½ xᵀ P x   subject to  row_lower ≤ A x ≤ row_upper,  lower ≤ x ≤ upper,  x_j integer (j ∈ J)

`Answer.point` is x, shape (n,). `Answer.dual` holds `rows` (m,) and `bounds` (n,): the change of the minimum per unit
of the active side of the row or bound, so c + P x = Aᵀ rows + bounds at an optimum. `Answer.ray` holds `primal` (n,),
a recession direction, or `dual` (m,) row multipliers y whose combination yᵀA x contradicts the row sides and bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from optdsl.forms.base import Form

if TYPE_CHECKING:
    from typing_extensions import Self

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LinearProgram(Form):
    title: ClassVar[str] = "linear program"
    c: Vector
    c0: float = 0.0
    A: sp.csr_array
    row_lower: Vector
    row_upper: Vector
    lower: Vector
    upper: Vector
    start: Vector | None = None
    name_row: Callable[[int], str] | None = None
    name_column: Callable[[int], str] | None = None

    @classmethod
    def from_arrays(
        cls,
        c: ArrayLike,
        A: Any = None,
        row_lower: ArrayLike = -np.inf,
        row_upper: ArrayLike = np.inf,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        **more: Any,
    ) -> Self:
        """From plain arrays (A dense or sparse, (m, n)); what is absent is no limit. Numbers are spread over all rows
        or variables. `more` holds the other fields (`c0`, `start`, `P`, `squares`, `convex`, `integer`)."""
        c = np.atleast_1d(np.asarray(c, float))
        n = c.size
        A = sp.csr_array((0, n)) if A is None else sp.csr_array(A, dtype=float)
        if more.get("P") is not None:
            more["P"] = sp.csc_array(more["P"], dtype=float)
        if "integer" in more:
            more["integer"] = np.broadcast_to(np.asarray(more["integer"], bool), (n,)).copy()

        def spread(value: ArrayLike, size: int) -> Vector:
            return np.broadcast_to(np.asarray(value, float), (size,)).copy()

        m = A.shape[0]
        rows: dict[str, Any] = {"row_lower": spread(row_lower, m), "row_upper": spread(row_upper, m)}
        return cls(c=c, A=A, **rows, lower=spread(lower, n), upper=spread(upper, n), **more)

    @property
    def constraints(self) -> dict[str, Any]:
        """Rows and bounds, as the keywords of another program over the same set."""
        return {
            "A": self.A,
            "row_lower": self.row_lower,
            "row_upper": self.row_upper,
            "lower": self.lower,
            "upper": self.upper,
        }

    @cached_property
    def AT(self) -> sp.csr_array:
        return sp.csr_array(self.A.T)

    @property
    def sizes(self) -> dict[str, Any]:
        m, n = self.A.shape
        return {"variables": n, "rows": m, "nonzeros": int(self.A.nnz)}

    def objective(self, x: Vector) -> float:
        return float(self.c @ x + self.c0)

    def gradient(self, x: Vector) -> Vector:
        return self.c


@dataclass(frozen=True, kw_only=True)
class Square:
    """One factored term Σ_k d_k (F x + g)_k²; convex when every d_k ≥ 0."""

    F: sp.csr_array
    g: Vector
    d: Vector


@dataclass(frozen=True, kw_only=True)
class QuadraticProgram(LinearProgram):
    """`P` is symmetric (n, n), both triangles. `squares` keeps the factors it came from (they sum to ½xᵀPx + …) where
    all of it is factored, else it is empty. `convex` is decided at matching: True, False, or None when not known."""

    title: ClassVar[str] = "quadratic program"
    P: sp.csc_array
    squares: Sequence[Square] = ()
    convex: bool | None = None

    @property
    def sizes(self) -> dict[str, Any]:
        return super().sizes | {"quadratic_nonzeros": int(self.P.nnz)}

    def objective(self, x: Vector) -> float:
        return float(self.c @ x + self.c0 + 0.5 * (x @ (self.P @ x)))

    def gradient(self, x: Vector) -> Vector:
        return self.c + self.P @ x


@dataclass(frozen=True, kw_only=True)
class MixedInteger(LinearProgram):
    """`integer` (n,) marks whole-number variables; `P` is absent in the linear case."""

    title: ClassVar[str] = "mixed-integer program"
    integer: NDArray[np.bool_]
    P: sp.csc_array | None = None

    @property
    def sizes(self) -> dict[str, Any]:
        return super().sizes | {"integers": int(self.integer.sum())}

    def objective(self, x: Vector) -> float:
        quadratic = 0.0 if self.P is None else 0.5 * (x @ (self.P @ x))
        return float(self.c @ x + self.c0 + quadratic)

    def gradient(self, x: Vector) -> Vector:
        return self.c if self.P is None else self.c + self.P @ x
