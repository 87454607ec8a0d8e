"""E2: names, shapes, kinds, indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optdsl.syntax.diagnostics.record import Diagnostic, mistake
from optdsl.syntax.source import Span


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word closest in spelling: at most half the length and at most five edits, case folded, a swap of
    neighbours counts once."""
    best, best_distance = None, min(5, max(1, len(word) // 2)) + 1
    for candidate in known:
        d = _distance(word.casefold(), candidate.casefold(), best_distance)
        if d < best_distance:
            best, best_distance = candidate, d
    return best


def _distance(a: str, b: str, limit: int) -> int:
    if abs(len(a) - len(b)) >= limit:
        return limit
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            d = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                d = min(d, before[j - 2] + 1)
            current.append(d)
        before, previous = previous, current
    return previous[-1]


def _did_you_mean(word: str, known: Iterable[str]) -> str | None:
    close = nearest(word, known)
    return f"did you mean `{close}`?" if close else None


@mistake("E201", "unknown name")
def unknown_name(span: Span, name: str, known: Iterable[str], declared: Span | None = None) -> Diagnostic:
    """A name is used that no declaration, index or import of the file gives."""
    return Diagnostic("E201", f"`{name}` is not declared", span, help=_did_you_mean(name, known))


@mistake("E202", "name declared twice")
def declared_twice(span: Span, name: str, first: Span) -> Diagnostic:
    """Each name of a value stands for one thing in a file and its imports."""
    return Diagnostic("E202", f"`{name}` is declared twice", span, related=[(first, "first declared here")])


@mistake("E203", "shapes do not match")
def shapes_differ(
    span: Span,
    rule: str,
    operands: Sequence[tuple[Span, str]],
    hint: str | None = None,
    notes: Sequence[str] = (),
) -> Diagnostic:
    """Arithmetic takes arrays of equal shapes, or a scalar; `@` is the matrix product and joins the last axis of the
    left with the first of the right. Axes over two different sets of labels are never joined by position."""
    return Diagnostic("E203", f"shapes do not match: {rule}", span, related=list(operands), notes=notes, help=hint)


@mistake("E204", "unknown function")
def unknown_function(span: Span, name: str, known: Iterable[str]) -> Diagnostic:
    """The language has no function of that name, and the file does not define one."""
    return Diagnostic("E204", f"there is no function `{name}`", span, help=_did_you_mean(name, known))


@mistake("E205", "wrong arguments")
def wrong_arguments(span: Span, what: str, rule: str, hint: str | None = None) -> Diagnostic:
    """A function, set or statement is given arguments that it does not take."""
    return Diagnostic("E205", f"`{what}` {rule}", span, help=hint)


@mistake("E206", "variable hides a function")
def hides_function(span: Span, name: str) -> Diagnostic:
    """A value may not carry the name of a function of the language, since `name(…)` would then mean two things."""
    return Diagnostic(
        "E206", f"`{name}` is a function of the language", span, help=f"choose another name, such as `{name}_`"
    )


@mistake("E207", "wrong number of indices")
def wrong_indices(span: Span, shown: str, given: int, wanted: int) -> Diagnostic:
    """An array takes one index an axis; an axis over a set of tuples takes one for each part of the tuple."""
    return Diagnostic(
        "E207", f"{shown} takes {wanted} ind{'ex' if wanted == 1 else 'ices'}, but {given} are given", span
    )


@mistake("E208", "index of the wrong kind")
def wrong_index_kind(span: Span, shown: str, axis: str, given: str, hint: str | None = None) -> Diagnostic:
    """An axis over labels is indexed by members of its set, an axis of plain length by whole numbers."""
    return Diagnostic("E208", f"{shown}: the axis over {axis} is indexed with {given}", span, help=hint)


@mistake("E209", "unknown label")
def unknown_label(span: Span, label: str, set_name: str, labels: Iterable[str]) -> Diagnostic:
    """A label is written that the set does not have."""
    return Diagnostic("E209", f"{label!r} is not in {set_name}", span, help=_did_you_mean(label, labels))


@mistake("E210", "index leaves its range")
def index_leaves(span: Span | None, shown: str, index: object, members: str, at: str) -> Diagnostic:
    """An index takes a value that the axis does not have. Undefined is an error, never a silent false."""
    where = f" at {at}" if at else ""
    return Diagnostic(
        "E210", f"index {index} is outside {shown}, which has {members}{where}", span,
        help="start or end the range so that every index exists, or add `if` to the family",
    )  # fmt: skip


@mistake("E211", "tuple not in its set")
def tuple_missing(span: Span | None, set_name: str, shown: str) -> Diagnostic:
    """An array over a set of tuples is read at a tuple that the set does not have."""
    member = f"({shown})" if "," in shown else shown
    return Diagnostic("E211", f"{member} is not in {set_name}", span, help=f"iterate over {set_name} itself")


@mistake("E212", "undefined value")
def undefined_value(span: Span | None, what: str, why: str) -> Diagnostic:
    """A constant part of the problem has no value: a logarithm of a negative number, a division by zero."""
    return Diagnostic("E212", f"`{what}` has no value here: {why}", span)


@mistake("E213", "condition depends on a variable")
def variable_condition(span: Span, names: Iterable[str]) -> Diagnostic:
    """A filter, a range or the condition of `if` is settled before solving, so it cannot contain a variable."""
    shown = ", ".join(sorted(names))
    return Diagnostic(
        "E213", f"this must be known before solving, but it depends on {shown}", span,
        help="for a row that holds only when a variable is 1 write `open => row`",
    )  # fmt: skip


@mistake("E214", "size does not agree")
def size_differs(span: Span, name: str, was: int, now: int, first: Span | None) -> Diagnostic:
    """A size name is fixed by the first data that uses it and must agree everywhere after."""
    related = [(first, f"{name} = {was} was fixed here")] if first is not None else []
    return Diagnostic("E214", f"size {name} is {was}, but here it would be {now}", span, related=related)


@mistake("E215", "size is not known")
def size_unknown(span: Span, name: str, known: Iterable[str]) -> Diagnostic:
    """A size name is used that no data fixes and no set has."""
    return Diagnostic("E215", f"no data fixes the size `{name}`", span, help=_did_you_mean(name, known))


@mistake("E220", "set without members")
def set_without_members(span: Span, name: str) -> Diagnostic:
    """A set without `=` takes its labels from the first data over it, which must stand before the first variable."""
    return Diagnostic(
        "E220", f"the set {name} has no members yet", span,
        help=f"put the data over {name} before this line, or write `set {name} = [\"…\", \"…\"]`",
    )  # fmt: skip


@mistake("E216", "not a value here")
def not_a_value(span: Span, what: str, hint: str | None = None) -> Diagnostic:
    """An expression stands where it has no meaning, such as text in arithmetic."""
    return Diagnostic("E216", f"{what} has no meaning here", span, help=hint)


@mistake("E217", "definition calls itself")
def recursive_definition(span: Span, name: str) -> Diagnostic:
    """A `def` is expanded where it is used, so it cannot call itself, directly or through others."""
    return Diagnostic("E217", f"`{name}` calls itself", span)


@mistake("E218", "index name hides another")
def index_hides(span: Span, name: str) -> Diagnostic:
    """An index carries the name of a value or of an index outside it, and would hide it."""
    return Diagnostic("E218", f"the index `{name}` hides a value of that name", span, help="choose another index name")


@mistake("E219", "too large")
def too_large(span: Span | None, what: str, size: int, limit: int) -> Diagnostic:
    """A table, array or family would need more memory than optdsl allows itself."""
    return Diagnostic("E219", f"{what} would have {size:,} entries; the limit is {limit:,}", span)
