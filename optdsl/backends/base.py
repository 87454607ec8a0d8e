"""What a backend declares, in one place, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from optdsl.forms.answer import Answer
from optdsl.forms.base import Form
from optdsl.run.loop import iterate
from optdsl.run.run import Run


class Trait(Enum):
    """What a backend can do or is; the words are shown by `optdsl backends`."""

    EXACT = "exact: ends at a provable optimum up to its tolerance"
    LOCAL = "local: ends at a stationary point"
    STOCHASTIC = "draws random numbers"
    WARM_START = "uses a start point"
    GPU = "runs on a GPU where there is one"
    BASELINE = "baseline: kept for comparison, never a first choice where another applies"


class Options(BaseModel):
    """Base of every backend's options. `tol` and `max_iter` mean the same everywhere they appear."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class IterativeOptions(Options):
    tol: float = Field(1e-8, gt=0, description="tolerance of the method's own stopping test")
    max_iter: int = Field(1000, ge=0, description="largest number of iterations")


@dataclass(frozen=True)
class Assumption:
    """Something that a backend needs beyond its form. `check(form)` says whether it holds; `why_not` is the sentence
    printed when it does not."""

    name: str
    check: Callable[[Any], bool]
    why_not: str


@dataclass(frozen=True)
class Paper:
    title: str
    reference: str


class Backend:
    """One algorithm. Subclasses are found by listing the folder; nothing registers them.

    `preference` orders backends of one form (smaller first) where no rule says otherwise; `cost(form)` may refine it
    with a rough number of seconds and the reason in words.
    """

    name: ClassVar[str]
    forms: ClassVar[tuple[type[Form], ...]]
    Options: ClassVar[type[Options]] = Options
    summary: ClassVar[str] = ""
    assumes: ClassVar[Sequence[Assumption]] = ()
    guarantees: ClassVar[str] = ""
    traits: ClassVar[frozenset[Trait]] = frozenset()
    paper: ClassVar[Paper | None] = None
    package: ClassVar[str | None] = None
    preference: ClassVar[int] = 50

    def rank(self, form: Any) -> tuple[int, str]:
        """(smaller is better, the rule in words)."""
        return self.preference, ""

    def solve(self, form: Any, options: Any, run: Run) -> Answer:
        raise NotImplementedError


class IterativeBackend(Backend):
    """A backend that is a method for `run.loop.iterate`."""

    State: ClassVar[type[Any]]
    kind: ClassVar[Literal["iterative"]] = "iterative"

    def solve(self, form: Any, options: Any, run: Run) -> Answer:
        key = ""
        if run.checkpoint is not None:
            # more iterations may be asked for when a run is continued
            chosen = options.model_dump_json(exclude={"max_iter"})
            key = f"{self.name}:{chosen}:{run.seed}:{form.identity()}"
        return iterate(self, form, options, run, key)  # type: ignore[arg-type]
