"""The report of one solve as a record, `optdsl.report/1`: what was asked, what was found, and what is proven of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, JsonValue, PrivateAttr

from optdsl.report.values import Label, Number, Record, Values
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.run import not_in_report

SCHEMA = "optdsl.report/1"

VerdictWord = Literal["optimal", "stationary", "feasible", "infeasible", "unbounded", "unproven", "refuted"]
StopWord = Literal[
    "converged", "iteration_limit", "evaluation_limit", "time_limit", "interrupted", "stalled", "failed"
]  # fmt: skip
ClaimWord = Literal["optimal", "stationary", "feasible", "infeasible", "unbounded", "none"]
GoalWord = Literal["gap", "relative_gap", "stationary", "feasible"]


class ProblemRecord(Record):
    """`file` is relative to the report's folder once the report is saved; `text` holds the problem where there is no
    file; `item` names the item of a `foreach`."""

    title: str
    file: str | None
    sha256: str
    sizes: dict[str, int | float] = Field(default_factory=dict)
    sense: Literal["minimize", "maximize"] | None = None
    text: str | None = None
    item: str | None = None


class DataRecord(Record):
    """`source` says in words where the value came from; `file` is relative to the report's folder once saved."""

    name: str
    source: str
    sha256: str
    shape: list[int]
    file: str | None = None
    param: bool = False


class DataFileRecord(Record):
    """A file given for a `data` at run time, and the key in it."""

    file: str
    key: str | None = None


class Request(Record):
    """What was asked beside the problem file: enough to repeat the run. `in_memory` names values given as arrays."""

    with_: str | None = Field(None, alias="with")
    options: dict[str, JsonValue] = Field(default_factory=dict)
    set: dict[str, JsonValue] = Field(default_factory=dict)
    data: dict[str, DataFileRecord] = Field(default_factory=dict)
    in_memory: list[str] = Field(default_factory=list)
    time_limit: float | None = None
    tol: float | None = None
    threads: int | None = None
    device: str = "cpu"
    allow_python: bool = False
    allow_paths: list[str] = Field(default_factory=list)

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Fact(Record):
    """Something found of the problem, with the chain of reasons."""

    name: str
    value: JsonValue
    reasons: list[str] = Field(default_factory=list)


class Refusal(Record):
    backend: str
    reason: str


class Dispatch(Record):
    """`chosen` with the form it was given and the rule; `refused` each other backend with its reason."""

    chosen: str
    form: str
    reason: str = ""
    refused: list[Refusal] = Field(default_factory=list)


class PaperRecord(Record):
    title: str
    reference: str


class BackendRecord(Record):
    name: str
    version: str | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)
    paper: PaperRecord | None = None


class Goal(Record):
    measure: GoalWord
    value: float | None = None


class StopRecord(Record):
    """Why the run ended; says nothing of the point."""

    kind: StopWord
    message: str = ""


class VerdictRecord(Record):
    """`value` is the gap (optimal), the residual (stationary) or the violation (feasible)."""

    kind: VerdictWord
    value: Number | None = None
    tolerance: Number | None = None
    reason: str = ""


class TolerancesRecord(Record):
    feasibility: float
    gap: float
    stationarity: float
    integrality: float


class Family(Record):
    """All rows of one constraint, counted; `constraints` shows at most a number of them.

    `worst` is the largest violation; `tight` counts rows with a slack within the tolerance of feasibility.
    """

    name: str
    relation: str
    rows: int
    shown: int
    violated: int
    tight: int
    worst: Number


class ConstraintRow(Record):
    """One row. `violation` ≥ 0; `slack` is the distance to the bound, negative where violated (null for equations);
    `dual` is the change of the optimum per unit of the row's right side."""

    name: str
    label: str
    violation: Number
    slack: Number | None = None
    dual: Number | None = None


class CheckRecord(Record):
    """One recomputed number; it holds when value ≤ tolerance."""

    name: str
    value: Number
    tolerance: Number
    holds: bool
    meaning: str


class TraceEvent(Record):
    iteration: int
    seconds: float
    objective: Number | None = None
    residuals: dict[str, Number] = Field(default_factory=dict)


class Seconds(Record):
    parse: float = 0.0
    compile: float = 0.0
    solve: float = 0.0
    certify: float = 0.0

    @property
    def total(self) -> float:
        return self.parse + self.compile + self.solve + self.certify


