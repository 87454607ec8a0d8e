"""Scores and patterns that make no problem are errors with code and place."""

from __future__ import annotations

import numpy as np
import pytest

from optdsl.forms.mask import Mask
from optdsl.syntax.diagnostics.record import Diagnostic, OptError


def refused(*arguments: object, **pattern: object) -> Diagnostic:
    with pytest.raises(OptError) as caught:
        Mask.from_scores(*arguments, **pattern)  # type: ignore[arg-type]
    return caught.value.diagnostics[0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_must_be_finite(value: float) -> None:
    W = np.ones((8, 8), dtype=np.float32)
    W[3, 5] = W[7, 7] = value
    told = refused(W, 2, 4)
    assert told.code == "E330" and "[3, 5]" in told.message and "1 more" in told.notes[0]


def test_scores_must_be_real() -> None:
    assert refused(np.ones((4, 4), dtype=complex), 2, 4).code == "E331"
    assert refused(np.array([["a"] * 4] * 4), 2, 4).code == "E331"


def test_m_must_divide_the_sides() -> None:
    told = refused(np.ones((8, 30)), 2, 4, transposable=True)
    assert told.code == "E430" and "axis 1 (30)" in told.message and "28 and 32" in told.notes[0]
    assert refused(np.ones((6, 8)), 2, 4, axis=0).code == "E430"
    assert refused(np.ones((6, 8)), 2, 16).notes[0].endswith("are 16")
    assert Mask.from_scores(np.ones((6, 8)), 2, 4).blocks == 12


@pytest.mark.parametrize(("N", "M"), [(5, 4), (-1, 4), (0, 0)])
def test_n_of_m_in_range(N: int, M: int) -> None:
    assert refused(np.ones((4, 4)), N, M).code == "E431"


def test_axes() -> None:
    assert refused(np.ones((2, 4, 4)), 2, 4, transposable=True).code == "E432"
    assert refused(np.ones((4, 4)), 2, 4, axis=2).code == "E433"
    form = Mask.from_scores(np.ones((4, 8)), 2, 4, transposable=True, exactly=True)
    assert form.sizes == {"entries": 32, "pattern": "2:4, transposable, exactly"}
