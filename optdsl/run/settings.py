"""The settings of a run, from a YAML run file and the command line; what comes later wins.

In order: the backend's defaults, the file's `solve with`, the run file, the command line. Options written for one
backend are not handed to another: `--with` with another name than the run file's leaves the run file's options out.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from optdsl.syntax.diagnostics import Diagnostic, OptError
from optdsl.syntax.diagnostics.run import (
    bad_assignment,
    bad_method,
    bad_setting,
    bad_yaml,
    unknown_setting,
    unreadable_file,
)


@dataclass(frozen=True)
class DataFile:
    """A file given for a `data` at run time; `key` names a part of it (an array of an npz, a column of a table)."""

    path: Path
    key: str | None = None


class Settings(BaseModel):
    """What may be set for a run. In a run file, paths are relative to the run file's folder."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    with_: str | None = Field(None, alias="with", description="the method, with its options: aradmm(tol=1e-6)")
    options: dict[str, Any] = Field(default_factory=dict, description="options of the method")
    set: dict[str, Any] = Field(default_factory=dict, description="values of params")
    data: dict[str, Any] = Field(default_factory=dict, description="values of data: a path, or path:key")
    seed: Annotated[int, Field(ge=0)] | None = None
    time_limit: Annotated[float, Field(gt=0)] | None = Field(None, description="seconds")
    tol: Annotated[float, Field(gt=0)] | None = None
    threads: Annotated[int, Field(ge=1)] | None = None
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:\d+)?)$")] | None = None
    checkpoint: Path | None = None
    report: Path | None = None
    html: Path | None = None
    quiet: bool | None = None

    def over(self, earlier: Settings) -> Settings:
        """These settings where given, the earlier ones elsewhere; mappings are joined entry by entry."""
        mine = {k: v for k, v in self.model_dump().items() if v is not None}
        merged = earlier.model_dump() | mine
        same_method = self.with_ is None or earlier.with_ is None or self.with_ == earlier.with_
        merged["options"] = (earlier.options if same_method else {}) | self.options
        merged["set"] = earlier.set | self.set
        merged["data"] = earlier.data | self.data
        return Settings.model_construct(**merged)


def command_line(
    *, with_: str | None, options: Iterable[str], set_: Iterable[str], data: Iterable[str], **rest: Any
) -> Settings:
    """The settings that a command line gives, from its texts. Raises OptError (E602, E603, E608)."""
    method, given = parse_method(with_) if with_ is not None else (None, {})
    for text in options:
        name, value = _split(text, "--option", "NAME=VALUE")
        given[name] = read_value(value)
    params = {}
    for text in set_:
        name, value = _split(text, "--set", "PARAM=VALUE")
        params[name] = read_value(value)
    files = {}
    for text in data:
        name, value = _split(text, "--data", "NAME=PATH or NAME=PATH:KEY")
        files[name] = data_file(value, Path())
    content = {"with": method, "options": given, "set": params, "data": files} | rest
    return _validated(content, "the command line", {})


def run_file(path: Path) -> Settings:
    """The settings of a YAML run file. Raises OptError (E604, E606, E607, E608)."""
    content, lines = _yaml(path)
    known = [f.alias or name for name, f in Settings.model_fields.items()]
    unknown = [unknown_setting(str(path), str(k), lines.get(k), known) for k in content if k not in known]
    if unknown:
        raise OptError(unknown)
    if isinstance(content.get("with"), str):
        name, options = parse_method(content["with"])
        content |= {"with": name, "options": options | (content.get("options") or {})}
    content = {k: v for k, v in content.items() if v is not None}
    found = _validated(content, str(path), lines)
    folder = path.parent
    found.data = {k: data_file(v, folder) if isinstance(v, str) else v for k, v in found.data.items()}
    for key in ("checkpoint", "report", "html"):
        at: Path | None = getattr(found, key)
        setattr(found, key, None if at is None else folder / at)
    return found


def _validated(content: Mapping[str, Any], place: str, lines: Mapping[str, int]) -> Settings:
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        found: list[Diagnostic] = []
        for e in error.errors(include_url=False):
            key = str(e["loc"][0])
            found.append(bad_setting(place, ".".join(map(str, e["loc"])), repr(e["input"]), e["msg"], lines.get(key)))
        raise OptError(found) from None


def data_file(text: str, folder: Path) -> DataFile:
    """`path` or `path:key`; a path that exists as it stands has no key."""
    whole = folder / text
    head, colon, key = text.rpartition(":")
    if whole.exists() or not colon or not head or "/" in key or "\\" in key:
        return DataFile(whole)
    return DataFile(folder / head, key)


