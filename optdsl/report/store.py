"""Reports on disk: `out.json`, and beside it one npz file, named by its content, for what is large.

The npz file is written first under a name that no older report refers to, then the JSON replaces the old one in one
step, then the npz of the report that was replaced is removed: whatever interrupts this, one whole report is there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from optdsl.report.model import SCHEMA, Report
from optdsl.report.values import Values, pack
from optdsl.run.checkpoint import write_atomically
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.run import not_a_report, unreadable_file, unwritable_file


def save(report: Report, path: Path) -> None:
    path = path.absolute()
    old = _npz_of(path)
    stored, arrays = _spilled(report, path.parent)
    try:
        name = None
        if arrays:
            content, digest = pack(arrays)
            name = f"{path.stem}.{digest[:8]}.npz"
            for _, group, key in stored.arrays():
                for reference in group[key].references():
                    reference.name, reference.sha256 = name, digest
            write_atomically(path.parent / name, content)
        stored.seal = seal(to_json(stored))
        write_atomically(path, to_json(stored).encode())
    except OSError as error:
        raise OptError(unwritable_file(str(path), error.strerror or str(error))) from None
    _adopt(report, stored, path.parent)
    if old is not None and old != name and old.startswith(f"{path.stem}."):
        (path.parent / old).unlink(missing_ok=True)


def _adopt(report: Report, stored: Report, folder: Path) -> None:
    """Makes the report in memory say what its file says."""
    _move(report, report.folder, folder)
    for (_, group, key), (_, kept, _) in zip(report.arrays(), stored.arrays(), strict=True):
        group[key] = kept[key]
    report._folder, report.seal = folder, stored.seal
    for part in report.parts:
        part._folder = folder


def seal(text: str) -> str:
    """The SHA-256 of a report's content, whatever its spacing and the order of its keys."""
    content = json.loads(text)
    content.pop("seal", None)
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def to_json(report: Report) -> str:
    """The report as the text of its file."""
    return report.model_dump_json(by_alias=True, indent=1) + "\n"


def load(path: Path) -> Report:
    path = path.absolute()
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise OptError(not_a_report(str(path), "it is not UTF-8 text")) from None
    except OSError as error:
        raise OptError(unreadable_file(str(path), error.strerror or str(error))) from None
    report = from_json(text, str(path))
    report._folder = path.parent
    for part in report.parts:
        part._folder = path.parent
    return report


def from_json(text: str, name: str) -> Report:
    """The report in a text. Raises OptError (E609) that names the first key at fault."""
    try:
        return Report.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        if where == "schema":
            why, hint = (
                f"its schema is {first['input']!r}, this optdsl reads {SCHEMA!r}",
                "install the optdsl that wrote it",
            )
            raise OptError(not_a_report(name, why, hint)) from None
        raise OptError(not_a_report(name, f"{where + ': ' if where else ''}{first['msg']}")) from None


def require_writable(path: Path, inputs: Sequence[Path] = ()) -> None:
    """Raises OptError (E605) when a file could not be written there, or is one of the run's inputs."""
    if path.is_dir():
        raise OptError(unwritable_file(str(path), "it is a folder"))
    if any(path.absolute() == p.absolute() for p in inputs):
        raise OptError(unwritable_file(str(path), "the run reads that file"))
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise OptError(unwritable_file(str(path), f"{folder} is no folder"))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OptError(unwritable_file(str(path), f"files cannot be made in {folder}"))


def _npz_of(path: Path) -> str | None:
    """The npz file that the report now at this path refers to, if there is one."""
    if not path.is_file():
        return None
    try:
        old = Report.model_validate_json(path.read_bytes())
    except ValidationError:
        return None
    return next((r.name for _, group, key in old.arrays() for r in group[key].references()), None)


def _spilled(report: Report, folder: Path) -> tuple[Report, dict[str, Any]]:
    """A copy with paths relative to the new folder and references in place of large arrays; and those arrays."""
    copy = report.model_copy(deep=True)
    _move(copy, report.folder, folder)
    arrays: dict[str, Any] = {}
    for where, group, key in copy.arrays():
        kept: Values = group[key]
        array = kept._array
        group[key], large = kept.spill(where, "", report.folder)
        group[key]._array = array
        arrays |= large
    return copy, arrays


def _move(report: Report, old: Path | None, new: Path) -> None:
    """Rewrites the files that the report names from one folder's point of view to another's."""

    def moved(file: str | None) -> str | None:
        if file is None:
            return None
        at = Path(file) if old is None else old / file
        try:
            return Path(os.path.relpath(at, new)).as_posix()
        except ValueError:  # another drive
            return at.absolute().as_posix()

    report.problem.file = moved(report.problem.file)
    for data in report.data:
        data.file = moved(data.file)
    for given in report.request.data.values():
        given.file = str(moved(given.file))
    report.request.allow_paths = [str(moved(p)) for p in report.request.allow_paths]
    for part in report.parts:
        _move(part, old, new)
