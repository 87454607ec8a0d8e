"""Labels told apart: positions of labels in a set, as one hash join; labels are compared as they are shown."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray


def texts(labels: Any) -> list[str]:
    """Labels as they are shown, without outer spaces; 2020.0 in a column of whole numbers is 2020."""
    if isinstance(labels, np.ndarray):
        if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.rint(labels)).all():
            labels = labels.astype(np.int64) if np.abs(labels).max(initial=0) < 2**63 else labels
        labels = labels.tolist()
    return list(map(str.strip, map(str, labels)))


def keys_of(labels: Sequence[Any]) -> list[Hashable]:
    """What stands for each label in a join: its text, or the texts of a tuple's parts."""
    if len(labels) and isinstance(labels[0], tuple):
        return list(zip(*parts_of(labels), strict=True))
    return list(texts(labels))


def find(keys: Sequence[Hashable], among: Sequence[Hashable]) -> NDArray[np.int64]:
    """Positions of `keys` in `among`, −1 where absent."""
    position = dict(zip(among, range(len(among)), strict=True))
    return np.fromiter(map(position.get, keys, repeat(-1)), np.int64, len(keys))


def parts_of(tuples: Sequence[tuple[Any, ...]]) -> list[list[str]]:
    """The columns of a list of tuples, as texts."""
    return [texts(list(map(itemgetter(k), tuples))) for k in range(len(tuples[0]))]


def find_tuples(keys: Sequence[Sequence[str]], among: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Positions of the tuples of `keys` (given by columns) in those of `among`, −1 where absent: the parts are numbered, so
    that tuples are whole numbers, and those joined by sorting."""
    codes = np.zeros(len(keys[0]), dtype=np.int64)
    codes_among = np.zeros(len(among[0]), dtype=np.int64)
    for part, part_among in zip(keys, among, strict=True):
        distinct = list(dict.fromkeys(part_among))
        at = find(part, distinct)
        codes = np.where((codes < 0) | (at < 0), -1, codes * len(distinct) + at)
        codes_among = codes_among * len(distinct) + find(part_among, distinct)
        seen, codes_among = np.unique(codes_among, return_inverse=True)  # small again, so that no product overflows
        codes = _position(codes, seen)
    order = np.argsort(codes_among, kind="stable")
    at = _position(codes, codes_among[order])
    return np.where(at < 0, -1, order[at])


def _position(values: NDArray[np.int64], ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of `values` in `ordered`, −1 where absent."""
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.where(ordered[at] == values, at, -1)


def counted(keys: Sequence[str], low: int, size: int) -> NDArray[np.int64]:
    """Positions of whole numbers in low … low + size − 1, −1 for what is none of them."""
    try:
        at = np.fromiter(map(int, keys), np.int64, len(keys))
    except (ValueError, OverflowError):
        plain = [k.removeprefix("-") for k in keys]
        fits = [k.isdecimal() and len(k) < 19 for k in plain]
        at = np.array([int(k) if f else low - 1 for k, f in zip(keys, fits, strict=True)], dtype=np.int64)
    at = at - low
    return np.where((at >= 0) & (at < size), at, -1)


def first_twice(keys: Sequence[Hashable]) -> tuple[int, int] | None:
    """Positions of the first key that occurs again, and of where it does."""
    if len(set(keys)) == len(keys):
        return None
    seen: dict[Hashable, int] = {}
    for i, key in enumerate(keys):
        if key in seen:
            return seen[key], i
        seen[key] = i
    return None
