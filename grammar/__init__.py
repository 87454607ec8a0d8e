"""The grammar of the language as Lark files, one file a chapter, read together as one LALR(1) grammar.

`tables.json` holds the parse tables made from them; `python -m optdsl.syntax.tables` writes it after a change.
"""
