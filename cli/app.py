"""The commands, together."""

from __future__ import annotations

from typing import Annotated

import typer

import optdsl
from optdsl.report.status import MEANING

from . import backends, check, explain, schema, show, solve, verify

app = typer.Typer(
    name="optdsl",
    help="Solve optimisation problems written in the optdsl language, with answers that are checked.",
    epilog="Exit status: " + "; ".join(f"{status} {words}" for status, words in MEANING.items()) + ".",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"optdsl {optdsl.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Solve optimisation problems written in the optdsl language, with answers that are checked."""


for command in (solve, check, explain, show, verify, backends, schema):
    app.command(name=command.__name__.rpartition(".")[2])(command.command)
