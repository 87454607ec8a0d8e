"""JSON and YAML: numbers, nested lists, and mappings of labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optdsl.data.from_python import from_python
from optdsl.data.values import Array, SparseTable, Value, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, no_such_key, reader_argument
from optdsl.syntax.source import Span

NAMES = ("json", "yaml")
SUFFIXES = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


def read(path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Value:
    if kwargs:
        raise OptError(reader_argument(span, "json", "takes a file and the keys that lead to the value"))
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            content = json.loads(text)
        else:
            import yaml

            try:
                content = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ValueError(str(error).splitlines()[0]) from None
    except (ValueError, RecursionError) as error:
        raise OptError(damaged_file(span, shown, path.suffix.lstrip("."), str(error))) from None
    for key in args:
        if not isinstance(content, dict) or key not in content:
            present = [str(k) for k in content] if isinstance(content, dict) else []
            raise OptError(no_such_key(span, shown, str(key), present))
        content = content[key]
    found = from_python(content, shown)
    source = file_source(f"{path.suffix.lstrip('.')}({shown!r})", path)
    if isinstance(found, SparseTable):
        return SparseTable(found.columns, found.names, found.values, source, found.cell)
    assert isinstance(found, Array)
    return Array(found.values, found.labels, source)
