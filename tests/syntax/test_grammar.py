"""The grammar itself: no conflict, tables up to date, every rule built by a method of its own."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import lark
import pytest

from optdsl.syntax import tables
from optdsl.syntax.build import TreeBuilder


def test_no_conflict_is_resolved_silently() -> None:
    """Lark raises on reduce/reduce and only logs shift/reduce conflicts, at DEBUG and with `debug=True`."""
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    level = lark.logger.level
    lark.logger.addHandler(handler)
    lark.logger.setLevel(logging.DEBUG)
    try:
        tables.build(debug=True)
        assert heard.getvalue() == ""
        lark.Lark('start: e\ne: e "+" e | "1"', parser="lalr", debug=True)
        assert "conflict" in heard.getvalue()  # the check above can fail
    finally:
        lark.logger.removeHandler(handler)
        lark.logger.setLevel(level)


def test_strict_mode() -> None:
    """No two terminals of one priority match the same text."""
    pytest.importorskip("interegular")
    tables.build(strict=True)


def test_the_stored_tables_are_those_of_the_grammar() -> None:
    stored = json.loads((tables.FOLDER / "tables.json").read_text(encoding="utf-8"))
    assert stored["key"] == tables.key(), "run `python -m optdsl.syntax.tables`"
    assert _signature(stored) == _signature(tables.made())


def _signature(stored: dict[str, Any]) -> list[Any]:
    """What each state does with each token, whatever the numbers of states, tokens and rules."""
    table, memo = stored["data"]["parser"]["parser"], stored["memo"]

    def rule(number: str) -> str:
        made = memo[number]
        return f"{made['origin']['name']} -> {[symbol['name'] for symbol in made['expansion']]} {made['alias']}"

    return sorted(
        sorted(
            (table["tokens"][token], rule(str(argument["@"])) if reduces else "shift")
            for token, (reduces, argument) in actions.items()
        )
        for actions in table["states"].values()
    )


def test_every_rule_has_its_method() -> None:
    builder = TreeBuilder()
    for rule in tables.build().rules:
        name = rule.alias or rule.options.template_source or rule.origin.name
        if not str(name).startswith("_") and not (rule.options.expand1 and rule.alias is None):
            assert hasattr(builder, str(name)), name
