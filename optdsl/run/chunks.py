"""Work on many independent items, shared out in chunks over the threads of a run, with its limits between chunks."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray

from optdsl.forms.answer import Stop
from optdsl.run.run import Run


def thread_count(run: Run) -> int:
    """Threads for a run: what it asks for, else the cores that this process may use."""
    if run.threads is not None:
        return max(1, run.threads)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_out(
    work: Callable[[int, int], None], count: int, size: int, run: Run, finished: Callable[[int, int], None]
) -> tuple[NDArray[np.bool_], Stop | None]:
    """Calls `work(start, stop)` over chunks of `size` out of `count` items, on the run's threads.

    `work` must release the interpreter lock to gain from threads. `finished` is called in this thread after each
    chunk. When the run is to stop, no further chunk is begun. Returns which items are done, shape (count,), and the
    reason for stopping early, if any.
    """
    done = np.zeros(count, dtype=np.bool_)
    chunks = iter([(start, min(start + size, count)) for start in range(0, count, size)])
    threads = thread_count(run)
    stop: Stop | None = None
    with ThreadPoolExecutor(threads) as pool:
        running: dict[Future[None], tuple[int, int]] = {}
        while True:
            while stop is None and len(running) < threads:
                stop = run.stop()
                chunk = next(chunks, None) if stop is None else None
                if chunk is None:
                    break
                running[pool.submit(work, *chunk)] = chunk
            if not running:
                return done, (None if done.all() else stop)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                start, end = running.pop(future)
                future.result()
                done[start:end] = True
                finished(start, end)
