"""A walk over an expression recorded as the list of array operations that it amounts to, to be replayed at other points.

The operations of a target do not depend on the values of the variables, so everything else (families, constants, index
arrays) is worked out once; replaying it also hands the target the same constant arrays each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from optdsl.lower.vector import Algebra


@dataclass(frozen=True, eq=False)
class Slot:
    """The result of one recorded operation: its number, and its value at the point of the recording."""

    number: int
    value: Any


def _filled(argument: Any, fill: Callable[[Slot], Any]) -> Any:
    if isinstance(argument, Slot):
        return fill(argument)
    if isinstance(argument, list | tuple) and any(isinstance(a, Slot) for a in argument):
        return [_filled(a, fill) for a in argument]
    return argument


@dataclass(eq=False)
class Tape:
    """Stands for an algebra while a walk is recorded; every operation is carried out and noted down."""

    algebra: Algebra
    operations: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.algebra, name)
        if not callable(method):
            return method

        def record(*args: Any) -> Any:
            value = method(*(_filled(a, lambda s: s.value) for a in args))
            if isinstance(value, int):
                return value
            self.operations.append((name, tuple(_filled(a, _number) for a in args)))
            return Slot(len(self.operations) - 1, value)

        return record

    def replay(self, number: int) -> Any:
        """The result of the operation of that number, all variables being taken from the algebra anew."""
        results: list[Any] = []
        for name, args in self.operations:
            plain = (_restored(a, results) for a in args)
            results.append(getattr(self.algebra, name)(*plain))
        return results[number]


@dataclass(frozen=True)
class _Number:
    number: int


def _number(slot: Slot) -> _Number:
    return _Number(slot.number)


def _restored(argument: Any, results: list[Any]) -> Any:
    if isinstance(argument, _Number):
        return results[argument.number]
    if isinstance(argument, list) and any(isinstance(a, _Number) for a in argument):
        return [results[a.number] if isinstance(a, _Number) else a for a in argument]
    return argument
