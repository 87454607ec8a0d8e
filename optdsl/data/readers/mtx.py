"""Matrix Market files (`mtx`), dense or by coordinates; what is by coordinates stays sparse.

The format: R. F. Boisvert, R. Pozo, K. A. Remington, The Matrix Market Exchange Formats, NISTIR 5935, 1996. It is read here
because `scipy.io.mmread` (1.12 to 1.17) ends the process on a file whose last line is cut off after a space
(scipy issue 19949 is of the same kind), and a file from a stranger must not be able to do that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optdsl.data.values import Array, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, reader_argument
from optdsl.syntax.diagnostics.names import too_large
from optdsl.syntax.source import Cell, Span

NAMES = ("mtx",)
SUFFIXES = {".mtx": "mtx"}
#: Rows or columns of a sparse matrix, entries of a dense one.
LARGEST = 200_000_000
FIELDS = ("real", "integer", "complex", "pattern")
#: Whole numbers up to this one are exact as 64-bit reals.
EXACT = 2**53
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


def read(name: str, path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    """Raises E305 at the line that is wrong, E219 for sizes beyond reason."""
    if args or kwargs:
        raise OptError(reader_argument(span, "mtx", "takes a file only"))
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except ValueError:
        raise OptError(damaged_file(span, shown, "mtx", "it is not text")) from None

    def wrong(line: int, why: str) -> OptError:
        return OptError(damaged_file(Cell(shown, line + 1), shown, "mtx", why))

    form, field, symmetry = _banner(lines[0], wrong)
    head = next((k for k, x in enumerate(lines) if k and x.strip() and not x.lstrip().startswith("%")), None)
    if head is None:
        raise wrong(len(lines) - 1, "the line with its sizes is missing")
    try:
        sizes = [int(t) for t in lines[head].split()]
    except ValueError:
        sizes = []
    if len(sizes) != (3 if form == "coordinate" else 2) or min(sizes) < 0:
        raise wrong(head, "its sizes are " + ("rows, columns, entries" if form == "coordinate" else "rows, columns"))
    rows, columns = sizes[:2]
    size = rows * columns if form == "array" else max(rows, columns)
    if size > LARGEST:
        raise OptError(too_large(span, f"{shown!r}" if form == "array" else f"an axis of {shown!r}", size, LARGEST))
    if symmetry != "general" and rows != columns:
        raise wrong(head, f"a {symmetry} matrix is square")
    body = _body(lines, head + 1)
    values: Any
    if form == "coordinate":
        values = _coordinates(body, field, symmetry, sizes, wrong)
    else:
        values = _dense(body, field, symmetry, rows, columns, wrong)
    return Array(values, (None, None), file_source(f"mtx({shown!r})", path), lambda index: Cell(shown))


Wrong = Callable[[int, str], OptError]
#: The lines with entries, and where each stands.
Body = tuple[Sequence[int], list[str]]


def _body(lines: list[str], start: int) -> Body:
    rest = lines[start:]
    while rest and not rest[-1].strip():
        rest.pop()
    if all(rest) and not any(map(methodcaller("startswith", ("%", " ")), rest)):
        return range(start, start + len(rest)), rest
    kept = [k for k, x in enumerate(rest) if x.strip() and not x.lstrip().startswith("%")]
    return [start + k for k in kept], [rest[k] for k in kept]


def _banner(line: str, wrong: Wrong) -> tuple[str, str, str]:
    words = line.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise wrong(0, "its first line is no `%%MatrixMarket matrix …`")
    form, field, symmetry = words[2:]
    field = "real" if field == "double" else field
    if form not in ("coordinate", "array") or field not in FIELDS or symmetry not in SYMMETRIES:
        raise wrong(0, f"`{' '.join(words[2:])}` is no kind of matrix")
    if form == "array" and field == "pattern":
        raise wrong(0, "a dense matrix has values, so it is no pattern")
    return form, field, symmetry


def _numbers(body: Body, width: int, entries: int, field: str, wrong: Wrong) -> NDArray[Any]:
    """(entries, width): each line's numbers, as reals, or as whole numbers where reals would round them."""
    where, lines = body
    if len(lines) != entries:
        raise wrong(where[-1] if lines else 0, f"it has {len(lines):,} entries, its sizes say {entries:,}")
    if set(map(methodcaller("count", " "), lines)) != {width - 1} or "  " in (joined := " ".join(lines)):
        for at, x in zip(where, lines, strict=True):
            if len(x.split()) != width:
                raise wrong(at, f"the line has {len(x.split())} numbers, not {width}")
        joined = " ".join(lines)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            found = np.fromstring(joined, float, sep=" ")
    except (DeprecationWarning, ValueError):
        raise _misspelt(body, wrong) from None
    if found.size != entries * width:
        raise _misspelt(body, wrong)
    if field == "integer" and found.size and np.abs(found).max() > EXACT:
        try:
            found = np.array(list(map(int, joined.split())), dtype=np.int64)
        except (ValueError, OverflowError):
            raise wrong(where[0], "an entry is no whole number of 64 bits") from None
    return found.reshape(entries, width)


def _misspelt(body: Body, wrong: Wrong) -> OptError:
    for at, line in zip(*body, strict=True):
        for text in line.split():
            try:
                float(text)
            except ValueError:
                return wrong(at, f"{text!r} is no number")
    return wrong(body[0][0] if body[1] else 0, "its entries are no numbers")


def _values(numbers: NDArray[Any], field: str) -> NDArray[Any]:
    return numbers[:, 0] + 1j * numbers[:, 1] if field == "complex" else numbers[:, 0].copy()


def _mirrored(values: NDArray[Any], symmetry: str) -> NDArray[Any]:
    """What stands on the other side of the diagonal."""
    if symmetry == "skew-symmetric":
        return -values
    return values.conj() if symmetry == "hermitian" else values


def _coordinates(body: Body, field: str, symmetry: str, sizes: Sequence[int], wrong: Wrong) -> Any:
    rows, columns, entries = sizes
    width = {"pattern": 2, "complex": 4}.get(field, 3)
    numbers = _numbers(body, width, entries, field, wrong)
    places = numbers[:, :2]
    inside = (places == np.rint(places)) & (places >= 1) & (places <= [rows, columns])
    outside = ~inside.all(axis=1)
    if symmetry == "skew-symmetric":
        outside |= places[:, 0] == places[:, 1]
    if outside.any():
        at = int(np.argmax(outside))
        raise wrong(body[0][at], f"it has no place for an entry at row {places[at, 0]:g}, column {places[at, 1]:g}")
    i, j = places.T.astype(np.int64) - 1
    values = np.ones(entries) if field == "pattern" else _values(numbers[:, 2:], field)
    if symmetry != "general":
        off = i != j
        i, j = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
        values = np.concatenate([values, _mirrored(values[off], symmetry)])
    return sp.csr_array((values, (i, j)), shape=(rows, columns))


def _dense(body: Body, field: str, symmetry: str, rows: int, columns: int, wrong: Wrong) -> NDArray[Any]:
    """Columns follow each other; of a symmetric matrix the lower triangle is given."""
    width = 2 if field == "complex" else 1
    j, i = np.divmod(np.arange(rows * columns), max(rows, 1))
    if symmetry != "general":
        lower = i > j if symmetry == "skew-symmetric" else i >= j
        i, j = i[lower], j[lower]
    values = _values(_numbers(body, width, len(i), field, wrong), field)
    found = np.zeros((rows, columns), dtype=values.dtype)
    if symmetry != "general":
        found[j, i] = _mirrored(values, symmetry)
    found[i, j] = values
    return found
