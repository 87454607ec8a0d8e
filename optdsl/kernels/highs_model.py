"""A linear, quadratic or mixed-integer program as a HiGHS model, passed as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from optdsl.forms.linear import LinearProgram

if TYPE_CHECKING:
    from highspy._core import _Highs

ROWWISE, TRIANGULAR, MINIMISE = 2, 1, 1


def load(form: LinearProgram) -> _Highs:
    """A silent HiGHS model of the program."""
    import highspy
    from highspy._core import _Highs  # the public class prints a banner before it can be silenced

    h = _Highs()
    h.setOptionValue("output_flag", False)
    P = getattr(form, "P", None)
    Q = sp.csc_array((form.c.size, form.c.size)) if P is None else sp.csc_array(sp.tril(P))
    integer = getattr(form, "integer", None)
    m, n = form.A.shape
    kinds = np.zeros(n, np.int32) if integer is None else integer.astype(np.int32)
    A = form.A
    status = h.passModel(
        n, m, A.nnz, Q.nnz, ROWWISE, TRIANGULAR, MINIMISE, form.c0, form.c, form.lower, form.upper,
        form.row_lower, form.row_upper, A.indptr, A.indices, A.data, Q.indptr, Q.indices, Q.data, kinds,
    )  # fmt: skip
    if status == highspy.HighsStatus.kError:
        raise ValueError("HiGHS refuses the program: a coefficient is not a finite number or too large")
    return h
