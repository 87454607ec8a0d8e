"""What a run shows while it goes: one live line on a terminal, a line now and then elsewhere, nothing when quiet."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from optdsl.run.run import Event

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Seconds between two plain lines: short at first, so that a new user sees life, then rarer.
FIRST_LINE, LATER_LINES, GROWTH = 1.0, 30.0, 1.6
BAR_WIDTH = 24


class Progress:
    """Takes the events of a run. `time_limit` draws a bar of the time used."""

    def __init__(self, title: str, time_limit: float | None = None, stream: TextIO | None = None) -> None:
        self.title = title
        self.time_limit = time_limit
        self.stream = sys.stderr if stream is None else stream
        self.started = time.perf_counter()
        self.last: Event | None = None
        self._next = FIRST_LINE
        self._wait = FIRST_LINE
        self._plain = False

    def __call__(self, event: Event) -> None:
        self.last = event
        if self._plain and event.seconds >= self._next:
            print(self.line(event.seconds), file=self.stream, flush=True)
            self._wait = min(self._wait * GROWTH, LATER_LINES)
            self._next = event.seconds + self._wait

    def line(self, seconds: float) -> str:
        """`title  iteration 120  objective 3.14  residual 1e-05  2.0 s`."""
        parts = [self.title]
        if self.last is not None:
            parts.append(f"iteration {self.last.iteration}")
            if self.last.objective is not None and math.isfinite(self.last.objective):
                parts.append(f"objective {self.last.objective:.8g}")
            parts += [f"{name} {value:.2e}" for name, value in list(self.last.residuals.items())[:2]]
        parts.append(elapsed(seconds))
        return "  ".join(parts)

    @contextmanager
    def shown(self, wanted: bool = True) -> Iterator[Progress]:
        """Live on a terminal while it is open, and gone when it closes; plain lines elsewhere; nothing where it is not
        wanted."""
        self._plain = wanted and not self.stream.isatty()
        if not wanted or self._plain:
            yield self
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self.stream)
        with Live(get_renderable=self._renderable, console=console, refresh_per_second=8, transient=True):
            yield self

    def _renderable(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        seconds = time.perf_counter() - self.started
        row = Table.grid(padding=(0, 1))
        line = Text(self.line(seconds), no_wrap=True, overflow="ellipsis")
        if self.time_limit is None or not math.isfinite(self.time_limit):
            row.add_row(line)
        else:
            row.add_row(
                ProgressBar(total=self.time_limit, completed=min(seconds, self.time_limit), width=BAR_WIDTH), line
            )
        return row


def elapsed(seconds: float) -> str:
    """`85 ms`, `2.1 s`, `3 min 05 s`, `2 h 03 min`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
