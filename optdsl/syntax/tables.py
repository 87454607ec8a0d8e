"""The parse tables: made from the grammar's chapters, kept beside them as JSON so that opening a file builds none.

`python -m optdsl.syntax.tables` writes them again after a change of the grammar.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from lark import Lark, __version__
from lark.grammar import Rule
from lark.lexer import TerminalDef

from optdsl.syntax.build import TreeBuilder
from optdsl.syntax.layout import Layout

STARTS = ("file", "rows")
_INSTALLED = Path(__file__).parents[1] / "grammar"
_SOURCE_TREE = Path(__file__).parents[2] / "grammar"
FOLDER = _INSTALLED if _INSTALLED.is_dir() else _SOURCE_TREE
CHAPTERS = ("problem", "declarations", "constraints", "processes", "expressions", "lexical")


def grammar_text() -> str:
    """The chapters, joined in order."""
    return "\n".join((FOLDER / f"{name}.lark").read_text(encoding="utf-8") for name in CHAPTERS)


def build(**options: Any) -> Lark:
    """The parser, made from the grammar: the slow way that `tables.json` saves."""
    return Lark(
        grammar_text(),
        parser="lalr",
        lexer="contextual",
        start=list(STARTS),
        maybe_placeholders=True,
        postlex=Layout(TreeBuilder()),
        **options,
    )


def key() -> str:
    """What the tables depend on: the grammar and the version of Lark's own format."""
    lark_series = ".".join(__version__.split(".")[:2])
    return f"{hashlib.sha256(grammar_text().encode()).hexdigest()} lark {lark_series}"


def made() -> dict[str, Any]:
    """The tables of the grammar as it stands, as plain data."""
    data, memo = build().memo_serialize([TerminalDef, Rule])
    for option in ("postlex", "transformer", "lexer_callbacks", "tree_class", "_plugins"):
        data["options"].pop(option, None)
    return json.loads(json.dumps({"key": key(), "data": data, "memo": memo}))


def load(builder: TreeBuilder, layout: Layout) -> Lark:
    """A parser that calls `builder` as it reads. Tables of another grammar or Lark are made afresh, which takes longer."""
    stored = json.loads((FOLDER / "tables.json").read_text(encoding="utf-8"))
    if stored["key"] != key():
        stored = made()
    table = stored["data"]["parser"]["parser"]
    table["states"] = {int(state): actions for state, actions in table["states"].items()}
    return Lark._load_from_dict(  # as Lark's own stand-alone parsers load theirs
        stored["data"],
        {int(number): entry for number, entry in stored["memo"].items()},
        transformer=builder,
        postlex=layout,
        lexer_callbacks={"COMMENT": lambda token: _keep(builder, token)},
    )


def _keep(builder: TreeBuilder, token: Any) -> Any:
    builder.comment(token.start_pos, token.rstrip("\r"))
    return token


if __name__ == "__main__":
    text = json.dumps(made(), separators=(",", ":"), sort_keys=True)
    (FOLDER / "tables.json").write_text(text + "\n", encoding="utf-8")
