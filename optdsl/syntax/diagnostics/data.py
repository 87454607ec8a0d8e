"""E3: data files, their cells, and values bound to declared shapes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optdsl.syntax.diagnostics.names import nearest
from optdsl.syntax.diagnostics.record import Diagnostic, mistake
from optdsl.syntax.source import Cell, Span

Place = Span | Cell | None


def _shown(items: Sequence[object], most: int = 5) -> str:
    listed = ", ".join(repr(i) if isinstance(i, str) else str(i) for i in items[:most])
    return listed + (f" and {len(items) - most} more" if len(items) > most else "")


def _related(span: Span | None) -> list[tuple[Span, str]]:
    return [(span, "named here")] if span is not None else []


@mistake("E301", "data without a value")
def no_value(span: Span | None, name: str) -> Diagnostic:
    """A `data` or `param` without `=` must be given at run time."""
    return Diagnostic(
        "E301", f"`{name}` has no value", span, help=f"give it: --data {name}=FILE, or solve(data={{'{name}': …}})"
    )


@mistake("E302", "value is no set")
def set_value_unusable(span: Span, name: str) -> Diagnostic:
    """A set is a list of labels, a range, or a column (or columns) of a table."""
    return Diagnostic("E302", f"this gives `{name}` no members", span,
                      help='write ["a", "b"], 0..9, range(n) or csv("file.csv", index=["column"])')  # fmt: skip


@mistake("E303", "file outside the problem's folder")
def outside_folder(span: Span | None, path: str, folder: str) -> Diagnostic:
    """A problem file reads nothing outside its own folder unless the caller allows it."""
    return Diagnostic("E303", f"{path!r} lies outside the problem's folder", span, notes=[f"the folder is {folder}"],
                      help="allow its folder with --allow-path DIR")  # fmt: skip


@mistake("E304", "no such file")
def no_such_file(span: Span | None, path: str, present: Iterable[str]) -> Diagnostic:
    """The named file does not exist; paths are relative to the file that names them."""
    close = nearest(path, present)
    return Diagnostic("E304", f"there is no file {path!r}", span, help=f"did you mean {close!r}?" if close else None)


@mistake("E305", "file cannot be read as that format")
def damaged_file(place: Place, path: str, format: str, why: str) -> Diagnostic:
    """The file is cut off, damaged, of another format, or holds pickled objects, which are never loaded."""
    return Diagnostic("E305", f"{path!r} cannot be read as {format}: {why}", place)


@mistake("E306", "no such part of the file")
def no_such_key(span: Span | None, path: str, key: str, present: Sequence[str]) -> Diagnostic:
    """The array, tensor or column named is not in the file."""
    close = nearest(key, present)
    hint = f"did you mean {close!r}?" if close else (f"it has {_shown(present)}" if present else "it is empty")
    return Diagnostic("E306", f"{path!r} has no {key!r}", span, help=hint)


@mistake("E307", "cell is not a number")
def not_a_number(cell: Place, text: str, span: Span | None = None) -> Diagnostic:
    """A number is expected in the cell. Decimals have a point; thousands have no comma. A number beyond the range of
    64-bit reals is none; infinity is written `inf`."""
    hint = None
    if text.strip() and _overflows(text):
        hint = "it is too large for a 64-bit real; write inf where infinity is meant"
    if "," in text:
        hint = "write decimals with a point"
    elif "_" in text:
        hint = "write digits without `_`"
    elif not text.strip():
        hint = "fill the cell, or leave its row out"
    return Diagnostic(
        "E307",
        f"{text!r} is not a number" if text.strip() else "the cell is empty",
        cell,
        related=_related(span) if isinstance(cell, Cell) else (),
        help=hint,
    )


def _overflows(text: str) -> bool:
    """Digits whose value is beyond the largest real."""
    try:
        return abs(float(text)) == float("inf") and any(c.isdigit() for c in text)
    except ValueError:
        return False


@mistake("E308", "missing cells")
def missing_cells(span: Span | None, name: str, cells: Sequence[str], count: int, source: str) -> Diagnostic:
    """A table over label sets must give every combination, unless it says `default=`. Positions count from 0."""
    listed = ", ".join(cells) + (f" and {count - len(cells):,} more" if count > len(cells) else "")
    return Diagnostic("E308", f"`{name}` lacks {count:,} value{'s' * (count != 1)}", span, notes=[f"none for {listed} in {source}"],
                      help="add the rows, or say what the others are: csv(…, default=0)")  # fmt: skip


@mistake("E309", "key given twice")
def duplicate_key(place: Place, key: object, span: Span | None = None, first: Place = None) -> Diagnostic:
    """Two rows of a table have the same labels, or two columns or keys the same name, so the value is ambiguous."""
    return Diagnostic("E309", f"{key} is given twice", place, related=_related(span) if isinstance(place, Cell) else (),
                      notes=[f"the first is at {first}"] if first is not None else ())  # fmt: skip


@mistake("E310", "label not in the set")
def label_not_in_set(
    place: Place,
    label: object,
    set_name: str,
    labels: Sequence[object],
    span: Span | None = None,
    others: Sequence[object] = (),
) -> Diagnostic:
    """A table has labels that its set does not have; `others` are the rest of them. Labels are compared exactly, after
    outer spaces are removed."""
    close = nearest(str(label), [str(x) for x in labels])
    return Diagnostic("E310", f"{label!r} is not in {set_name}", place, related=_related(span) if isinstance(place, Cell) else (),
                      notes=[f"nor {'is' if len(others) == 1 else 'are'} {_shown(others)}"] if others else (),
                      help=f"did you mean {close!r}?" if close else None)  # fmt: skip


@mistake("E311", "labels missing")
def labels_missing(span: Span | None, name: str, set_name: str, labels: Sequence[object], source: str) -> Diagnostic:
    """Data over a set must have an entry for every label of it."""
    return Diagnostic("E311", f"`{name}` has nothing for {_shown(labels)} of {set_name}", span,
                      notes=[f"the labels are those of {source}"])  # fmt: skip


@mistake("E312", "value is not finite")
def not_finite(place: Place, name: str, shown: str, at: str, span: Span | None = None) -> Diagnostic:
    """NaN may mean missing or undefined, so it is refused; an infinity is taken only where it is written `inf`."""
    where = f" at {at}" if at else ""
    return Diagnostic("E312", f"`{name}` is {shown}{where}", place,
                      related=_related(span) if isinstance(place, Cell) else (),
                      help="fill the value in, or leave the entry out")  # fmt: skip


@mistake("E313", "wrong kind of values")
def wrong_kind(place: Place, name: str, wanted: str, shown: str, span: Span | None = None) -> Diagnostic:
    """The values are not of the declared kind: an int is a whole number of 64 bits, a bool 0 or 1."""
    return Diagnostic("E313", f"`{name}` is declared {wanted}, but {shown}", place,
                      related=_related(span) if isinstance(place, Cell) else ())  # fmt: skip


@mistake("E314", "wrong shape")
def wrong_shape(span: Span | None, name: str, wanted: str, got: str) -> Diagnostic:
    """The value's shape is not the declared one."""
    return Diagnostic("E314", f"`{name}` is declared {wanted}, but the value has shape {got}", span)


