"""Ctrl-C: the first asks the run to stop and keeps its best point, the second ends the process.

Native solvers keep Python's own signal handlers waiting until they return. So a thread watches the pipe that the
interpreter writes each signal to at once, and tells the run from there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from optdsl.run.run import Run

_SHOW_CURSOR = b"\x1b[?25h\n"


@contextmanager
def interruptible(run: Run) -> Iterator[None]:
    """While it is open, Ctrl-C interrupts `run`. Off the main thread, or where the caller handles Ctrl-C in a way of
    its own, nothing changes."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    watcher = threading.Thread(target=_watch, args=(reading, run), daemon=True, name="interrupt")
    old_pipe = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _noted)
    watcher.start()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(old_pipe)
        os.close(writing)
        watcher.join()
        os.close(reading)


def _noted(number: int, frame: FrameType | None) -> None:
    """The watching thread does the work."""


def _watch(reading: int, run: Run) -> None:
    """Until the pipe is closed."""
    while numbers := os.read(reading, 64):
        for number in numbers:
            if number != signal.SIGINT:
                continue
            if run.interrupted:
                if sys.stderr.isatty():
                    os.write(2, _SHOW_CURSOR)
                os._exit(128 + signal.SIGINT)
            run.interrupt()
