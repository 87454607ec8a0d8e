"""E4: structure: statements, sets after `in`, rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optdsl.syntax.diagnostics.names import nearest
from optdsl.syntax.diagnostics.record import Diagnostic, mistake
from optdsl.syntax.source import Span


@mistake("E401", "strict inequality between reals")
def strict_inequality(span: Span, op: str) -> Diagnostic:
    """A strict `<` between real expressions describes an open set, on which a minimum need not exist. Between whole
    numbers it is fine."""
    return Diagnostic(
        "E401", f"a strict `{op}` between reals need not have a minimum", span,
        help=f"write `{op}=`; if the distance matters, put a margin on one side",
    )  # fmt: skip


@mistake("E402", "not a row")
def not_a_row(span: Span, what: str, hint: str = "compare two expressions: `sum(x) <= 1`") -> Diagnostic:
    """Each line under `subject to` compares two expressions with ==, <=, >=, >> or <<."""
    return Diagnostic("E402", f"{what} is no constraint", span, help=hint)


@mistake("E403", "unknown set")
def unknown_set(span: Span, name: str, known: Iterable[str]) -> Diagnostic:
    """After `in` stands a set of the language: convex, manifold, pattern, discrete, or of functions."""
    close = nearest(name, known)
    return Diagnostic("E403", f"there is no set `{name}`", span, help=f"did you mean `{close}`?" if close else None)


@mistake("E404", "set does not fit the variable")
def set_misfit(span: Span, name: str, variable: str, rule: str) -> Diagnostic:
    """A set has members of a certain shape and kind, and arguments in a certain range."""
    return Diagnostic("E404", f"`{name}` {rule}", span, notes=[f"it is the set of `{variable}`"])


@mistake("E405", "two objectives")
def two_objectives(span: Span, first: Span) -> Diagnostic:
    """A problem has at most one objective; several are written `minimize [f, g]` or `minimize lex(f, g)`."""
    return Diagnostic("E405", "there are two objectives", span, related=[(first, "the first one")],
                      help="write `minimize [f, g]` for a Pareto set, `minimize lex(f, g)` for an order")  # fmt: skip


@mistake("E406", "objective is not a number")
def objective_not_scalar(span: Span, shown: str) -> Diagnostic:
    """What is minimised is one number."""
    return Diagnostic(
        "E406", f"the objective is {shown}, not a number", span, help="add it up: sum(…), norm2(…), max(…)"
    )


@mistake("E407", "import")
def import_cycle(span: Span, chain: str) -> Diagnostic:
    """A file imports itself, directly or through others."""
    return Diagnostic("E407", f"imports go round in a circle: {chain}", span)


@mistake("E408", "statement not allowed in an imported file")
def not_importable(span: Span, what: str) -> Diagnostic:
    """Only def, let, set, data and param are taken from another file."""
    return Diagnostic("E408", f"an imported file cannot hold {what}", span, help="move it to the file that is solved")


@mistake("E409", "bound is not constant")
def bound_not_constant(span: Span, shown: str) -> Diagnostic:
    """Bounds after a type are numbers or constant arrays of the variable's shape."""
    return Diagnostic("E409", f"a bound {shown}", span, help="write it as a constraint under `subject to`")


@mistake("E410", "start does not fit")
def start_misfit(span: Span, shown: str, wanted: str) -> Diagnostic:
    """The value after `=` is where a method starts; it has the variable's shape."""
    return Diagnostic("E410", f"the start is {shown}, the variable {wanted}", span)


@mistake("E411", "indicator")
def bad_indicator(span: Span, rule: str) -> Diagnostic:
    """`open => row` needs a bool variable (or 1 - a bool variable) on the left and a row on the right."""
    return Diagnostic(
        "E411", f"an indicator {rule}", span, help="write `open[f] => flow[f] <= cap[f]` with a bool variable"
    )


@mistake("E412", "indicator without bounds")
def indicator_needs_bounds(span: Span | None, row: str, names: str) -> Diagnostic:
    """An indicator row becomes linear by a big-M, which needs proven bounds on the row's variables."""
    return Diagnostic("E412", f"the indicator row {row} needs bounds on {names}", span,
                      help="give them where the variables are declared: `var x : real >= 0 <= 100`")  # fmt: skip


@mistake("E413", "unknown goal or budget")
def unknown_measure(span: Span, what: str, known: Iterable[str]) -> Diagnostic:
    """Goals are gap, relative_gap, stationary and feasible; budgets are seconds, evals and iterations."""
    return Diagnostic("E413", f"`{what}` is not known here", span, help=f"one of {', '.join(known)}")


@mistake("E414", "names twice the same row")
def label_twice(span: Span, name: str, first: Span | None) -> Diagnostic:
    """Each named constraint has its own name, by which reports show it."""
    related = [(first, "the first one")] if first is not None else []
    return Diagnostic("E414", f"two constraints are named `{name}`", span, related=related)


@mistake("E415", "complementarity")
def bad_complementarity(span: Span, rule: str) -> Diagnostic:
    """`0 <= p complements q >= 0` pairs two nonnegative expressions of which at least one is 0."""
    return Diagnostic("E415", f"`complements` {rule}", span, help="write `0 <= p complements q >= 0`")


@mistake("E416", "value out of its bounds")
def value_out_of_bounds(span: Span | None, name: str, shown: str, bound: str) -> Diagnostic:
    """A data or param value breaks the bound written after its type."""
    return Diagnostic("E416", f"{name} = {shown} breaks its bound {name} {bound}", span)


@mistake("E417", "unknown statement")
def unknown_statement(span: Span, word: str, known: Iterable[str]) -> Diagnostic:
    """The word begins no statement of the language."""
    close = nearest(word, known)
    return Diagnostic("E417", f"`{word}` begins no statement", span, help=f"did you mean `{close}`?" if close else None)


@mistake("E418", "unknown statement of a block")
def unknown_block_word(span: Span, word: str, kind: str, known: Iterable[str]) -> Diagnostic:
    """Each kind of block has its own words; docs/blocks.md lists them."""
    close = nearest(word, known)
    hint = f"did you mean `{close}`?" if close else f"it knows {', '.join(known)}"
    return Diagnostic("E418", f"`{word}` is no statement of `{kind}`", span, help=hint)


@mistake("E419", "block lacks a statement")
def block_word_missing(span: Span, kind: str, word: str, doc: str) -> Diagnostic:
    """Some statements of a block must be there."""
    return Diagnostic("E419", f"the {kind} has no `{word}`", span, notes=[f"`{word}`: {doc}"])


@mistake("E420", "statement twice in a block")
def block_word_twice(span: Span, word: str, first: Span) -> Diagnostic:
    """The statement may stand once in a block."""
    return Diagnostic("E420", f"`{word}` stands twice", span, related=[(first, "the first one")])


@mistake("E421", "clause not of this statement")
def block_clause_wrong(span: Span, word: str, rule: str, known: Sequence[str], hint: str | None = None) -> Diagnostic:
    """A word of a block takes a head of a certain kind, then certain clauses; docs/blocks.md lists them."""
    if hint is None:
        hint = f"its clauses are {', '.join(f'`{k}`' for k in known)}" if known else "it takes no clause"
    return Diagnostic("E421", f"`{word}` {rule}", span, help=hint)


@mistake("E422", "nothing to find")
def nothing_to_find(title: str) -> Diagnostic:
    """A problem without variables leaves nothing to solve for."""
    return Diagnostic("E422", f"{title!r} has no variable", help="declare what is to be found: `var x : real`")
