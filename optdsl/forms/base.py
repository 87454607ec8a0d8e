"""What a canonical form is: a typed record that an algorithm takes, with the way back to the problem's words.

A form's file holds the record and `match(instance) -> Form | Mismatch`; the folder is the registry. Records are made
either by `match` or from plain arrays and callables, in which case `back` names the single variable `x`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from optdsl.forms.answer import Answer, Solution

if TYPE_CHECKING:
    from optdsl.syntax.source import Span


@dataclass(frozen=True)
class Reason:
    """One sentence why a form or a backend does not apply, with the place in the file where there is one."""

    text: str
    span: Span | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Mismatch:
    """The form does not apply; every reason found."""

    form: str
    reasons: Sequence[Reason]


def name_the_point(answer: Answer) -> Solution:
    """The way back of a form made without a problem file: the point is the variable `x`."""
    values = {} if answer.point is None else {"x": np.asarray(answer.point)}
    direction = {"x": answer.ray["primal"]} if "primal" in answer.ray else None
    return Solution(values, dict(answer.dual), direction)


@dataclass(frozen=True, kw_only=True)
class Form:
    """Base of all forms. `notes` are facts shown by `explain` (rewritings done, structure found)."""

    title: ClassVar[str] = ""
    back: Callable[[Answer], Solution] = name_the_point
    notes: Sequence[str] = field(default=())

    def identity(self) -> str:
        """A digest that tells this form's numbers from another's, for checkpoints: all arrays and plain numbers."""
        digest = hashlib.sha256(type(self).__name__.encode())
        for f in fields(self):
            value = getattr(self, f.name)
            if hasattr(value, "tocoo"):
                value = np.concatenate([value.tocoo().data, *value.tocoo().coords])
            if isinstance(value, np.ndarray | float | int):
                digest.update(f.name.encode() + np.ascontiguousarray(value).tobytes())
        return digest.hexdigest()

    @property
    def sizes(self) -> dict[str, Any]:
        """Numbers for the report and for cost models, such as variables, rows, nonzeros."""
        return {}
