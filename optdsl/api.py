"""The public interface: load a problem, look at it, solve it, verify what was found."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optdsl.data.access import Access
from optdsl.elaborate.statements import Elaborator, Inputs
from optdsl.ir import problem as ir
from optdsl.run.settings import DataFile
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import Collector, Diagnostic, OptError
from optdsl.syntax.parser import parse as parse_source
from optdsl.syntax.parser import read as read_source
from optdsl.syntax.source import Source

if TYPE_CHECKING:
    from optdsl.report.model import Report
    from optdsl.run.run import Event, Run
    from optdsl.solve import Outcome, Request

__all__ = ["DataFile", "Explanation", "Problem", "load", "parse"]


def load(path: str | Path, *, allow_python: bool = False, allow_paths: Sequence[str | Path] = ()) -> Problem:
    """Reads a problem file. Nothing of it is run, and nothing outside its folder is read unless allowed.

    Raises `OptError` with every syntax error.
    """
    path = Path(path)
    started = time.perf_counter()
    source = read_source(path)
    access = Access(path.absolute().parent, tuple(Path(p) for p in allow_paths), allow_python)
    return Problem(source, access, path, started)


def parse(
    text: str, *, folder: str | Path = ".", allow_python: bool = False, allow_paths: Sequence[str | Path] = ()
) -> Problem:
    """A problem from its text; paths in it are relative to `folder`."""
    started = time.perf_counter()
    access = Access(Path(folder).absolute(), tuple(Path(p) for p in allow_paths), allow_python)
    return Problem(Source("<string>", text), access, None, started)


@dataclass(frozen=True)
class BackendNote:
    """One backend in an explanation: `status` is chosen, accepted or refused; accepted ones are in order of rank."""

    name: str
    status: str
    form: str
    reason: str


@dataclass(frozen=True)
class FormNote:
    name: str
    matched: bool
    reasons: Sequence[str]
    sizes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Explanation:
    """What is known of a problem and why a backend is taken."""

    title: str
    facts: Sequence[tuple[str, Any, Sequence[str]]]
    forms: Sequence[FormNote]
    backends: Sequence[BackendNote]

    def __str__(self) -> str:
        lines = [self.title, "", "facts"]
        for name, value, reasons in self.facts:
            lines.append(f"  {name}: {value}")
            lines += [f"      {r}" for r in reasons]
        lines += ["", "forms"]
        for f in self.forms:
            shown = ", ".join(f"{k} {v}" for k, v in f.sizes.items())
            lines.append(f"  {'yes' if f.matched else 'no '} {f.name}{f' ({shown})' if shown else ''}")
            lines += [f"      {r}" for r in f.reasons]
        lines += ["", "backends"]
        lines += [f"  {b.status:8} {b.name} ({b.form}){f': {b.reason}' if b.reason else ''}" for b in self.backends]
        return "\n".join(lines)


class Problem:
    """A problem file, parsed. Instances are made when data and parameters are known."""

    def __init__(self, source: Source, access: Access, path: Path | None, started: float) -> None:
        self.source, self.access, self.path = source, access, path
        self.tree = parse_source(source)
        self.parse_seconds = time.perf_counter() - started

    # --- instances ------------------------------------------------------------------------------

    def instance(
        self,
        data: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        items: Mapping[str, Any] | None = None,
    ) -> ir.Problem:
        """The typed problem with its data bound. Raises `OptError` with every independent mistake."""
        collector = Collector()
        inputs = Inputs(_read_files(data or {}), params or {}, items or {})
        _check_names(self.tree, inputs)
        return Elaborator(self.access, inputs, collector).problem(self.tree)

    @property
    def foreach(self) -> ast.Foreach | None:
        return next((s for s in self.tree.statements if isinstance(s, ast.Foreach)), None)

    def items(self) -> list[tuple[str, Any]]:
        """The items of a `foreach`, each with its name: whole numbers of a range, members of a list, tensors of a file."""
        from optdsl.elaborate.items import items

        statement = self.foreach
        return [] if statement is None else items(statement, self.instance(), self.access)

    # --- looking --------------------------------------------------------------------------------

    def check(self, data: Mapping[str, Any] | None = None, params: Mapping[str, Any] | None = None) -> list[Diagnostic]:
        """Warnings; raises `OptError` where there are errors."""
        from optdsl.analysis.lint import warnings

        return warnings(self.instance(data, params))

    def explain(self, data: Mapping[str, Any] | None = None, params: Mapping[str, Any] | None = None) -> Explanation:
        """Facts, forms and backends with reasons; raises `OptError` for mistakes in the file."""
        from optdsl.analysis.facts import problem_facts
        from optdsl.dispatch.choose import choose
        from optdsl.forms.base import Mismatch
        from optdsl.solve import require_solvable

        instance = self.instance(data, params)
        require_solvable(instance)
        wanted = instance.stages[0].backend if instance.stages else None
        d = choose(instance, wanted, everything=True)
        forms = [FormNote(m.title, True, list(m.notes), m.sizes) for m in d.matched]
        forms += [FormNote(m.form, False, [str(r) for r in m.reasons]) for m in d.mismatched if isinstance(m, Mismatch)]
        notes = [
            BackendNote(c.backend.name, "chosen" if c is d.chosen else "accepted", type(c.form).__name__, c.rule)
            for c in d.accepted
        ]
        notes += [BackendNote(name, "refused", "", why) for name, why in d.refused]
        return Explanation(instance.title, problem_facts(instance), forms, notes)

    def latex(self, data: Mapping[str, Any] | None = None, params: Mapping[str, Any] | None = None) -> str:
        """The problem as mathematics: a LaTeX `aligned` environment, families with their quantifiers."""
        from optdsl.lower.latex import problem_latex

        return problem_latex(self.instance(data, params))

    # --- solving --------------------------------------------------------------------------------

    def solve(
        self,
        with_: str | None = None,
        *,
        options: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
        data: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        seed: int = 0,
        time_limit: float | None = None,
        tol: float | None = None,
        threads: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
        on_event: Callable[[Event], None] | None = None,
        on_run: Callable[[Run], None] | None = None,
        checkpoint: str | Path | None = None,
        **param_values: Any,
    ) -> Report:
        """Solves and certifies; keyword arguments that are no setting are values of params, and `data` takes arrays or
        `DataFile`s.

        Raises `OptError` for what the caller can mend; whatever the backend did is in the report.
        """
        from optdsl.solve import Request, solve

        params = {**(params or {}), **param_values}
        layers = [options] if isinstance(options, Mapping) else list(options)
        request = Request(
            with_,
            layers,
            seed,
            time_limit,
            tol,
            threads,
            device,
            verbose,
            on_event,
            on_run,
            None if checkpoint is None else Path(checkpoint),
        )
        if self.foreach is None:
            outcome = solve(self.instance(data, params), request)
            return self._report(outcome, request, data or {}, params)
        parts: list[Report] = []
        (name,) = self.foreach.clause.names
        for label, value in self.items():
            outcome = solve(self.instance(data, params, {name.id: value}), request)
            parts.append(self._report(outcome, request, data or {}, params, label))
            if outcome.run.interrupted:
                break
        from optdsl.report.foreach import gather

        return gather(parts, self.tree.title or self.source.name)

    def _report(
        self,
        outcome: Outcome,
        request: Request,
        data: Mapping[str, Any],
        params: Mapping[str, Any],
        item: str | None = None,
    ) -> Report:
        from optdsl.analysis.facts import problem_facts
        from optdsl.report import model
        from optdsl.report.assemble import assemble
        from optdsl.report.values import plain_data

        merged = {k: v for layer in request.options for k, v in layer.items()}
        files = {k: v for k, v in data.items() if isinstance(v, DataFile)}
        asked = model.Request(
            with_=request.backend,
            options=plain_data(merged),
            set={k: plain_data(v) for k, v in params.items()},
            data={k: model.DataFileRecord(file=v.path.absolute().as_posix(), key=v.key) for k, v in files.items()},
            in_memory=sorted(data.keys() - files.keys()),
            time_limit=request.time_limit,
            tol=request.tol,
            threads=request.threads,
            device=request.device,
            allow_python=self.access.allow_python,
            allow_paths=[str(p) for p in self.access.allow_paths],
        )
        return assemble(
            outcome,
            self.origin,
            parse_seconds=self.parse_seconds,
            facts=problem_facts(outcome.problem),
            request=asked,
            item=item,
        )

    @property
    def origin(self) -> Any:
        from optdsl.report.assemble import Origin

        if self.path is not None:
            return Origin(hashlib.sha256(self.path.read_bytes()).hexdigest(), self.path)
        return Origin(hashlib.sha256(self.source.text.encode()).hexdigest(), None, self.source.text)

    # --- verifying ------------------------------------------------------------------------------

    def instance_of(self, report: Report, data: Mapping[str, Any]) -> ir.Problem:
        """The instance that a report is about, with the data and params that its request names; `data` gives again what
        the run was given in memory."""
        folder = report.folder or Path()
        given = {name: DataFile(folder / kept.file, kept.key) for name, kept in report.request.data.items()} | dict(
            data
        )
        items: dict[str, Any] = {}
        if report.problem.item is not None and self.foreach is not None:
            items = {self.foreach.clause.names[0].id: dict(self.items())[report.problem.item]}
        return self.instance(given, report.request.set, items)


def _read_files(data: Mapping[str, Any]) -> dict[str, Any]:
    """Files read, arrays as they are."""
    from optdsl.data.files import read_given

    return {name: read_given(v.path, v.key) if isinstance(v, DataFile) else v for name, v in data.items()}


def _check_names(tree: ast.File, inputs: Inputs) -> None:
    """A value given for a name that the file does not have is a mistake, not a spare."""
    from optdsl.syntax.diagnostics.run import nothing_to_set

    has_import = any(isinstance(s, ast.Import) for s in tree.statements)
    known = [s.name.id for s in tree.statements if isinstance(s, ast.DataDecl | ast.ParamDecl | ast.SetDecl)]
    wrong = [n for n in [*inputs.data, *inputs.params] if n not in known]
    if wrong and not has_import:
        raise OptError([nothing_to_set(n, known) for n in wrong])
