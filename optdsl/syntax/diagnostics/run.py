"""E6: running: options on the command line, run files, reports and their verification."""

from __future__ import annotations

from collections.abc import Iterable

from optdsl.syntax.diagnostics.names import nearest
from optdsl.syntax.diagnostics.record import Diagnostic, mistake
from optdsl.syntax.source import Cell, Span


def _did_you_mean(word: str, known: Iterable[str]) -> str | None:
    close = nearest(word, known)
    return f"did you mean `{close}`?" if close else None


@mistake("E601", "command line")
def bad_command_line(message: str, help: str | None = None) -> Diagnostic:
    """The command line has an option or argument that the command does not take, or lacks one that it needs.
    `optdsl COMMAND --help` lists them."""
    return Diagnostic("E601", message, help=help)


@mistake("E602", "assignment on the command line")
def bad_assignment(option: str, text: str, form: str) -> Diagnostic:
    """`--set`, `--option` and `--data` each take one assignment, such as `--set mu=0.1`, and may be repeated."""
    return Diagnostic("E602", f"`{option} {text}` is no assignment", help=f"write `{option} {form}`")


@mistake("E603", "method on the command line")
def bad_method(text: str, why: str) -> Diagnostic:
    """`--with` names a backend, with options in parentheses where there are any: `--with "aradmm(tol=1e-6)"`."""
    return Diagnostic(
        "E603", f"`{text}` names no method: {why}", help='write `--with NAME` or `--with "NAME(key=value)"`'
    )


@mistake("E604", "file cannot be read")
def unreadable_file(path: str, why: str) -> Diagnostic:
    """A file that was named does not exist, is a folder, may not be read, or is not UTF-8 text."""
    return Diagnostic("E604", f"cannot read {path}: {why}")


@mistake("E605", "file cannot be written")
def unwritable_file(path: str, why: str) -> Diagnostic:
    """A report, page or checkpoint cannot be written where it was asked for. This is tested before the run starts,
    so that no result is lost."""
    return Diagnostic("E605", f"cannot write {path}: {why}")


@mistake("E606", "run file is not YAML")
def bad_yaml(path: str, line: int | None, why: str) -> Diagnostic:
    """A run file is one YAML mapping of settings to values."""
    return Diagnostic("E606", f"{path} is not a run file: {why}", Cell(path, line) if line is not None else None)


@mistake("E607", "unknown setting")
def unknown_setting(path: str, key: str, line: int | None, known: Iterable[str]) -> Diagnostic:
    """A run file has a key that is no setting."""
    known = list(known)
    close = _did_you_mean(key, known)
    return Diagnostic(
        "E607",
        f"`{key}` is no setting of a run file",
        Cell(path, line),
        help=close or f"the settings are {', '.join(known)}",
    )


@mistake("E608", "setting out of range")
def bad_setting(place: str, key: str, shown: str, rule: str, line: int | None = None) -> Diagnostic:
    """A setting of the run has a value of the wrong type or out of its range."""
    cell = Cell(place, line) if line is not None else None
    return Diagnostic("E608", f"`{key}` is {shown}: {rule}", cell)


@mistake("E609", "not a report")
def not_a_report(path: str, why: str, help: str | None = None) -> Diagnostic:
    """The file is no report of optdsl, or one of a version that this optdsl does not read."""
    return Diagnostic("E609", f"{path} is not a report: {why}", help=help)


@mistake("E610", "file was altered")
def altered_file(path: str, why: str) -> Diagnostic:
    """A file that belongs to a report is not what it was when the report was written."""
    return Diagnostic("E610", f"{path} was altered: {why}")


@mistake("E611", "unknown code")
def unknown_code(code: str, known: Iterable[str]) -> Diagnostic:
    """`optdsl explain` takes a problem file or the code of a diagnostic."""
    group = sorted(k for k in known if k[:2] == code[:2])
    return Diagnostic("E611", f"there is no diagnostic {code}", help=f"there are {', '.join(group)}" if group else None)


@mistake("E612", "name not in the report")
def not_in_report(name: str, what: str, known: Iterable[str]) -> Diagnostic:
    """A variable or a constraint is asked of a report that has none of that name."""
    known = list(known)
    return Diagnostic(
        "E612",
        f"the report has no {what} `{name}`",
        help=_did_you_mean(name, known) or f"it has {', '.join(known) or 'none'}",
    )


@mistake("E613", "report needs a value from outside")
def needs_value(names: Iterable[str], span: Span | None = None) -> Diagnostic:
    """A run was given arrays in memory. They are not in the report, so its verification needs them again."""
    shown = ", ".join(names)
    return Diagnostic(
        "E613", f"the run was given {shown} in memory, and the report only has its digest", span,
        help="verify it from Python: `optdsl.verify(path, data={…})`",
    )  # fmt: skip


@mistake("E614", "form is gone")
def form_gone(form: str) -> Diagnostic:
    """A report's answer is one of a form that the problem, as it is now, does not have."""
    return Diagnostic("E614", f"the problem no longer has the form {form}, of which the report holds an answer")


@mistake("E615", "nothing to set")
def nothing_to_set(name: str, known: Iterable[str]) -> Diagnostic:
    """A value is given for a name that the problem file does not declare as data or param."""
    known = list(known)
    hint = _did_you_mean(name, known) or (f"it declares {', '.join(known)}" if known else "it declares none")
    return Diagnostic("E615", f"the problem has no data or param `{name}`", help=hint)
