"""Functions that move or add entries and never change them.

`structure(*shapes, **params)` gives `("take", index, shape)` with an index into the concatenated flat arguments,
`("linear", M, shape)` with a sparse matrix on them, or `("product", ia, ib, shape)`: entry k is a[ia[k]] · b[ib[k]].
It gives None where the shapes do not fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optdsl.functions.table import Function, Shape, same_sign


def _ids(shapes: tuple[Shape, ...]) -> list[Any]:
    """Arrays of positions into the concatenation of the flat arguments."""
    out, offset = [], 0
    for shape in shapes:
        size = int(np.prod(shape, dtype=int))
        out.append(np.arange(offset, offset + size).reshape(shape))
        offset += size
    return out


def _joined(shapes: tuple[Shape, ...], join: Any) -> Any:
    try:
        ids = join(_ids(shapes))
    except ValueError:
        return None
    return "take", ids.ravel(), ids.shape


def _reshape(shape: Shape, *, shape_to: Any) -> Any:
    new = (shape_to,) if isinstance(shape_to, int) else tuple(int(k) for k in shape_to)
    if int(np.prod(new, dtype=int)) != int(np.prod(shape, dtype=int)):
        return None
    return "take", np.arange(int(np.prod(shape, dtype=int))), new


def _diag(shape: Shape) -> Any:
    """The diagonal of a matrix, or the diagonal matrix of a vector."""
    if len(shape) == 2 and shape[0] == shape[1]:
        ids = np.arange(shape[0]) * (shape[1] + 1)
        return "take", ids, (shape[0],)
    if len(shape) == 1:
        import scipy.sparse as sp

        n = shape[0]
        M = sp.csr_array((np.ones(n), (np.arange(n) * (n + 1), np.arange(n))), shape=(n * n, n))
        return "linear", M, (n, n)
    return None


def _trace(shape: Shape) -> Any:
    import scipy.sparse as sp

    if len(shape) != 2 or shape[0] != shape[1]:
        return None
    n = shape[0]
    return "linear", sp.csr_array((np.ones(n), (np.zeros(n, dtype=int), np.arange(n) * (n + 1))), shape=(1, n * n)), ()


def _along(shape: Shape, axis: int, block: Any) -> Any:
    """Applies a (k', k) matrix along one axis."""
    import scipy.sparse as sp

    if not shape or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    before, after = int(np.prod(shape[:axis], dtype=int)), int(np.prod(shape[axis + 1 :], dtype=int))
    B = block(shape[axis])
    M = sp.kron(sp.kron(sp.eye_array(before), B), sp.eye_array(after)).tocsr()
    return "linear", sp.csr_array(M), (*shape[:axis], B.shape[0], *shape[axis + 1 :])


def _cumsum(shape: Shape, *, axis: int) -> Any:
    import scipy.sparse as sp

    return _along(shape, axis, lambda n: sp.csr_array(np.tril(np.ones((n, n)))))


def _diff(shape: Shape, *, axis: int, k: int) -> Any:
    import scipy.sparse as sp

    def block(n: int) -> Any:
        B = sp.eye_array(n).tocsr()
        for _ in range(k):
            size = B.shape[0]
            B = (sp.eye_array(size - 1, size, k=1) - sp.eye_array(size - 1, size)).tocsr() @ B
        return B

    return _along(shape, axis, block) if shape and shape[axis % len(shape)] > k else None


def _outer(a: Shape, b: Shape) -> Any:
    if len(a) != 1 or len(b) != 1:
        return None
    return "product", np.repeat(np.arange(a[0]), b[0]), np.tile(np.arange(b[0]), a[0]), (a[0], b[0])


def _kron(a: Shape, b: Shape) -> Any:
    if len(a) != 2 or len(b) != 2:
        return None
    ia = np.kron(np.arange(a[0] * a[1]).reshape(a), np.ones(b, dtype=int))
    ib = np.kron(np.ones(a, dtype=int), np.arange(b[0] * b[1]).reshape(b))
    return "product", ia.ravel(), ib.ravel(), ia.shape


def _expand(shape: Shape, *, shape_to: Any) -> Any:
    """Repeats an array along new or one-long axes, as NumPy's broadcast_to."""
    new = (shape_to,) if isinstance(shape_to, int) else tuple(int(k) for k in shape_to)
    try:
        ids = np.broadcast_to(np.arange(int(np.prod(shape, dtype=int))).reshape(shape), new)
    except ValueError:
        return None
    return "take", ids.ravel(), new


def _product_sign(a: int | None, b: int | None) -> int | None:
    return a * b if a is not None and b is not None else None


FUNCTIONS = [
    Function(
        "transpose",
        "structural",
        "transpose, written A.T",
        r"{0}^\top",
        sign=same_sign,
        curvature="affine",
        monotone="+",
        result="same",
        structure=lambda shape: (
            "take",
            np.arange(int(np.prod(shape, dtype=int))).reshape(shape).T.ravel(),
            shape[::-1],
        ),
    ),
    Function(
        "reshape",
        "structural",
        "the same entries, row by row, in another shape",
        r"\operatorname{{reshape}}({0})",
        params={"shape_to": ...},
        sign=same_sign,
        curvature="affine",
        monotone="+",
        result="same",
        structure=_reshape,
    ),
    Function(
        "expand",
        "structural",
        "repeats along new axes",
        r"\operatorname{{expand}}({0})",
        params={"shape_to": ...},
        sign=same_sign,
        curvature="affine",
        monotone="+",
        result="same",
        structure=_expand,
    ),
    Function(
        "stack",
        "structural",
        "joins arrays along a new first axis",
        r"\operatorname{{stack}}({0})",
        arity=None,
        sign=same_sign,
        curvature="affine",
        monotone="+",
        result="same",
        structure=lambda *s: _joined(s, np.stack),
    ),
    Function(
        "hstack",
        "structural",
        "joins side by side",
        r"[{0}]",
        arity=None,
        sign=same_sign,
        curvature="affine",
        monotone="+",
        result="same",
        structure=lambda *s: _joined(s, np.hstack),
    ),
    Function(
        "vstack",
        "structural",
        "joins one above the other",
        r"[{0}]",
        arity=None,
        sign=same_sign,
        curvature="affine",
        monotone="+",
        result="same",
        structure=lambda *s: _joined(s, np.vstack),
    ),
    Function(
        "diag",
        "structural",
        "diagonal of a matrix, or the diagonal matrix of a vector",
        r"\operatorname{{diag}}({0})",
        sign=same_sign,
        curvature="affine",
        monotone="+",
        result="same",
        structure=_diag,
    ),
    Function(
        "trace",
        "structural",
        "sum of the diagonal",
        r"\operatorname{{tr}}({0})",
        sign=same_sign,
        curvature="affine",
        monotone="+",
        result="same",
        structure=_trace,
    ),
    Function(
        "cumsum",
        "structural",
        "running sums along an axis",
        r"\operatorname{{cumsum}}({0})",
        params={"axis": -1},
        sign=same_sign,
        curvature="affine",
        monotone="+",
        result="same",
        structure=_cumsum,
    ),
    Function(
        "diff",
        "structural",
        "differences of neighbours along an axis",
        r"\operatorname{{diff}}({0})",
        params={"k": 1, "axis": -1},
        curvature="affine",
        result="same",
        structure=_diff,
    ),
    Function(
        "outer",
        "structural",
        "outer product of two vectors",
        r"{0}{1}^\top",
        arity=2,
        sign=_product_sign,
        result="same",
        structure=_outer,
    ),
    Function(
        "kron",
        "structural",
        "Kronecker product",
        r"{0} \otimes {1}",
        arity=2,
        sign=_product_sign,
        result="same",
        structure=_kron,
    ),
]