def _split(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier() or not value.strip():
        raise OptError(bad_assignment(option, text, form))
    return name, value.strip()


def parse_method(text: str) -> tuple[str, dict[str, Any]]:
    """`NAME` or `NAME(key=value, …)`, values as the language writes them. Raises OptError (E603)."""
    text = text.strip()
    if re.fullmatch(r"[\w.\-]+", text):
        return text, {}
    name, _, inside = text.partition("(")
    if not re.fullmatch(r"[\w.\-]+", name.strip()) or not inside.endswith(")"):
        raise OptError(bad_method(text, "it is neither a name nor a name with options in parentheses"))
    try:
        call = ast.parse(f"f({inside}", mode="eval").body
    except (SyntaxError, ValueError):
        raise OptError(bad_method(text, "the options are not key=value, separated by commas")) from None
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        raise OptError(bad_method(text, "every option needs its name"))
    options = {str(k.arg): _constant(k.value, text) for k in call.keywords}
    if len(options) < len(call.keywords):
        raise OptError(bad_method(text, "an option is given twice"))
    return name.strip(), options


_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None, "null": None, "inf": math.inf, "nan": math.nan}


def _constant(node: ast.expr, text: str) -> Any:
    """A number, text, list or mapping; a bare word is a text."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None):
            return node.value
        case ast.Name():
            return _WORDS.get(node.id, node.id)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            value = _constant(operand, text)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return -value if isinstance(node.op, ast.USub) else value
        case ast.List() | ast.Tuple():
            return [_constant(e, text) for e in node.elts]
        case ast.Dict():
            keys = [k for k in node.keys if k is not None]
            return {str(_constant(k, text)): _constant(v, text) for k, v in zip(keys, node.values, strict=True)}
    raise OptError(bad_method(text, f"`{ast.unparse(node)}` is no constant"))


def read_value(text: str) -> Any:
    """A value on the command line: a number, true, false, inf, a list in brackets, else the text itself."""
    try:
        node = ast.parse(text, mode="eval").body
        return _constant(node, text)
    except (SyntaxError, ValueError, OptError):
        return text


#: Scalars as YAML 1.2 reads them: tag, pattern, possible first characters, reader.
_SCALARS: list[tuple[str, str, str, Callable[[str], Any]]] = [
    ("tag:yaml.org,2002:int", r"^[-+]?\d[\d_]*$", "-+0123456789", int),
    (
        "tag:yaml.org,2002:float",
        r"^[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?$|^[-+]?\.?(inf|Inf|INF)$|^\.?(nan|NaN|NAN)$",
        "-+0123456789.iInN",
        lambda t: float(re.sub(r"\.(?=[iInN])", "", t)),
    ),
    ("tag:yaml.org,2002:bool", r"^(true|True|TRUE|false|False|FALSE)$", "tTfF", lambda t: t.lower() == "true"),
]


def _yaml(path: Path) -> tuple[dict[Any, Any], dict[Any, int]]:
    """The mapping in a YAML file and the line of each of its keys. Numbers are YAML 1.2's: `1e-6` is one."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012
            first: [(tag, how) for tag, how in rules if not tag.endswith((":int", ":float", ":bool", ":timestamp"))]
            for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    def scalar(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
        return next(read for tag, _, _, read in _SCALARS if tag == node.tag)(node.value)

    for tag, pattern, first, _ in _SCALARS:
        Loader.add_implicit_resolver(tag, re.compile(pattern), list(first))
        Loader.add_constructor(tag, scalar)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise OptError(bad_yaml(str(path), None, "it is not UTF-8 text")) from None
    except OSError as error:
        raise OptError(unreadable_file(str(path), error.strerror or str(error))) from None
    try:
        node = yaml.compose(text, Loader=Loader)
        content = yaml.load(text, Loader=Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or str(error)
        raise OptError(bad_yaml(str(path), None if mark is None else mark.line + 1, why)) from None
    if content is None:
        return {}, {}
    if not isinstance(content, dict) or not isinstance(node, yaml.MappingNode):
        raise OptError(bad_yaml(str(path), 1, "it holds no mapping of settings to values"))
    lines: dict[Any, int] = {}
    for key, _ in node.value:
        if key.value in lines:
            raise OptError(bad_yaml(str(path), key.start_mark.line + 1, f"`{key.value}` is set twice"))
        lines[key.value] = key.start_mark.line + 1
    return content, lines
