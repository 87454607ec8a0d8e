"""Seconds to read a long table of a million rows and bind it over two label sets, or over the set of its own pairs."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from optdsl.data.access import Access
from optdsl.data.bind import Axis, bind
from optdsl.data.readers import read

#: Labels of each of the two sets; the table has a row for each pair.
LABELS = 1000
KEYWORDS = {"value": "km", "index": ["from", "to"]}


def write_long(path: Path, plants: list[str], markets: list[str], values: np.ndarray, quoted: bool) -> None:
    """One row for each pair of labels, in a random order."""
    mark = '"' if quoted else ""
    order = np.random.default_rng(1).permutation(values.size)
    with path.open("w") as file:
        file.write("from,to,km\n")
        file.writelines(
            f"{mark}{plants[k // LABELS]}{mark},{mark}{markets[k % LABELS]}{mark},{values.flat[k]!r}\n"
            for k in order.tolist()
        )


def main() -> None:
    plants = [f"plant {k}" for k in range(LABELS)]
    markets = [f"market {k}" for k in range(LABELS)]
    values = np.random.default_rng(0).uniform(0, 100, (LABELS, LABELS)).round(6).astype(object)
    pairs = tuple((p, m) for p in plants for m in markets)
    over_sets = [Axis(LABELS, "P", tuple(plants)), Axis(LABELS, "M", tuple(markets))]
    over_pairs = [Axis(len(pairs), "Arcs", pairs)]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "d.csv"
        for quoted in (False, True):
            write_long(path, plants, markets, values, quoted)
            started = time.perf_counter()
            table = read("csv", [path.name], KEYWORDS, Access(path.parent), None)
            seconds = {"read": time.perf_counter() - started}
            for what, axes in (("bind over two sets", over_sets), ("bind over a set of pairs", over_pairs)):
                started = time.perf_counter()
                bound = bind(table, "real", axes, "d", None)
                seconds[what] = time.perf_counter() - started
                assert np.array_equal(bound.values.ravel(), values.ravel().astype(float))
            shown = ", ".join(f"{k} {v:.2f} s" for k, v in seconds.items())
            marks = "labels in quotes" if quoted else "no quotes"
            print(f"{values.size:,} rows, {path.stat().st_size / 1e6:.0f} MB, {marks}: {shown}")


if __name__ == "__main__":
    main()
