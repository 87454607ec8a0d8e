"""One run of one backend: its budget, seeds, events, and the wish to stop."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from optdsl.forms.answer import Stop, StopKind


@dataclass(frozen=True)
class Event:
    """One iterate as reported by a backend: what a progress line, a trace and a callback see."""

    iteration: int
    seconds: float
    objective: float | None
    residuals: dict[str, float]


@dataclass
class Run:
    """Passed to a backend's `solve`. The only source of randomness, limits and progress.

    `time_limit` in seconds from the creation of the run; `max_evaluations` counts what the backend reports through
    `evaluated`. `on_event` is called for every event; `trace` keeps at most `trace_length` of them, thinned evenly.
    """

    seed: int = 0
    time_limit: float | None = None
    max_evaluations: int | None = None
    threads: int | None = None
    verbose: bool = False
    on_event: Callable[[Event], None] | None = None
    checkpoint: Path | None = None
    checkpoint_every: float = 30.0
    trace_length: int = 500
    trace: list[Event] = field(default_factory=list)
    evaluations: int = 0
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self._interrupted = threading.Event()
        self._rngs: dict[str, np.random.Generator] = {}
        self._stride = 1
        self._events = 0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    @property
    def remaining(self) -> float | None:
        """Seconds left, never negative; None without a limit."""
        return None if self.time_limit is None else max(0.0, self.time_limit - self.seconds)

    def rng(self, name: str) -> np.random.Generator:
        """The generator of that name: the same draws for the same seed, whatever else runs."""
        if name not in self._rngs:
            word = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
            self._rngs[name] = np.random.default_rng(np.random.SeedSequence([self.seed, word]))
        return self._rngs[name]

    def interrupt(self) -> None:
        """Asks the backend to stop at its next look; safe from signal handlers and other threads."""
        self._interrupted.set()

    @property
    def interrupted(self) -> bool:
        return self._interrupted.is_set()

    def evaluated(self, count: int = 1) -> None:
        self.evaluations += count

    def stop(self) -> Stop | None:
        """The reason to stop now, or None."""
        if self._interrupted.is_set():
            return Stop(StopKind.INTERRUPTED, "stopped by the user")
        if self.time_limit is not None and self.seconds >= self.time_limit:
            return Stop(StopKind.TIME_LIMIT, f"time limit of {self.time_limit:g} s reached")
        if self.max_evaluations is not None and self.evaluations >= self.max_evaluations:
            return Stop(StopKind.EVALUATION_LIMIT, f"budget of {self.max_evaluations} evaluations used")
        return None

    def report(self, iteration: int, objective: float | None = None, **residuals: float) -> None:
        """Tells of one iterate."""
        event = Event(iteration, self.seconds, objective, residuals)
        if self._events % self._stride == 0:
            self.trace.append(event)
            if len(self.trace) > self.trace_length:
                del self.trace[1::2]
                self._stride *= 2
        self._events += 1
        if self.on_event is not None:
            self.on_event(event)

    def rng_states(self) -> dict[str, Any]:
        return {name: rng.bit_generator.state for name, rng in self._rngs.items()}

    def restore_rng(self, states: dict[str, Any]) -> None:
        for name, state in states.items():
            self.rng(name).bit_generator.state = state
