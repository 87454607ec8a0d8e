"""The wheel built from the tree holds all that it needs, and works with the tree out of reach."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "optdsl", "cli", "grammar")
TRANSPORT = ROOT / "problems" / "linear"


def run(arguments: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that the tree gets no build folder and no leftover of one gets into the wheel."""
    copy, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, copy / name)
    built = run(["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(out), "."], copy)
    assert built.returncode == 0, built.stderr
    (found,) = out.glob("optdsl-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel alone; the dependencies are those of the interpreter that runs the tests."""
    target = tmp_path_factory.mktemp("installed")
    done = run(["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(target), str(wheel)], target)
    assert done.returncode == 0, done.stderr
    return target


def test_wheel_holds_every_module_and_data_file(wheel: Path) -> None:
    expected = {
        (f"optdsl/{root}/" if root != "optdsl" else "optdsl/") + path.relative_to(ROOT / root).as_posix()
        for root in ("optdsl", "cli", "grammar")
        for path in (ROOT / root).rglob("*")
        if path.suffix in {".py", ".lark", ".json", ".typed"} and "__pycache__" not in path.parts
    }
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = {Path(name).name for name in archive.namelist() if ".dist-info/" in name}
    assert held == expected
    assert {"LICENSE", "METADATA", "entry_points.txt"} <= metadata


def test_grammar_is_read_from_the_installed_package(installed: Path, tmp_path: Path) -> None:
    code = "import optdsl, optdsl.grammar, optdsl.syntax.tables as t; print(optdsl.__file__); print(t.FOLDER)"
    done = run(["-c", code], tmp_path, PYTHONPATH=str(installed))
    assert done.returncode == 0, done.stderr
    package, grammar = map(Path, done.stdout.split())
    assert package == installed / "optdsl" / "__init__.py"
    assert grammar == installed / "optdsl" / "grammar"
    assert sorted(p.name for p in grammar.glob("*.lark")) == sorted(p.name for p in (ROOT / "grammar").glob("*.lark"))


def test_solves_from_another_folder(installed: Path, tmp_path: Path) -> None:
    """Dantzig's transport problem: 153.675 (Linear Programming and Extensions, 1963, chapter 3.3)."""
    shutil.copytree(TRANSPORT, tmp_path / "elsewhere")
    report = tmp_path / "report.json"
    done = run(
        ["-m", "optdsl", "solve", str(tmp_path / "elsewhere" / "transport.opt"), "--report", str(report), "-q"],
        tmp_path,
        PYTHONPATH=str(installed),
    )
    assert done.returncode == 0, done.stderr
    written = json.loads(report.read_text(encoding="utf-8"))
    assert written["verdict"]["kind"] == "optimal"
    assert written["objective"] == pytest.approx(153.675, abs=1e-6)