@mistake("E315", "row of another length")
def ragged_row(cell: Cell, got: int, wanted: int, span: Span | None = None) -> Diagnostic:
    """Each row of a table has as many cells as its header."""
    return Diagnostic("E315", f"the row has {got} cells, the header {wanted}", cell, related=_related(span))


@mistake("E316", "package needed")
def needs_package(span: Span | None, what: str, package: str) -> Diagnostic:
    """The format is read by a package that is not installed."""
    return Diagnostic("E316", f"{what} needs the package {package}", span, help=f"pip install {package}")


@mistake("E317", "wrong argument of a reader")
def reader_argument(span: Span | None, reader: str, rule: str) -> Diagnostic:
    """Readers take a path and a few keywords: csv("f.csv", value="km", index=["from", "to"])."""
    return Diagnostic("E317", f"`{reader}` {rule}", span)


@mistake("E318", "value of no known type")
def unknown_value(name: str, shown: str, span: Span | None = None) -> Diagnostic:
    """Values from Python, JSON and YAML are numbers, arrays, SciPy sparse matrices, tensors, data frames, lists and mappings of labels."""
    return Diagnostic("E318", f"`{name}` is given as {shown}, which is no array", span)


@mistake("E319", "labels of the rows unknown")
def labels_not_named(span: Span | None, name: str, set_name: str, columns: Sequence[str]) -> Diagnostic:
    """A column of a table is bound to a set, but the call does not say which column holds the labels. Rows are never
    taken by position where the file has labels."""
    wanted = f'index=["{columns[0]}"]' if len(columns) == 1 else "index=[…]"
    listed = ", ".join(columns[:5])
    return Diagnostic("E319", f"the rows of `{name}` are over {set_name}, and nothing says which column holds their labels",
                      span, notes=[f"columns of text: {listed}"], help=f"add {wanted}")  # fmt: skip
