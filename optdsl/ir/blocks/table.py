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
from typing import Any

import optdsl.ir.blocks as folder
from optdsl.syntax.source import Span


@dataclass(frozen=True)
class Word:
    """`clauses` are the clause words that may follow the head (`in`, `:`, `~`, `noise`, `at`, `=`, `trust`, …);
    `head` says whether something must stand right after the word; `repeat` whether the statement may stand twice."""

    doc: str
    clauses: Sequence[str] = ()
    head: bool = True
    required: bool = False
    repeat: bool = False


@dataclass(frozen=True)
class BlockKind:
    """`form` names what solves it; `words` are in the order in which documentation shows them."""

    name: str
    doc: str
    form: str
    words: Mapping[str, Word] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Clause:
    """One clause of a statement: its word ("" for the head) and its expressions, as trees with spans: their names belong to
    the block (the round t, the play, the secret), so the block's form resolves them."""

    word: str
    expressions: Sequence[Any]
    type: Any = None
    domains: Sequence[Any] = ()
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class Statement:
    word: str
    clauses: Sequence[Clause]
    doc: str = ""
    span: Span | None = None

    @property
    def head(self) -> Clause | None:
        return next((c for c in self.clauses if c.word == ""), None)

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
        "Made from the tables in `optdsl/ir/blocks/`; a test says whether this page is current.",
        "",
    ]
    for kind in block_kinds().values():
        lines += [
            f"## {kind.name}",
            "",
            f"{kind.doc} Form: {kind.form}.",
            "",
            "| statement | clauses | |",
            "| --- | --- | --- |",
        ]
        for name, word in kind.words.items():
            marks = [m for m, on in (("required", word.required), ("may repeat", word.repeat)) if on]
            note = f"{word.doc} ({', '.join(marks)})" if marks else word.doc
            lines.append(f"| `{name}` | {' '.join(f'`{c}`' for c in word.clauses)} | {note} |")
        lines.append("")
    return "\n".join(lines)
