"""The loop of iterative methods: limits, the best point, checkpoints; on BFGS and on a method that draws and wanders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from optdsl.backends.base import IterativeBackend, IterativeOptions
from optdsl.backends.smooth.bfgs import Bfgs, BfgsOptions
from optdsl.backends.smooth.gradient_descent import GradientDescent, GradientDescentOptions
from optdsl.forms.answer import Answer, Stop, StopKind
from optdsl.forms.smooth import SmoothUnconstrained
from optdsl.run.loop import Progress
from optdsl.run.run import Event, Run
from tests.smooth.objectives import hard_cubic, quadratic, rosenbrock

FORM = rosenbrock(6)


@dataclass(frozen=True)
class Place:
    x: NDArray[np.float64]
    f: float


class Wanderer(IterativeBackend):
    """A random walk, which is not monotone: its best point is not its last."""

    name = "wanderer"
    forms = (SmoothUnconstrained,)
    State: ClassVar[type[Place]] = Place

    def init(self, form: SmoothUnconstrained, options: Any, run: Run) -> Place:
        return Place(form.x0, form.f(form.x0))

    def step(self, form: SmoothUnconstrained, options: Any, state: Place, run: Run) -> Place:
        x = state.x + run.rng("walk").normal(size=len(state.x))
        run.evaluated()
        return Place(x, form.f(x))

    def done(self, form: SmoothUnconstrained, options: Any, state: Place) -> Stop | None:
        return None

    def progress(self, form: SmoothUnconstrained, options: Any, state: Place) -> Progress:
        return Progress(state.f)

    def answer(self, form: SmoothUnconstrained, options: Any, state: Place, best: Place, stop: Stop) -> Answer:
        return Answer(stop, point=best.x, objective=best.f, info={"last": state.x.tolist()})


def interrupted_at(iteration: int, **fields: Any) -> Run:
    run = Run(**fields)
    run.on_event = lambda event: run.interrupt() if event.iteration >= iteration else None
    return run


CASES = [
    (Bfgs(), BfgsOptions()),
    (GradientDescent(), GradientDescentOptions(max_iter=200)),
    (Wanderer(), IterativeOptions(max_iter=60)),
]


@pytest.mark.parametrize(("backend", "options"), CASES, ids=["bfgs", "gradient descent", "wanderer"])
def test_resumed_run_equals_the_uninterrupted_one(backend: Any, options: Any, tmp_path: Path) -> None:
    whole_run = Run(seed=3)
    whole = backend.solve(FORM, options, whole_run)
    path = tmp_path / "run.npz"
    for at in (7, 20):
        answer = backend.solve(FORM, options, interrupted_at(at, seed=3, checkpoint=path))
        assert answer.stop.kind is StopKind.INTERRUPTED and answer.iterations == at
    run = Run(seed=3, checkpoint=path)
    resumed = backend.solve(FORM, options, run)
    np.testing.assert_allclose(resumed.point, whole.point, rtol=1e-9, atol=1e-12)
    assert resumed.objective == pytest.approx(whole.objective, rel=1e-9, abs=1e-15)
    assert (resumed.iterations, resumed.counts, run.evaluations) == (
        whole.iterations,
        whole.counts,
        whole_run.evaluations,
    )
    if isinstance(backend, Wanderer):
        assert resumed.info == whole.info and resumed.point.tolist() == whole.point.tolist()
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_the_best_point_survives_a_checkpoint(tmp_path: Path) -> None:
    """The walk starts at the optimum; after a resume that is still its best point."""
    form = quadratic(np.eye(3), np.zeros(3))
    for _ in range(3):
        run = interrupted_at(0, checkpoint=tmp_path / "w.npz")
        run.on_event = None
        run.max_evaluations = 5
        answer = Wanderer().solve(form, IterativeOptions(), run)
    assert answer.objective == 0.0 and np.any(answer.info["last"])


def test_a_checkpoint_of_another_run_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    Bfgs().solve(FORM, BfgsOptions(), interrupted_at(5, checkpoint=path))
    for form, options, seed in (
        (rosenbrock(6), BfgsOptions(b0="identity"), 0),
        (replace(FORM, x0=FORM.x0 + 1), BfgsOptions(), 0),
        (hard_cubic(6), BfgsOptions(), 0),
        (FORM, BfgsOptions(), 1),
    ):
        content = path.read_bytes()
        events: list[Event] = []
        Bfgs().solve(form, options, Run(seed=seed, checkpoint=path, on_event=events.append))
        assert events[0].iteration == 0
        path.write_bytes(content)
    events = []
    Bfgs().solve(FORM, BfgsOptions(max_iter=900), Run(checkpoint=path, on_event=events.append))
    assert events[0].iteration == 5  # a larger limit goes on


def test_limits() -> None:
    answer = Bfgs().solve(FORM, BfgsOptions(max_iter=0), Run())
    assert answer.stop.kind is StopKind.ITERATION_LIMIT and answer.iterations == 0
    assert answer.point.tolist() == FORM.x0.tolist() and answer.objective == FORM.f(FORM.x0)
    answer = Bfgs().solve(FORM, BfgsOptions(max_iter=4), Run())
    assert answer.stop.kind is StopKind.ITERATION_LIMIT and answer.iterations == 4
    answer = Bfgs().solve(FORM, BfgsOptions(), Run(time_limit=0.0))
    assert answer.stop.kind is StopKind.TIME_LIMIT and answer.iterations == 0 and answer.point is not None
    answer = Bfgs().solve(FORM, BfgsOptions(), Run(max_evaluations=10))
    assert answer.stop.kind is StopKind.EVALUATION_LIMIT
    answer = Bfgs().solve(FORM, BfgsOptions(), interrupted_at(3))
    assert answer.stop.kind is StopKind.INTERRUPTED and answer.iterations == 3
    assert answer.objective is not None and answer.objective < FORM.f(FORM.x0)


def test_the_best_point_is_kept() -> None:
    events: list[Event] = []
    answer = Wanderer().solve(FORM, IterativeOptions(max_iter=40), Run(on_event=events.append))
    best = min(e.objective for e in events if e.objective is not None)
    assert answer.objective == best == FORM.f(answer.point) and answer.info["last"] != answer.point.tolist()
    assert [e.iteration for e in events] == list(range(41))


def test_a_seed_gives_the_same_run() -> None:
    one, same, other = (Wanderer().solve(FORM, IterativeOptions(max_iter=9), Run(seed=seed)).info for seed in (1, 1, 2))
    assert one == same != other


def test_the_trace_is_thinned_evenly() -> None:
    run = Run(trace_length=16)
    Wanderer().solve(FORM, IterativeOptions(max_iter=200), run)
    kept = [e.iteration for e in run.trace]
    assert kept[0] == 0 and len(kept) <= 17 and len(set(np.diff(kept))) == 1
