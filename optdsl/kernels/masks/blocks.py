"""Cutting an array into M × M blocks and putting it together again; work shared out over chunks of blocks."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.forms.answer import Stop
from optdsl.run.run import Run


def cut(array: NDArray[Any], M: int) -> NDArray[Any]:
    """The M × M blocks of an (m, n) array in row-major order, shape (m n / M², M, M), copied."""
    m, n = array.shape
    return array.reshape(m // M, M, n // M, M).swapaxes(1, 2).reshape(-1, M, M)


def join(blocks: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """The inverse of `cut`."""
    m, n = shape
    M = blocks.shape[-1]
    return blocks.reshape(m // M, n // M, M, M).swapaxes(1, 2).reshape(m, n)


def groups(array: NDArray[Any], M: int, axis: int) -> NDArray[Any]:
    """M consecutive entries along `axis` as rows, shape (…, M); a view where the layout allows."""
    moved = np.moveaxis(array, axis, -1)
    return moved.reshape(*moved.shape[:-1], moved.shape[-1] // M, M)


def circulant(N: int, M: int) -> NDArray[np.bool_]:
    """The mask with N entries in every row and column that needs no scores: entry (i, j) where (j − i) mod M < N."""
    index = np.arange(M)
    return (index[None, :] - index[:, None]) % M < N


def thread_count(run: Run) -> int:
    """Threads for a run: what it asks for, else the cores that this process may use."""
    if run.threads is not None:
        return max(1, run.threads)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_out(
    work: Callable[[int, int], None], count: int, size: int, run: Run, finished: Callable[[int, int], None]
) -> tuple[NDArray[np.bool_], Stop | None]:
    """Calls `work(start, stop)` over chunks of `size` out of `count` blocks, on the run's threads.

    `work` must release the interpreter lock to gain from threads. `finished` is called in this thread after each
    chunk. When the run is to stop, no further chunk is begun. Returns which blocks are done, shape (count,), and the
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
