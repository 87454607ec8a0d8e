"""Arguments and options that several commands share."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from optdsl.api import Problem


class Format(str, Enum):
    """How results and diagnostics are printed."""

    text = "text"
    json = "json"


File = Annotated[str, typer.Argument(metavar="FILE", help="The problem file; - reads it from standard input.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="PARAM=VALUE", help="Value of a param. May be repeated.")
]
Data = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="NAME=PATH[:KEY]", help="File for a data declaration. May be repeated."),
]
Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="YAML run file with settings.")]
AllowPython = Annotated[bool, typer.Option("--allow-python", help="Let the problem file read data from Python code.")]
AllowPath = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-path", metavar="DIR", help="Let the problem file read from this folder too. May be repeated."
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="text for people, json for programs.")]


def load(file: str, allow_python: bool, allow_paths: list[Path] | None) -> Problem:
    """The problem of a file, or of standard input."""
    from optdsl import api

    if file == "-":
        return api.parse(sys.stdin.read(), folder=Path(), allow_python=allow_python, allow_paths=allow_paths or ())
    return api.load(file, allow_python=allow_python, allow_paths=allow_paths or ())
