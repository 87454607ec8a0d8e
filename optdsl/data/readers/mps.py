"""MPS files, by their parts: `mps("model.mps", "A")`, read by HiGHS.

    minimise c·x + offset  subject to  row_lower ≤ A x ≤ row_upper,  lower ≤ x ≤ upper,  x_j whole where integer_j = 1

A maximisation is turned round by `sense`, which is −1 then and 1 otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.data.values import Array, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, no_such_key, reader_argument
from optdsl.syntax.source import Span

NAMES = ("mps",)
SUFFIXES = {".mps": "mps"}
PARTS = ("A", "c", "offset", "row_lower", "row_upper", "lower", "upper", "integer", "sense")


def read(name: str, path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    if len(args) != 1 or kwargs:
        raise OptError(reader_argument(span, "mps", f"takes a file and one of {', '.join(PARTS)}"))
    if args[0] not in PARTS:
        raise OptError(no_such_key(span, shown, str(args[0]), PARTS))
    value = _parts(path, shown, span)[args[0]]
    labels = (None,) * np.ndim(value) if not sp.issparse(value) else (None, None)
    return Array(value, labels, file_source(f"mps({shown!r}, {args[0]!r})", path), infinite=True)


def _parts(path: Path, shown: str, span: Span | None) -> dict[str, Any]:
    from highspy import HighsStatus, MatrixFormat, ObjSense
    from highspy._core import HighsVarType, _Highs

    solver = _Highs()
    solver.setOptionValue("output_flag", False)
    if solver.readModel(str(path)) == HighsStatus.kError:
        raise OptError(damaged_file(span, shown, "MPS", "HiGHS finds no model in it"))
    lp = solver.getLp()
    M = lp.a_matrix_
    parts = (np.asarray(M.value_, dtype=float), np.asarray(M.index_), np.asarray(M.start_))
    shape = (lp.num_row_, lp.num_col_)
    A = sp.csc_array(parts, shape=shape) if M.format_ == MatrixFormat.kColwise else sp.csr_array(parts, shape=shape)
    kinds = list(lp.integrality_) or [HighsVarType.kContinuous] * lp.num_col_
    return {
        "A": sp.csr_array(A),
        "c": np.asarray(lp.col_cost_, dtype=float),
        "offset": np.float64(lp.offset_),
        "row_lower": np.asarray(lp.row_lower_, dtype=float),
        "row_upper": np.asarray(lp.row_upper_, dtype=float),
        "lower": np.asarray(lp.col_lower_, dtype=float),
        "upper": np.asarray(lp.col_upper_, dtype=float),
        "integer": np.array([k != HighsVarType.kContinuous for k in kinds]),
        "sense": np.int64(-1 if lp.sense_ == ObjSense.kMaximize else 1),
    }
