"""The record of one kind of block: the words its statements may begin with, and what each takes.

The grammar knows only that a block has a kind, a title and statements. Everything else is here: errors, documentation and
the typed record are made from it. A new setting is a new file of this folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import optdsl.ir.blocks as folder
from optdsl.ir.distributions import DISTRIBUTIONS, Distribution
from optdsl.ir.nodes import Expr, Scope
from optdsl.ir.problem import SetSpec
from optdsl.syntax.source import Span

#: What stands after a word or a clause, and what it becomes.
TAKES = {
    "expression": "an expression",
    "expressions": "one or more expressions",
    "relation": "a comparison",
    "number": "a number known before solving",
    "choice": "one of the words listed",
    "labels": "a list of labels",
    "name": "a new name",
    "subset": "a new name for any set of items",
    "index": "a new name for a row",
    "type": "a type, a range or a set",
    "set": "a set",
    "interval": "low..high",
    "data": "a value or a file",
    "distribution": "a distribution",
    "drawn": "a new name ~ a distribution",
    "indices": "indices over sets",
}


@dataclass(frozen=True)
class Word:
    """`head` is what stands right after the word, `clauses` what each clause word may be followed by (keys of `TAKES`).

    `declares` is the role of the name that the head gives ("" where it gives none); `choices` are the words that may stand
    in place of an expression; `repeat` says that the statement may stand twice.
    """

    doc: str
    clauses: Mapping[str, str] = field(default_factory=dict)
    head: str = "expression"
    declares: str = ""
    choices: Sequence[str] = ()
    required: bool = False
    repeat: bool = False


@dataclass(frozen=True)
class BlockForm:
    """A form that solves a kind of block. `marks` are the statements by which it is told; each of `requires` must be there
    ("cost|reward": one of the two)."""

    name: str
    marks: Sequence[str] = ()
    requires: Sequence[str] = ()


@dataclass(frozen=True)
class BlockKind:
    """`forms`: the first one with a mark in the block is meant, else the last; `words` are in the order in which
    documentation shows them; `round_name` is the whole number that counts rounds or stages."""

    name: str
    doc: str
    forms: Sequence[BlockForm]
    words: Mapping[str, Word] = field(default_factory=dict)
    round_name: str = ""

    def form(self, present: Sequence[str]) -> BlockForm:
        return next((f for f in self.forms if any(m in present for m in f.marks)), self.forms[-1])


@dataclass(frozen=True, eq=False)
class Choice:
    """A word of the vocabulary: `nash`, `unknown`, `mean(a=1)`, `gradient_boosting()`."""

    word: str
    options: Mapping[str, Expr] = field(default_factory=dict)
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class Label:
    """A member of a set, by its label."""

    set: str
    position: int
    span: Span | None = None


Value = Expr | Choice | Label | Distribution | SetSpec | Scope | str


@dataclass(frozen=True, eq=False)
class Clause:
    """One clause of a statement: its word ("" for the head) and its typed values; a `str` is a name of the block."""

    word: str
    values: Sequence[Value]
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class Statement:
    """`declares` are names whose record (variable, set, data, function) the block holds."""

    word: str
    clauses: Sequence[Clause]
    declares: Sequence[str] = ()
    doc: str = ""
    span: Span | None = None

    @property
    def head(self) -> Clause | None:
        return self.clause("")

    def clause(self, word: str) -> Clause | None:
        return next((c for c in self.clauses if c.word == word), None)


@cache
def block_kinds() -> dict[str, BlockKind]:
    """All kinds by name, from the modules of this folder."""
    found: dict[str, BlockKind] = {}
    for entry in iter_modules(folder.__path__):
        kind = getattr(import_module(f"{folder.__name__}.{entry.name}"), "KIND", None)
        if kind is not None:
            found[kind.name] = kind
    return found


def manual() -> str:
    """docs/blocks.md: every kind with its vocabulary."""
    lines = [
        "# Blocks",
        "",
        "A block states a decision process, a game or an estimate: a kind, a title, and statements that each begin with a",
        "word of the tables below. A name that a statement gives (`play x : …`, `unknown theta : …`) belongs to the block",
        "and may not be a name of the file. Names of the file may be used inside; a name that nothing declares is E201.",
        "An unknown word is E418, a missing one E419, one that stands twice E420, and E421 a clause that a word does not",
        "take. A block is checked and becomes a typed record; solving one whose form no backend takes ends with E505,",
        "which names the form.",
        "",
        "Made from the tables in `optdsl/ir/blocks/`; a test says whether this page is current.",
        "",
    ]
    for kind in block_kinds().values():
        lines += [f"## {kind.name}", "", kind.doc, ""]
        for f in kind.forms:
            told = f" when it has {' or '.join(f'`{m}`' for m in f.marks)}" if f.marks else ""
            needs = [" or ".join(f"`{w}`" for w in r.split("|")) for r in f.requires]
            lines.append(f"- form `{f.name}`{told}" + (f"; needs {', '.join(needs)}" if needs else ""))
        lines += ["", "| statement | takes | clauses | |", "| --- | --- | --- | --- |"]
        for name, word in kind.words.items():
            marks = [m for m, on in (("required", word.required), ("may repeat", word.repeat)) if on]
            note = f"{word.doc} ({', '.join(marks)})" if marks else word.doc
            takes = "; ".join(
                [TAKES[word.head]] * (word.head != "choice") + [", ".join(f"`{c}`" for c in word.choices)]
            )
            clauses = ", ".join(f"`{c}` {TAKES[t]}" for c, t in word.clauses.items())
            lines.append(f"| `{name}` | {takes.removesuffix('; ')} | {clauses} | {note} |")
        lines.append("")
    lines += ["## Distributions", "", "After `~` and `noise`, with their parameters in order.", ""]
    lines += ["| name | parameters | |", "| --- | --- | --- |"]
    for law in DISTRIBUTIONS.values():
        params = [f"`{k}`" if v is ... or v is None else f"`{k}={v}`" for k, v in law.params.items()]
        lines.append(f"| `{law.name}` | {', '.join(params)} | {law.doc} |")
    return "\n".join([*lines, ""])
