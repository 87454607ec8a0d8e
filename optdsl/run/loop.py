"""The loop of every iterative method, written once: progress, limits, Ctrl-C, best point, checkpoint and resume.

A method is a record of options with `init`, `step`, `done`, `progress` and `answer`; its state is a dataclass of
float64/int arrays, numbers, strings and None, never changed in place, so that a kept state stays what it was.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from optdsl.forms.answer import Answer, Stop, StopKind
from optdsl.run.checkpoint import load_state, save_state
from optdsl.run.run import Run

S = TypeVar("S")


@dataclass(frozen=True)
class Progress:
    """What is told of an iterate. `merit` (smaller is better) picks the best iterate; the objective where absent."""

    objective: float | None
    residuals: dict[str, float] = field(default_factory=dict)
    merit: float | None = None


class Method(Protocol[S]):
    """An iterative algorithm. `State` names its state's dataclass."""

    State: type[S]

    def init(self, form: Any, options: Any, run: Run) -> S: ...

    def step(self, form: Any, options: Any, state: S, run: Run) -> S: ...

    def done(self, form: Any, options: Any, state: S) -> Stop | None: ...

    def progress(self, form: Any, options: Any, state: S) -> Progress: ...

    def answer(self, form: Any, options: Any, state: S, best: S, stop: Stop) -> Answer: ...


def iterate(method: Method[S], form: Any, options: Any, run: Run, key: str = "") -> Answer:
    """Runs a method to its end. `options.max_iter` bounds the number of steps (0 allowed).

    A checkpoint at `run.checkpoint` made under the same `key` is continued; the result equals the uninterrupted one.
    """
    iteration = 0
    state: S | None = None
    best: S | None = None
    best_merit = float("inf")
    if run.checkpoint is not None and run.checkpoint.exists():
        loaded = load_state(run.checkpoint, key, method.State)
        if loaded is not None:
            state, best, extra = loaded
            best_merit = float(extra["best_merit"])
            iteration = int(extra["iteration"])
            run.evaluations = int(extra["evaluations"])
            run.restore_rng(extra["rng"])
    if state is None:
        state = method.init(form, options, run)
    best = state if best is None else best
    saved = time.monotonic()
    while True:
        progress = method.progress(form, options, state)
        merit = progress.objective if progress.merit is None else progress.merit
        if merit is not None and merit <= best_merit:
            best, best_merit = state, merit
        run.report(iteration, progress.objective, **progress.residuals)
        stop = method.done(form, options, state) or run.stop()
        if stop is None and iteration >= options.max_iter:
            stop = Stop(StopKind.ITERATION_LIMIT, f"iteration limit of {options.max_iter} reached")
        due = run.checkpoint is not None and (stop is not None or time.monotonic() - saved >= run.checkpoint_every)
        if run.checkpoint is not None and due:
            extra = {"iteration": iteration, "evaluations": run.evaluations, "rng": run.rng_states(),
                     "best_merit": best_merit}  # fmt: skip
            save_state(run.checkpoint, key, state, extra, None if best is state else best)
            saved = time.monotonic()
        if stop is not None:
            answer = method.answer(form, options, state, best, stop)
            answer.iterations = iteration
            return answer
        state = method.step(form, options, state, run)
        iteration += 1
