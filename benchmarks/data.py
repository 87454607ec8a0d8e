"""Seconds to read tables and bind them to label sets: a long CSV of a million rows over two sets, and its parts."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from optdsl.data.access import Access
from optdsl.data.bind import Axis, bind
from optdsl.data.readers import read

ROWS = 1000


def long_table(path: Path, rows: int, quoted: bool) -> tuple[list[str], list[str]]:
    """One value for each of rows × rows pairs of labels, in a random order."""
    rng = np.random.default_rng(0)
    sources = [f"plant {k}" for k in range(rows)]
    sinks = [f"market {k}" for k in range(rows)]
    values = rng.uniform(0, 100, rows * rows)
    order = rng.permutation(rows * rows)
    mark = '"' if quoted else ""
    with path.open("w") as file:
        file.write("from,to,km\n")
        file.writelines(
            f"{mark}{sources[k // rows]}{mark},{mark}{sinks[k % rows]}{mark},{values[k]:.6f}\n" for k in order.tolist()
        )
    return sources, sinks


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for quoted in (False, True):
            sources, sinks = long_table(folder / "d.csv", ROWS, quoted)
            start = time.perf_counter()
            kwargs = {"value": "km", "index": ["from", "to"]}
            table = read("csv", ["d.csv"], kwargs, Access(folder), None)
            read_at = time.perf_counter()
            axes = [Axis(ROWS, "P", tuple(sources)), Axis(ROWS, "M", tuple(sinks))]
            bound = bind(table, "real", axes, "d", None)
            bound_at = time.perf_counter()
            assert bound.values.shape == (ROWS, ROWS)
            size = (folder / "d.csv").stat().st_size / 1e6
            print(
                f"long csv, {ROWS * ROWS:,} rows, {size:.0f} MB, {'quoted' if quoted else 'plain'}: "
                f"read {read_at - start:.2f} s, bind {bound_at - read_at:.2f} s"
            )


if __name__ == "__main__":
    main()
