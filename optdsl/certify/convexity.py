"""Is a quadratic convex? Decided from the matrix P alone.

Small matrices by their eigenvalues; larger ones by a symmetric elimination P + δI = L D Lᵀ without row exchanges, whose
pivots are all positive exactly when P + δI is positive definite (Sylvester). δ is rounding on the scale of P.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from optdsl.certify.polyhedron import EPS
from optdsl.forms.linear import LinearProgram

#: Matrices up to this order (after empty rows are dropped) are decided by all their eigenvalues.
SMALL = 300


def strength(form: LinearProgram) -> float:
    """A number λ ≥ 0 with P ⪰ λ I, proven to rounding; 0 where P is singular or large."""
    P = getattr(form, "P", None)
    n = form.c.size
    if P is None or n > SMALL:
        return 0.0
    least = float(np.linalg.eigvalsh(P.toarray())[0])
    return max(0.0, least - 4 * EPS * n * float(abs(P).sum(axis=0).max()))


def convex(form: LinearProgram) -> tuple[bool, str]:
    """(convex, a note where it holds only to rounding or fails)."""
    P = getattr(form, "P", None)
    if P is None or P.nnz == 0:
        return True, ""
    P = sp.csc_array(P)
    if abs(P - P.T).max() > 8 * EPS * abs(P).max():
        return False, "the quadratic's matrix is not symmetric"
    used = np.flatnonzero(abs(P).sum(axis=0))
    P = P[used][:, used]
    scale = float(abs(P).sum(axis=0).max())
    if used.size <= SMALL:
        least = float(np.linalg.eigvalsh(P.toarray())[0])
        if least >= -EPS * used.size * scale:
            return True, ""
        return False, f"the objective is not convex: its curvature goes down to {least:.6g}"
    delta = 64 * EPS * np.sqrt(used.size) * scale
    shifted = sp.csc_array(P + delta * sp.eye_array(used.size))
    try:
        factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:
        return False, "the quadratic's matrix could not be eliminated, so its convexity is open"
    if np.array_equal(factors.perm_r, factors.perm_c) and (factors.U.diagonal() > 0).all():
        return True, ""
    return False, "the objective is not convex: a pivot of its matrix is not positive"
