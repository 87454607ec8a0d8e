"""Selection networks: the N-th and (N+1)-th largest of M numbers without sorting them.

Batcher's merge-exchange network (Knuth, The Art of Computer Programming 3, 5.2.2, Algorithm M; any M), from which
every comparator that cannot reach one of the two wanted places is struck out. A fixed list of comparators needs no
branch, so that one instruction serves many rows at once.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

import numpy as np
from numpy.typing import NDArray


def merge_exchange(M: int) -> list[tuple[int, int]]:
    """Comparators (a, b), a < b, that sort M numbers."""
    out: list[tuple[int, int]] = []
    top = 1 << max(0, (M - 1).bit_length() - 1)
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            out.extend((i, i + d) for i in range(M - d) if i & p == r)
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2
    return out


def prune(comparators: list[tuple[int, int]], places: Collection[int]) -> list[tuple[int, int]]:
    """The comparators on which the numbers at `places` depend."""
    needed, kept = set(places), []
    for a, b in reversed(comparators):
        if a in needed or b in needed:
            needed |= {a, b}
            kept.append((a, b))
    return kept[::-1]


@cache
def selection_network(N: int, M: int) -> NDArray[np.int64]:
    """Comparators, shape (K, 2), after which places N − 1 and N (from 0) hold the N-th and (N+1)-th largest of M
    numbers, when each puts the larger number at its first place. 0 < N < M."""
    return np.array(prune(merge_exchange(M), {N - 1, N}), dtype=np.int64).reshape(-1, 2)