class AnswerRecord(Record):
    """What the backend handed over, in the space of the form: with it, `verify` repeats the proof without it."""

    form: str
    claim: ClaimWord
    point: Values | dict[str, Values] | None = None
    objective: Number | None = None
    bound: Number | None = None
    dual: dict[str, Values] = Field(default_factory=dict)
    ray: dict[str, Values] = Field(default_factory=dict)
    info: dict[str, JsonValue] = Field(default_factory=dict)


class Report(Record):
    """One solve, or one `foreach` with a report for each item in `parts`.

    `seal` is the SHA-256 of everything else in the file: it shows a slip of the hand, the proof shows a forgery.
    """

    schema_: Literal["optdsl.report/1"] = Field("optdsl.report/1", alias="schema")
    problem: ProblemRecord
    request: Request = Field(default_factory=Request)
    data: list[DataRecord] = Field(default_factory=list)
    facts: list[Fact] = Field(default_factory=list)
    dispatch: Dispatch
    backend: BackendRecord
    goal: Goal | None = None
    tolerances: TolerancesRecord
    stop: StopRecord
    verdict: VerdictRecord
    objective: Number | None = None
    bound: Number | None = None
    solution: dict[str, Values] = Field(default_factory=dict)
    duals: dict[str, Values] = Field(default_factory=dict)
    families: list[Family] = Field(default_factory=list)
    constraints: list[ConstraintRow] = Field(default_factory=list)
    checks: list[CheckRecord] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    iterations: int | None = None
    counts: dict[str, int] = Field(default_factory=dict)
    trace: list[TraceEvent] = Field(default_factory=list)
    seconds: Seconds = Field(default_factory=Seconds)
    seed: int = 0
    environment: dict[str, str] = Field(default_factory=dict)
    answer: AnswerRecord | None = None
    parts: list[Report] = Field(default_factory=list)
    seal: str = ""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, title="optdsl report")

    _folder: Path | None = PrivateAttr(None)

    @property
    def folder(self) -> Path | None:
        """Where the report was loaded from or saved to."""
        return self._folder

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The value found for a variable."""
        if name not in self.solution:
            raise OptError(not_in_report(name, "variable", self.solution))
        return self.solution[name].array(self._folder)

    def dual(self, name: str) -> NDArray[np.float64]:
        """The duals of a named constraint, one a row: the change of the optimum per unit of the row's right side."""
        if name not in self.duals:
            raise OptError(not_in_report(name, "dual of a constraint", self.duals))
        return self.duals[name].array(self._folder)

    def labels(self, name: str) -> list[list[Label] | None]:
        """The labels along each axis of a variable."""
        kept = self.solution[name]
        return [kept.axis_labels(axis, self._folder) for axis in range(len(kept.shape))]

    def arrays(self, prefix: str = "") -> Iterator[tuple[str, dict[Any, Any], Any]]:
        """Every place that holds `Values`: a path for its key, the mapping it stands in, its key there."""
        groups: list[tuple[str, dict[Any, Any]]] = [("solution", self.solution), ("duals", self.duals)]
        if self.answer is not None:
            groups += [("answer/dual", self.answer.dual), ("answer/ray", self.answer.ray)]
            if isinstance(self.answer.point, dict):
                groups.append(("answer/point", self.answer.point))
            elif self.answer.point is not None:
                groups.append(("answer", self.answer.__dict__))
        for where, group in groups:
            for key, kept in list(group.items()):
                if isinstance(kept, Values):
                    yield f"{prefix}{where}/{key}", group, key
        for k, part in enumerate(self.parts):
            yield from part.arrays(f"{prefix}parts/{k}/")

    def save(self, path: str | Path) -> None:
        """Writes the report, its large arrays first; a reader sees the old report or the new one, never a mixture."""
        from optdsl.report.store import save

        save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """Reads a report. Raises OptError (E604, E609) when it cannot be read or is none."""
        from optdsl.report.store import load

        return load(Path(path))

    def _repr_html_(self) -> str:
        from optdsl.report.page import fragment

        return fragment(self)

    def __str__(self) -> str:
        from optdsl.report.terminal import as_text

        return as_text(self)


Report.model_rebuild()


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a report file."""
    schema = Report.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA} | schema
