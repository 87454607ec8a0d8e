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


class Watch:
    """Told which run goes on; before there is one, Ctrl-C is an ordinary KeyboardInterrupt."""

    def __init__(self) -> None:
        self.run: Run | None = None

    def __call__(self, run: Run) -> None:
        self.run = run

    def noted(self, number: int, frame: FrameType | None) -> None:
        """Python's own handler; the watching thread does the work once there is a run."""
        if self.run is None:
            raise KeyboardInterrupt


@contextmanager
def ctrl_c_interrupts() -> Iterator[Watch]:
    """While it is open, Ctrl-C interrupts the run that the yielded watch was told of. Off the main thread, or where the
    caller handles Ctrl-C in a way of its own, nothing changes."""
    watch = Watch()
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield watch
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    watcher = threading.Thread(target=_follow, args=(reading, watch), daemon=True, name="interrupt")
    old_pipe = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, watch.noted)
    watcher.start()
    try:
        yield watch
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(old_pipe)
        os.close(writing)
        watcher.join()
        os.close(reading)


def _follow(reading: int, watch: Watch) -> None:
    """Until the pipe is closed."""
    while numbers := os.read(reading, 64):
        for number in numbers:
            run = watch.run
            if number != signal.SIGINT or run is None:
                continue
            if run.interrupted:
                if sys.stderr.isatty():
                    os.write(2, _SHOW_CURSOR)
                os._exit(128 + signal.SIGINT)
            run.interrupt()
