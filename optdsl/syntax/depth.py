"""The limit on nesting: what walks a tree by recursion later must never meet one that is too deep for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics import syntax as mistakes

MAX_DEPTH = 200


def check_depth(nodes: Iterable[ast.Node]) -> None:
    """Raises OptError where a node lies under more than `MAX_DEPTH` others.

    A level takes at least one character, so a node whose text is shorter than what is left needs no look.
    """
    waiting = [(node, 1) for node in nodes]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise OptError(mistakes.too_deep(node.span, f"{MAX_DEPTH} levels"))
        if node.span.end - node.span.start > MAX_DEPTH - depth:
            waiting.extend((child, depth + 1) for child in _children(node))


def _children(node: ast.Node) -> Iterator[ast.Node]:
    for name in type(node).__slots__:
        yield from _nodes(getattr(node, name))


def _nodes(value: Any) -> Iterator[ast.Node]:
    if isinstance(value, ast.Node):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _nodes(item)
    elif isinstance(value, dict):
        yield from _nodes(list(value.values()))
