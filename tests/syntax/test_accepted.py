"""Everything that the language's description shows is read, each node where it stands in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from optdsl.syntax import ast
from optdsl.syntax.parser import parse, read

ACCEPTED = sorted((Path(__file__).parent / "accepted").glob("*.opt"))


def nodes(value: Any) -> Iterator[ast.Node]:
    if isinstance(value, ast.Node):
        yield value
        for f in fields(value):
            if f.name != "span":
                yield from nodes(getattr(value, f.name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from nodes(item)
    elif isinstance(value, dict):
        yield from nodes(list(value.values()))


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda p: p.stem)
def test_a_file_is_read_and_every_node_has_its_own_text(path: Path) -> None:
    source = read(path)
    tree = parse(source)
    assert tree.statements
    seen = 0
    for node in nodes(tree.statements):
        seen += 1
        text = node.span.text
        assert text and text == text.strip(), (type(node).__name__, text)
        assert text.count("(") == text.count(")") and text.count("[") == text.count("]"), text
        if isinstance(node, ast.Name) and node.id.isascii():
            assert text.strip("() ") == node.id
    assert seen > len(tree.statements)


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda p: p.stem)
def test_an_expression_alone_is_the_same_tree(path: Path) -> None:
    """The text of an expression's span, read again as the value of a `let`, gives an expression of the same kind."""
    source = read(path)
    for statement in parse(source).statements:
        if isinstance(statement, ast.LetDecl):
            again = parse(type(source)("again", f"let again = (\n{statement.value.span.text}\n)")).statements[0]
            assert isinstance(again, ast.LetDecl)
            assert shape(again.value) == shape(statement.value)


def shape(value: Any) -> Any:
    """A tree without its places."""
    if isinstance(value, ast.Node):
        return type(value).__name__, *(shape(getattr(value, f.name)) for f in fields(value) if f.name != "span")
    if isinstance(value, list | tuple):
        return [shape(v) for v in value]
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items()}
    return value


def test_the_ascii_and_the_mathematical_forms_are_one_tree() -> None:
    ascii_form = "let a = sum(x[i].T for i in S if x[i] <= inf and 1 >= 2 != 3)\nsolve with a -> b\n"
    symbols = ascii_form.replace("<=", "≤").replace(">=", "≥").replace("!=", "≠").replace("->", "→")
    symbols = symbols.replace(".T", "⊤").replace(" in ", " ∈ ").replace("inf", "∞")
    source = type(read(ACCEPTED[0]))
    assert shape(parse(source("a", ascii_form)).statements) == shape(parse(source("b", symbols)).statements)
