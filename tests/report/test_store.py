"""Reports on disk: large arrays beside them, whole at every moment, and movable together with what they name."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optdsl.report.model import Report
from optdsl.report.store import require_writable
from optdsl.report.values import INLINE_LIMIT, Values
from optdsl.syntax.diagnostics import OptError
from tests.report import reports

LARGE = INLINE_LIMIT + 7


def test_small_reports_are_one_file(tmp_path: Path) -> None:
    reports.transport().save(tmp_path / "out.json")
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]
    np.testing.assert_array_equal(Report.load(tmp_path / "out.json")["ship"], reports.SHIP)


def test_large_arrays_lie_beside(tmp_path: Path) -> None:
    report = reports.vector(LARGE)
    report.save(tmp_path / "out.json")
    (npz,) = tmp_path.glob("out.*.npz")
    assert len((tmp_path / "out.json").read_text()) < 20_000
    back = Report.load(tmp_path / "out.json")
    kept = back.solution["x"]
    assert kept.values is None and kept.file is not None and kept.file.name == npz.name
    np.testing.assert_array_equal(back["x"], report["x"])
    with np.load(npz, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["solution/x"], report["x"])


def test_labels_of_a_long_axis_lie_beside(tmp_path: Path) -> None:
    labels = [(f"node {k}", k) for k in range(LARGE)]
    reports.transport(solution={"flow": Values.of(np.ones(LARGE), [labels])}).save(tmp_path / "out.json")
    assert (tmp_path / "out.json").stat().st_size < 20_000
    back = Report.load(tmp_path / "out.json")
    assert back.labels("flow")[0][-1] == [f"node {LARGE - 1}", LARGE - 1]  # type: ignore[index]


def test_saving_what_was_loaded_elsewhere_takes_the_arrays_along(tmp_path: Path) -> None:
    report = reports.vector(LARGE)
    report.save(tmp_path / "a" / "out.json")
    loaded = Report.load(tmp_path / "a" / "out.json")
    loaded.save(tmp_path / "b" / "copy.json")
    shutil.rmtree(tmp_path / "a")
    np.testing.assert_array_equal(loaded["x"], report["x"])
    np.testing.assert_array_equal(Report.load(tmp_path / "b" / "copy.json")["x"], report["x"])


def test_an_altered_array_file_is_noticed(tmp_path: Path) -> None:
    reports.vector(LARGE).save(tmp_path / "out.json")
    (npz,) = tmp_path.glob("*.npz")
    content = bytearray(npz.read_bytes())
    content[len(content) // 2] ^= 1
    npz.write_bytes(content)
    with pytest.raises(OptError, match="E610"):
        Report.load(tmp_path / "out.json")["x"]
    npz.unlink()
    with pytest.raises(OptError, match="E604"):
        Report.load(tmp_path / "out.json")["x"]


@pytest.mark.parametrize("fails_at", [0, 1])
def test_a_crash_while_saving_leaves_the_old_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    """The first rename puts the arrays in place, the second the JSON: a crash at either keeps the old report whole."""
    old = reports.vector(LARGE, seed=1)
    old.save(tmp_path / "out.json")
    renames = 0
    replace = os.replace

    def crash(source: Any, target: Any) -> None:
        nonlocal renames
        if renames == fails_at:
            raise KeyboardInterrupt
        renames += 1
        replace(source, target)

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        reports.vector(LARGE, seed=2).save(tmp_path / "out.json")
    monkeypatch.undo()
    np.testing.assert_array_equal(Report.load(tmp_path / "out.json")["x"], old["x"])
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_the_arrays_of_a_replaced_report_go(tmp_path: Path) -> None:
    reports.vector(LARGE, seed=1).save(tmp_path / "out.json")
    reports.vector(LARGE, seed=1).save(tmp_path / "other.json")
    reports.vector(LARGE, seed=2).save(tmp_path / "out.json")
    assert len(list(tmp_path.glob("out.*.npz"))) == 1
    assert len(list(tmp_path.glob("other.*.npz"))) == 1
    reports.transport().save(tmp_path / "out.json")
    assert not list(tmp_path.glob("out.*.npz"))


def test_a_foreign_file_of_that_name_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text('{"mine": 1}')
    reports.transport().save(tmp_path / "out.json")
    assert Report.load(tmp_path / "out.json").objective == 153.675


def test_paths_are_relative_to_the_report(tmp_path: Path) -> None:
    report = reports.transport()
    report.problem.file = (tmp_path / "model" / "transport.opt").as_posix()
    report.save(tmp_path / "out" / "a.json")
    assert json.loads((tmp_path / "out" / "a.json").read_text())["problem"]["file"] == "../model/transport.opt"
    loaded = Report.load(tmp_path / "out" / "a.json")
    loaded.save(tmp_path / "b.json")
    assert loaded.problem.file == "model/transport.opt"
    assert Report.load(tmp_path / "b.json").problem.file == "model/transport.opt"


def test_parts_keep_their_arrays(tmp_path: Path) -> None:
    parts = [reports.vector(LARGE, seed=s) for s in range(2)]
    report = reports.transport(parts=parts)
    report.save(tmp_path / "out.json")
    back = Report.load(tmp_path / "out.json")
    for part, was in zip(back.parts, parts, strict=True):
        np.testing.assert_array_equal(part["x"], was["x"])
    assert len(list(tmp_path.glob("*.npz"))) == 1


def test_where_nothing_can_be_written_is_said_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    require_writable(tmp_path / "new" / "deep" / "out.json")
    for bad in (tmp_path, tmp_path / "file" / "out.json"):
        with pytest.raises(OptError, match="E605"):
            require_writable(bad)
    with pytest.raises(OptError, match="the run reads that file"):
        require_writable(tmp_path / "file", [tmp_path / "file"])
