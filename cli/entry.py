"""From the arguments of the process to its exit status: whatever happens, the user sees a diagnostic, no traceback."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import typer

import optdsl
from optdsl.report.status import BAD_INPUT

if TYPE_CHECKING:
    from optdsl.syntax.diagnostics import Diagnostic

INTERRUPTED = 130

#: What typer raises for a mistake on the command line; its module is not the same in all of typer's releases.
USAGE_ERROR: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def main() -> None:
    """The command `optdsl`."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit status. With OPTDSL_DEBUG=1 an internal error keeps its traceback."""
    from optdsl.syntax.diagnostics import OptError

    as_json = _wants_json(arguments)
    try:
        return _dispatch(arguments)
    except OptError as error:
        return tell(error.diagnostics, as_json)
    except USAGE_ERROR as error:
        from optdsl.syntax.diagnostics.run import bad_command_line

        return tell(
            [bad_command_line(_message(error), "`optdsl --help` and `optdsl COMMAND --help` list what there is")],
            as_json,
        )
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except Exception as error:
        if os.environ.get("OPTDSL_DEBUG") == "1":
            raise
        from optdsl.syntax.diagnostics.internal import internal_error

        return tell([internal_error(type(error).__name__, str(error), optdsl.__version__)], as_json)


def _dispatch(arguments: Sequence[str]) -> int:
    from .app import app

    status = app(args=list(arguments), prog_name="optdsl", standalone_mode=False)
    sys.stdout.flush()
    return status if isinstance(status, int) else 0


def tell(diagnostics: Iterable[Diagnostic], as_json: bool) -> int:
    """Shows diagnostics: in full on stderr, or as one JSON document on stdout. Returns the status of bad input."""
    if as_json:
        print(json.dumps({"diagnostics": [d.to_json() for d in diagnostics]}, ensure_ascii=False, indent=1))
    else:
        from optdsl.syntax.render import render_all

        colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        print(render_all(diagnostics, colour), file=sys.stderr)
    return BAD_INPUT


def _message(error: Exception) -> str:
    formatted: str = error.format_message()  # type: ignore[attr-defined]
    return formatted.rstrip(".")


def _wants_json(arguments: Sequence[str]) -> bool:
    return "--format=json" in arguments or ("--format", "json") in pairwise(arguments)
