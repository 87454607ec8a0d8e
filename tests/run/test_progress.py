"""Progress: plain lines that grow rarer, a live line on a terminal, silence when it is not wanted."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest

from optdsl.run.progress import Progress, elapsed
from optdsl.run.run import Event


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def follow(progress: Progress, seconds: int, wanted: bool = True) -> None:
    with progress.shown(wanted):
        for k in range(seconds * 10):
            progress(Event(k, k / 10, 5.0 / (k + 1), {"primal": 0.5**k, "dual": 1.0, "third": 0.0}))


def test_plain_lines_grow_rarer() -> None:
    out = io.StringIO()
    follow(Progress("solving", stream=out), 100)
    lines = out.getvalue().splitlines()
    assert lines[0] == "solving  iteration 10  objective 0.45454545  primal 9.77e-04  dual 1.00e+00  1.0 s"
    iterations = [int(line.split("iteration ")[1].split()[0]) for line in lines]
    gaps = [b - a for a, b in pairwise(iterations)]
    assert gaps == sorted(gaps)
    assert 5 <= len(lines) <= 12


def test_a_short_run_prints_nothing() -> None:
    out = io.StringIO()
    follow(Progress("solving", stream=out), 1)
    assert out.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_quiet(stream: io.StringIO) -> None:
    follow(Progress("solving", stream=stream), 60, wanted=False)
    assert stream.getvalue() == ""


def test_a_terminal_gets_one_live_line_that_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    out = Terminal()
    follow(Progress("solving", time_limit=60.0, stream=out), 2)
    text = out.getvalue()
    assert "iteration 19" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor comes back
    assert text.rstrip("\r\n").endswith("\x1b[2K")  # the line is erased


def test_an_objective_that_is_not_finite_is_not_shown() -> None:
    progress = Progress("solving")
    progress(Event(3, 0.0, float("-inf"), {}))
    assert progress.line(0.5) == "solving  iteration 3  500 ms"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0854, "85 ms"), (2.06, "2.1 s"), (185, "3 min 05 s"), (7390, "2 h 03 min"), (59.96, "60.0 s")],
)
def test_elapsed(seconds: float, shown: str) -> None:
    assert elapsed(seconds) == shown
