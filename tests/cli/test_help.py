"""`optdsl --help` and the start of every command are light, and each command explains itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = [
    "torch",
    "cvxpy",
    "casadi",
    "matplotlib",
    "highspy",
    "numba",
    "pymanopt",
    "sklearn",
    "pandas",
    "scipy",
    "numpy",
]
COMMANDS = ["solve", "check", "explain", "verify", "backends", "schema"]


def imported(*arguments: str) -> tuple[str, set[str]]:
    """What the command printed, and which modules it had loaded at its end."""
    script = (
        "import sys\nfrom optdsl.cli.entry import run\n"
        f"status = run({list(arguments)!r})\nprint('\\0' + ' '.join(sys.modules), end='')\nsys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    text, _, modules = done.stdout.partition("\0")
    return text, set(modules.split())


@pytest.mark.parametrize("arguments", [["--help"], ["solve", "--help"], ["--version"], ["explain", "E203"]])
def test_what_is_not_needed_is_not_imported(arguments: list[str]) -> None:
    text, modules = imported(*arguments)
    assert text.strip()
    assert not modules & set(HEAVY)


def test_help_names_every_command_and_the_exit_statuses() -> None:
    text, _ = imported("--help")
    for command in COMMANDS:
        assert f"\n  {command} " in text
    for words in ("0 proven optimal", "1 bad input", "2 unproven", "3 proven infeasible", "4 stopped by a limit"):
        assert words in " ".join(text.split())


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "optdsl", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("optdsl ")
