"""Settings of a run: what the command line and a run file say, which of them wins, and what is told of mistakes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from optdsl.run.settings import DataFile, Settings, command_line, data_file, parse_method, read_value, run_file
from optdsl.syntax.diagnostics import OptError


def line(**given: Any) -> Settings:
    return command_line(**({"with_": None, "options": (), "set_": (), "data": ()} | given))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-2", -2), ("1_000", 1000), ("1e-6", 1e-6), (".5", 0.5),
        ("inf", math.inf), ("-inf", -math.inf),
        ("true", True), ("False", False), ("none", None), ("bfgs", "bfgs"),
        ("'1'", "1"),
        ("[1, 2.5, a]", [1, 2.5, "a"]),
        ("{a: 1}", {"a": 1}), ("a b", "a b"), ("1 +", "1 +"), ("f(x)", "f(x)"),
        ("__import__('os')", "__import__('os')"),
        ("x.y", "x.y"), ("2**3", "2**3"), ("--1", 1), ("-true", "-true"),
    ],
)  # fmt: skip
def test_values_on_the_command_line(text: str, value: Any) -> None:
    assert read_value(text) == value
    assert type(read_value(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "method", "options"),
    [
        ("ipopt", "ipopt", {}),
        ("aradmm(tol=1e-6, max_iter=5000)", "aradmm", {"tol": 1e-6, "max_iter": 5000}),
        (" l-bfgs (line_search=wolfe, c=[1, 2]) ", "l-bfgs", {"line_search": "wolfe", "c": [1, 2]}),
        ("scs()", "scs", {}),
    ],
)
def test_methods(text: str, method: str, options: dict[str, Any]) -> None:
    assert parse_method(text) == (method, options)


@pytest.mark.parametrize("text", ["", "a b", "a(1)", "a(x=1", "a(**b)", "a(x=f())", "(x=1)", "a(x=1)b", "a(x=1, x=2)"])
def test_what_names_no_method(text: str) -> None:
    with pytest.raises(OptError, match="E603"):
        parse_method(text)


def test_the_command_line() -> None:
    s = line(with_="aradmm(rho=2)", options=["tol=1e-5"], set_=["mu=0.1"], data=["A=a.npz:A"], seed=3)
    assert (s.with_, s.options, s.set, s.seed) == ("aradmm", {"rho": 2, "tol": 1e-5}, {"mu": 0.1}, 3)
    assert s.data == {"A": DataFile(Path("a.npz"), "A")}


@pytest.mark.parametrize("text", ["mu", "=1", "mu=", "2x=1", "a b=1"])
def test_what_is_no_assignment(text: str) -> None:
    with pytest.raises(OptError, match="E602") as caught:
        line(set_=[text])
    assert "--set PARAM=VALUE" in str(caught.value.diagnostics[0].help)


@pytest.mark.parametrize("given", [{"seed": -1}, {"time_limit": 0.0}, {"tol": -1.0}, {"threads": 0}, {"device": "gpu"}])
def test_settings_out_of_range(given: dict[str, Any]) -> None:
    with pytest.raises(OptError, match="E608") as caught:
        line(**given)
    assert f"`{next(iter(given))}`" in caught.value.diagnostics[0].message


def test_paths_with_keys(tmp_path: Path) -> None:
    (tmp_path / "a:b.csv").write_text("")
    assert data_file("a:b.csv", tmp_path) == DataFile(tmp_path / "a:b.csv")
    assert data_file("c.npz:W", tmp_path) == DataFile(tmp_path / "c.npz", "W")
    assert data_file("x:/c.npz", tmp_path) == DataFile(tmp_path / "x:/c.npz")


def write(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_run_file(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "with: aradmm(rho=2)\noptions: {tol: 1e-6, scaled: true, mode: on, step: 010}\n"
        "set:\n  mu: 1_000.5\n  big: .inf\n"
        "data:\n  A: a.npz:W\n  y: [1, 2]\nseed: 7\ntime_limit: 60\nreport: out/r.json\n",
    )
    s = run_file(path)
    assert s.with_ == "aradmm"
    assert s.options == {"rho": 2, "tol": 1e-6, "scaled": True, "mode": "on", "step": 10}
    assert s.set == {"mu": 1000.5, "big": math.inf}
    assert s.data == {"A": DataFile(tmp_path / "a.npz", "W"), "y": [1, 2]}
    assert (s.seed, s.time_limit, s.report) == (7, 60.0, tmp_path / "out" / "r.json")


def test_an_empty_run_file_sets_nothing(tmp_path: Path) -> None:
    assert run_file(write(tmp_path, "# nothing\n")) == Settings()


@pytest.mark.parametrize(
    ("text", "code", "where", "help"),
    [
        ("seed: 1\ntime_limt: 3\n", "E607", 2, "did you mean `time_limit`?"),
        ("seed: 1\nseed: 2\n", "E606", 2, None),
        ("seed: [1\n", "E606", 2, None),
        ("- 1\n", "E606", 1, None),
        ("tol: small\n", "E608", 1, None),
        ("seed: 1.5\n", "E608", 1, None),
        ("options: 3\n", "E608", 1, None),
        ("a: &a !!python/object/apply:os.system ['true']\n", "E606", 1, None),
    ],
)
def test_mistakes_in_a_run_file(tmp_path: Path, text: str, code: str, where: int, help: str | None) -> None:
    with pytest.raises(OptError) as caught:
        run_file(write(tmp_path, text))
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert getattr(found.place, "row", None) == where
    if help is not None:
        assert found.help == help


def test_every_unknown_key_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(OptError) as caught:
        run_file(write(tmp_path, "sead: 1\nwiht: a\n"))
    assert [d.help for d in caught.value.diagnostics] == ["did you mean `seed`?", "did you mean `with`?"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OptError, match="E604"):
        run_file(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"with: caf\xe9")
    with pytest.raises(OptError, match="E606"):
        run_file(tmp_path / "latin.yaml")


def test_the_command_line_wins(tmp_path: Path) -> None:
    yaml = run_file(write(tmp_path, "with: a(x=1, y=1)\nset: {p: 1, q: 1}\nseed: 1\ntol: 1e-3\n"))
    s = line(options=["y=2", "z=2"], set_=["q=2"], seed=2).over(yaml)
    assert (s.with_, s.options, s.set, s.seed, s.tol) == ("a", {"x": 1, "y": 2, "z": 2}, {"p": 1, "q": 2}, 2, 1e-3)


def test_options_stay_with_the_method_they_were_written_for(tmp_path: Path) -> None:
    yaml = run_file(write(tmp_path, "with: a(x=1)\n"))
    assert line(with_="b(z=1)").over(yaml).options == {"z": 1}
    assert line(with_="a").over(yaml).options == {"x": 1}
