"""The record of everything that is ever told to a user, and the error that carries it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import Any, Literal, ParamSpec

from optdsl.syntax.source import Cell, Span

Severity = Literal["error", "warning", "internal"]
P = ParamSpec("P")


@dataclass(frozen=True)
class Diagnostic:
    """`message` is one sentence; `place` the guilty characters or data cell; `label` words at the caret.

    `related` are other spans with their words, `notes` facts, `help` what to write instead.
    """

    code: str
    message: str
    place: Span | Cell | None = None
    label: str = ""
    related: Sequence[tuple[Span, str]] = ()
    notes: Sequence[str] = ()
    help: str | None = None
    severity: Severity = "error"

    def to_json(self) -> dict[str, Any]:
        """Plain data, stable names: code, severity, message, file, line, column, end_line, end_column, notes, help."""
        out: dict[str, Any] = {"code": self.code, "severity": self.severity, "message": self.message}
        if isinstance(self.place, Span):
            out |= {
                "file": self.place.source.name,
                "line": self.place.line,
                "column": self.place.column,
                "end_line": self.place.end_line,
                "end_column": self.place.end_column,
            }
        elif isinstance(self.place, Cell):
            out |= {"file": self.place.file, "row": self.place.row, "data_column": self.place.column}
        out["label"] = self.label
        out["related"] = [
            {"file": s.source.name, "line": s.line, "column": s.column, "words": w} for s, w in self.related
        ]
        out["notes"] = list(self.notes)
        out["help"] = self.help
        return out

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place is not None else ""
        return f"{where}{self.severity}[{self.code}]: {self.message}"


class OptError(Exception):
    """Bad input: one or more diagnostics. The only exception that the public API raises for a user's mistake."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        self.diagnostics = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))


@dataclass(frozen=True)
class Mistake:
    """What a code means; `page` is shown by `optdsl explain CODE`."""

    code: str
    title: str
    page: str


CATALOGUE: dict[str, Mistake] = {}


def mistake(code: str, title: str) -> Callable[[Callable[P, Diagnostic]], Callable[P, Diagnostic]]:
    """Registers a constructor of diagnostics under its code; the constructor's docstring is the code's page."""

    def register(make: Callable[P, Diagnostic]) -> Callable[P, Diagnostic]:
        if code in CATALOGUE:
            raise ValueError(f"code {code} is taken by {CATALOGUE[code].title!r}")
        CATALOGUE[code] = Mistake(code, title, cleandoc(make.__doc__ or title))
        return make

    return register


@dataclass
class Collector:
    """Gathers independent diagnostics so that one pass reports them all."""

    items: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        self.items.append(diagnostic)

    def raise_errors(self) -> None:
        errors = [d for d in self.items if d.severity != "warning"]
        if errors:
            raise OptError(self.items)
