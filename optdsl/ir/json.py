"""The typed problem as plain JSON and back: nodes that are shared stay shared, spans keep their sources.

A record is `{"$": class, "#": number, field: …}`, a second mention of it `{"ref": number}`. Arrays are base64 of their bytes.
With `data=False` the values of data are left out: their name, shape, dtype and SHA-256 stay, and reading needs them again.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.ir import distributions, nodes, problem, structure
from optdsl.ir.blocks import table as blocks
from optdsl.ir.problem import DataValue, Problem
from optdsl.syntax.source import Source, Span

SCHEMA = "optdsl.ir/1"


class Unreadable(ValueError):
    """The JSON is not an IR of this version, or lacks a value; the message says which."""


def _classes(*modules: ModuleType) -> Iterator[tuple[str, type[Any]]]:
    for module in modules:
        short = module.__name__.rsplit(".", 1)[-1]
        for name, value in vars(module).items():
            if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__:
                yield f"{short}.{name}", value


CLASSES: dict[str, type[Any]] = dict(_classes(nodes, problem, distributions, structure, blocks))
NAMES = {value: name for name, value in CLASSES.items()}


class _Writer:
    def __init__(self, data: bool) -> None:
        self.data = data
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []
        self.sources: dict[int, int] = {}
        self.texts: list[dict[str, str]] = []

    def write(self, x: Any) -> Any:
        if x is None or isinstance(x, bool | str):
            return x
        if isinstance(x, int | np.integer):
            return int(x)
        if isinstance(x, float | np.floating):
            return float(x) if math.isfinite(x) else {"number": repr(float(x))}
        if isinstance(x, np.ndarray):
            return _array(x)
        if sp.issparse(x):
            return {"csr": [_array(x.indptr), _array(x.indices), _array(x.data), list(x.shape)]}
        if isinstance(x, Span):
            return {"span": [self._source(x.source), x.start, x.end]}
        if isinstance(x, list):
            return [self.write(i) for i in x]
        if isinstance(x, tuple):
            return {"tuple": [self.write(i) for i in x]}
        if isinstance(x, frozenset):
            # names of variables, or indices by their names: in an order that does not depend on identities
            return {"set": [self.write(i) for i in sorted(x, key=lambda i: i if isinstance(i, str) else i.name)]}
        if isinstance(x, Mapping):
            return {"map": [[self.write(k), self.write(v)] for k, v in x.items()]}
        return self._record(x)

    def _source(self, source: Source) -> int:
        if id(source) not in self.sources:
            self.sources[id(source)] = len(self.texts)
            self.texts.append({"name": source.name, "text": source.text})
            self.kept.append(source)
        return self.sources[id(source)]

    def _record(self, x: Any) -> Any:
        if type(x) not in NAMES:
            raise TypeError(f"the IR holds a {type(x).__name__}, which has no JSON form")
        if id(x) in self.numbers:
            return {"ref": self.numbers[id(x)]}
        number = self.numbers[id(x)] = len(self.numbers)
        self.kept.append(x)
        out: dict[str, Any] = {"$": NAMES[type(x)], "#": number}
        for f in fields(x):
            value = getattr(x, f.name)
            if isinstance(x, DataValue) and f.name == "values" and not self.data:
                out[f.name] = {"named": [x.name, x.sha256], "dtype": x.values.dtype.str, "shape": list(x.values.shape)}
            else:
                out[f.name] = self.write(value)
        return out


def _array(x: Any) -> dict[str, Any]:
    x = np.asarray(x)
    return {
        "array": base64.b64encode(np.ascontiguousarray(x).tobytes()).decode(),
        "dtype": x.dtype.str,
        "shape": list(x.shape),
    }


class _Reader:
    def __init__(self, texts: list[dict[str, str]], data: Mapping[str, Any]) -> None:
        self.sources = [Source(t["name"], t["text"]) for t in texts]
        self.data = data
        self.records: dict[int, Any] = {}

    def read(self, x: Any) -> Any:
        if isinstance(x, list):
            return [self.read(i) for i in x]
        if not isinstance(x, dict):
            return x
        if "$" in x:
            return self._record(x)
        if "ref" in x:
            return self.records[x["ref"]]
        (kind,) = [k for k in x if k not in ("dtype", "shape")]
        value = x[kind]
        match kind:
            case "number":
                return float(value)
            case "array":
                flat = np.frombuffer(base64.b64decode(value), dtype=np.dtype(x["dtype"]))
                return flat.reshape(x["shape"])
            case "csr":
                indptr, indices, data = (self.read(v) for v in value[:3])
                return sp.csr_array((data, indices, indptr), shape=tuple(value[3]))
            case "span":
                return Span(self.sources[value[0]], value[1], value[2])
            case "tuple":
                return tuple(self.read(i) for i in value)
            case "set":
                return frozenset(self.read(i) for i in value)
            case "map":
                return {self.read(k): self.read(v) for k, v in value}
            case "named":
                return self._given(value[0], x["dtype"], x["shape"])
        raise Unreadable(f"{kind!r} is no part of {SCHEMA}")

    def _given(self, name: str, dtype: str, shape: list[int]) -> Any:
        if name not in self.data:
            raise Unreadable(f"the value of {name} is not in the file and was not given")
        values = self.data[name] if sp.issparse(self.data[name]) else np.asarray(self.data[name])
        if list(values.shape) != shape or values.dtype.str != dtype:
            given = f"{values.dtype.str} of shape {list(values.shape)}"
            raise Unreadable(f"the value of {name} is {given}; the file was made with {dtype} of shape {shape}")
        return values

    def _record(self, x: dict[str, Any]) -> Any:
        if x["$"] not in CLASSES:
            raise Unreadable(f"{x['$']!r} is no record of {SCHEMA}")
        made = CLASSES[x["$"]](**{k: self.read(v) for k, v in x.items() if k not in ("$", "#")})
        self.records[x["#"]] = made
        return made


def to_json(p: Problem, data: bool = True) -> dict[str, Any]:
    """The problem as plain data for `json.dumps`."""
    writer = _Writer(data)
    content = writer.write(p)
    return {"schema": SCHEMA, "sources": writer.texts, "problem": content}


def from_json(content: Mapping[str, Any], data: Mapping[str, Any] | None = None) -> Problem:
    """The problem again; `data` gives values that the file only names. Raises `Unreadable`."""
    if content.get("schema") != SCHEMA:
        raise Unreadable(f"this is not {SCHEMA}")
    found = _Reader(list(content["sources"]), data or {}).read(content["problem"])
    assert isinstance(found, Problem)
    return found
