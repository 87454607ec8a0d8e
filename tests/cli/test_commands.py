"""The commands on real problems: output, files, exit status, and what a user is told of mistakes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema
import pytest
from optdsl.cli.entry import run

import optdsl
from optdsl.report.model import Report

TRANSPORT = """problem "Transport"
set Plants = ["Seattle", "San Diego"]
set Markets = ["New York", "Chicago", "Topeka"]
data capacity : real[Plants] = csv("capacity.csv", index=["plant"], value="cases")
data distance : real[Plants, Markets] = [[2.5, 1.7, 1.8], [2.5, 1.8, 1.4]]
data demand : real[Markets] = [325, 300, 275]
param freight : real >= 0 = 90
var ship : real[Plants, Markets] >= 0
minimize sum(freight * distance[i, j] / 1000 * ship[i, j] for i in Plants, j in Markets)
subject to
  supply: for i in Plants: sum(ship[i, j] for j in Markets) <= capacity[i]
  needs: for j in Markets: sum(ship[i, j] for i in Plants) >= demand[j]
"""
SMALL = "var x : real >= 0\nminimize x\nsubject to\n  x >= 1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "transport.opt").write_text(TRANSPORT)
    (tmp_path / "model" / "capacity.csv").write_text("plant,cases\nSeattle,350\nSan Diego,600\n")
    (tmp_path / "small.opt").write_text(SMALL)
    return tmp_path


def test_solve_shows_the_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "model/transport.opt"]) == 0
    out = capsys.readouterr().out
    assert "Proven optimal" in out and "153.675" in out and "San Diego" in out


def test_solve_quietly_with_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "model/transport.opt", "--report", "out/r.json", "--html", "out/r.html", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert Report.load("out/r.json").objective == pytest.approx(153.675, abs=1e-9)
    assert "153.675" in Path("out/r.html").read_text()
    assert run(["verify", "out/r.json"]) == 0
    assert "Verified" in capsys.readouterr().out


def test_verify_finds_an_alteration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["solve", "model/transport.opt", "--report", "r.json", "-q"])
    Path("r.json").write_text(Path("r.json").read_text().replace("153.675", "153.6"))
    assert run(["verify", "r.json"]) == 2
    assert "Not verified" in capsys.readouterr().out
    assert run(["verify", "r.json", "--format", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["verified"] is False


def test_json_is_the_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert run(["solve", "model/transport.opt", "--format", "json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema)
    assert document["objective"] == pytest.approx(153.675, abs=1e-9)


def test_settings_and_their_precedence(folder: Path) -> None:
    """Freight 100 makes it 153.675 · 100/90 = 170.75; 45 makes it half, 76.8375."""
    Path("run.yaml").write_text("with: highs\nset: {freight: 100}\nseed: 5\nreport: a.json\n")
    assert run(["solve", "model/transport.opt", "--config", "run.yaml", "-q"]) == 0
    report = Report.load("a.json")
    assert report.objective == pytest.approx(170.75, abs=1e-9)
    assert (report.seed, report.backend.name) == (5, "highs")
    arguments = ["--config", "run.yaml", "--set", "freight=45", "--report", "b.json", "--with", "clarabel", "-q"]
    assert run(["solve", "model/transport.opt", *arguments]) == 0
    report = Report.load("b.json")
    assert report.objective == pytest.approx(76.8375, abs=1e-5)
    assert (report.seed, report.backend.name) == (5, "clarabel")


def test_data_from_the_command_line(folder: Path) -> None:
    Path("more.csv").write_text("plant,cases\nSeattle,350\nSan Diego,100\n")
    assert run(["solve", "model/transport.opt", "--data", "capacity=more.csv", "-q", "--report", "r.json"]) == 3
    assert Report.load("r.json").verdict.kind == "infeasible"
    assert run(["verify", "r.json", "-q"]) == 0


def test_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(SMALL))
    assert run(["solve", "-", "--report", "r.json"]) == 0
    assert "minimum 1" in capsys.readouterr().out
    assert run(["verify", "r.json", "-q"]) == 0


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("var x : real\nsubject to\n  x >= 1\n", 0),
        ("var x : real\nminimize x\nsubject to\n  x <= 1\n", 3),
        ("var x : real >= 0\nminimize x\nsubject to\n  x <= -1\n", 3),
        ("var x : reel\nminimize x\n", 1),
        ("minimize\n", 1),
        ("var x : real >= 0\nminimize y\n", 1),
    ],
)
def test_exit_status(folder: Path, text: str, status: int) -> None:
    Path("p.opt").write_text(text)
    assert run(["solve", "p.opt", "-q"]) == status


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["slove"], "E601"),
        (["solve"], "E601"),
        (["solve", "small.opt", "--sed", "1"], "E601"),
        (["solve", "small.opt", "--seed", "one"], "E601"),
        (["solve", "small.opt", "--set", "mu"], "E602"),
        (["solve", "small.opt", "--with", "a b"], "E603"),
        (["solve", "small.opt", "--with", "hihgs"], "E501"),
        (["solve", "small.opt", "--option", "tool=1"], "E503"),
        (["solve", "small.opt", "--time-limit", "-1"], "E608"),
        (["solve", "small.opt", "--report", "model"], "E605"),
        (["solve", "small.opt", "--report", "small.opt"], "E605"),
        (["solve", "small.opt", "--html", "small.opt/x.html"], "E605"),
        (["solve", "small.opt", "--set", "mu=1"], "E615"),
        (["solve", "small.opt", "--config", "none.yaml"], "E604"),
        (["verify", "none.json"], "E604"),
        (["verify", "small.opt"], "E609"),
        (["explain", "E999"], "E611"),
        (["backends", "hihgs"], "E501"),
    ],
)
def test_mistakes_are_diagnostics(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    assert run(arguments) == 1
    told = capsys.readouterr()
    assert f"error[{code}]" in told.err and told.out == ""
    assert "Traceback" not in told.err
    assert run([*arguments, "--format", "json"]) == 1
    told = capsys.readouterr()
    assert json.loads(told.out)["diagnostics"][0]["code"] == code
    assert (folder / "small.opt").read_text() == SMALL


def test_a_report_that_cannot_be_written_is_told_before_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optdsl.Problem, "solve", lambda *_, **__: pytest.fail("it ran"))
    assert run(["solve", "small.opt", "--report", "small.opt/deep/r.json", "-q"]) == 1


def test_a_fault_of_optdsl_is_told_as_such(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(optdsl.Problem, "solve", fail)
    monkeypatch.delenv("OPTDSL_DEBUG", raising=False)
    assert run(["solve", "small.opt", "-q"]) == 1
    told = capsys.readouterr().err
    assert "internal[I001]" in told and "ZeroDivisionError: by zero" in told and "Traceback" not in told
    monkeypatch.setenv("OPTDSL_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run(["solve", "small.opt", "-q"])


def test_interrupted_before_there_is_a_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(optdsl.Problem, "solve", interrupt)
    assert run(["solve", "small.opt", "-q"]) == 130


def test_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "model/transport.opt"]) == 0
    assert "no mistakes" in capsys.readouterr().out
    Path("bad.opt").write_text("var x : real[3]\nminimize sum(x + y)\nsubject to\n  z <= 1\n")
    assert run(["check", "bad.opt"]) == 1
    told = capsys.readouterr().err
    assert "`y` is not declared" in told and "`z` is not declared" in told
    assert run(["check", "bad.opt", "--format", "json"]) == 1
    first = json.loads(capsys.readouterr().out)["diagnostics"][0]
    assert (first["file"], first["line"], first["code"]) == ("bad.opt", 2, "E201")


def test_explain(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "model/transport.opt"]) == 0
    out = capsys.readouterr().out
    assert "solve would use highs on LinearProgram" in out
    assert run(["explain", "model/transport.opt", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [b["name"] for b in document["backends"] if b["status"] == "chosen"] == ["highs"]
    assert run(["explain", "e203"]) == 0
    assert capsys.readouterr().out.startswith("E203: shapes do not match\n\nArithmetic takes arrays")


def test_backends(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["backends"]) == 0
    assert "highs" in capsys.readouterr().out
    assert run(["backends", "highs"]) == 0
    assert "LinearProgram" in capsys.readouterr().out
    assert run(["backends", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"highs", "clarabel"} <= {b["name"] for b in listed}
    assert all(b["forms"] and b["summary"] for b in listed)
