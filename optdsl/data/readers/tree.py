"""JSON and YAML: numbers, nested lists, and mappings of labels."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from optdsl.data.from_python import from_python
from optdsl.data.values import Array, SparseTable, Value, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, duplicate_key, no_such_key, reader_argument
from optdsl.syntax.source import Cell, Span

NAMES = ("json", "yaml")
SUFFIXES = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
#: Levels of nesting in YAML, whose reader takes time in the square of them; arrays have at most 64 axes.
DEEPEST = 200


def read(name: str, path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Value:
    """Raises E305 for a damaged file, E306 for an unknown key, E309 for a key given twice, E318 for what is no array."""
    if kwargs or any(isinstance(a, list | tuple) for a in args):
        raise OptError(reader_argument(span, name, "takes a file and the keys that lead to the value"))
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = _json(text, shown, span) if name == "json" else _yaml(text, shown, span)
    except (ValueError, RecursionError) as error:
        raise OptError(damaged_file(span, shown, name, str(error).splitlines()[0])) from None
    for key in args:
        if not isinstance(content, dict) or key not in content:
            present = [str(k) for k in content] if isinstance(content, dict) else []
            raise OptError(no_such_key(span, shown, str(key), present))
        content = content[key]
    found = from_python(content, shown, span=span)
    assert isinstance(found, Array | SparseTable)
    keys = "".join(f", {k!r}" for k in args)
    infinite = "Infinity" in text if name == "json" else ".inf" in text.lower()
    found = replace(found, source=file_source(f"{name}({shown!r}{keys})", path), infinite=infinite)
    return replace(found, cell=lambda index: Cell(shown)) if isinstance(found, Array) else found


def _json(text: str, shown: str, span: Span | None) -> Any:
    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [k for k, _ in pairs]
            twice = next(k for i, k in enumerate(keys) if k in keys[:i])
            raise OptError(duplicate_key(Cell(shown), f"the key {twice!r}", span))
        return found

    return json.loads(text, object_pairs_hook=mapping)


def _yaml(text: str, shown: str, span: Span | None) -> Any:
    import yaml

    try:
        loader = _yaml_loader()(text)
    except yaml.reader.ReaderError as error:
        raise ValueError(error.reason) from None
    try:
        return loader.get_single_data()
    except _Twice as error:
        raise OptError(duplicate_key(Cell(shown, error.line), f"the key {error.key!r}", span)) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else None
        raise OptError(damaged_file(Cell(shown, line), shown, "yaml", error.problem or str(error))) from None
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    finally:
        loader.dispose()


class _Twice(Exception):
    def __init__(self, key: Any, line: int) -> None:
        self.key, self.line = key, line


@cache
def _yaml_loader() -> Any:
    """Numbers, text, lists and mappings of YAML 1.2's core: `1e-3` is a number, a date and `no` are text; no tags; no aliases, which
    could make a small file vast."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012  as PyYAML declares it
            first: [(tag, test) for tag, test in rules if tag.endswith(":null")]
            for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None) is not None:
                what = "aliases" if isinstance(event, yaml.AliasEvent) else "tags"
                raise yaml.composer.ComposerError(None, None, f"{what} are not read in data", event.start_mark)
            if self.depth == DEEPEST:
                raise yaml.composer.ComposerError(None, None, f"it is nested deeper than {DEEPEST}", event.start_mark)
            self.depth += 1
            found = super().compose_node(parent, index)
            self.depth -= 1
            return found

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            found = super().construct_mapping(node, deep=True)
            if len(found) < len(node.value):
                seen: list[Any] = []
                for key_node, _ in node.value:
                    key = self.construct_object(key_node, deep=True)
                    if key in seen:
                        raise _Twice(key, key_node.start_mark.line + 1)
                    seen.append(key)
            return found

    def mapping_of(loader: Any, node: Any) -> Any:
        return loader.construct_mapping(node)

    def real_of(loader: Any, node: Any) -> float:
        return float(node.value.lower().replace(".inf", "inf").replace(".nan", "nan"))

    whole = r"[-+]?[0-9]+$"
    real = r"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:bool", re.compile("(true|True|TRUE|false|False|FALSE)$"), list("tTfF")
    )
    Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(whole), list("-+0123456789"))
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(real), list("-+.0123456789"))
    Loader.add_constructor("tag:yaml.org,2002:map", mapping_of)
    Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))
    Loader.add_constructor("tag:yaml.org,2002:float", real_of)
    return Loader
