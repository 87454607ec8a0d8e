"""Cutting an array into M × M blocks or groups of M, and putting it together again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def cut(array: NDArray[Any], M: int) -> NDArray[Any]:
    """The M × M blocks of an (m, n) array in row-major order, shape (m n / M², M, M), copied."""
    m, n = array.shape
    return array.reshape(m // M, M, n // M, M).swapaxes(1, 2).reshape(-1, M, M)


def join(blocks: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """The inverse of `cut`."""
    m, n = shape
    M = blocks.shape[-1]
    return blocks.reshape(m // M, n // M, M, M).swapaxes(1, 2).reshape(m, n)


def groups(array: NDArray[Any], M: int, axis: int) -> NDArray[Any]:
    """M consecutive entries along `axis` as rows, shape (…, M); a view where the layout allows."""
    moved = np.moveaxis(array, axis, -1)
    return moved.reshape(*moved.shape[:-1], moved.shape[-1] // M, M)


def circulant(N: int, M: int) -> NDArray[np.bool_]:
    """The mask with N entries in every row and column that needs no scores: entry (i, j) where (j − i) mod M < N."""
    index = np.arange(M)
    return (index[None, :] - index[:, None]) % M < N
