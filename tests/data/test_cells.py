"""The mistakes that files hold, each with its code and the cell where a person finds it (the header is row 1)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import optdsl
from optdsl.syntax.diagnostics import CATALOGUE, Diagnostic, OptError
from optdsl.syntax.source import Cell, Span

LONG = """set P = ["Seattle", "San Diego"]
data d : real[P] = csv("d.csv", value="cap", index="plant")
var z : real
minimize z ** 2
"""
WIDE = LONG.replace(', value="cap", index="plant"', "").replace("real[P]", "real[P, 2]").replace('"d.csv"', '"w.csv"')
PLAIN = 'data d : real[m, n] = csv("p.csv")\nvar z : real\nminimize z ** 2\n'


def refusals(folder: Path, problem: str) -> list[Diagnostic]:
    with pytest.raises(OptError) as caught:
        optdsl.parse(problem, folder=folder).instance()
    return list(caught.value.diagnostics)


def refusal(folder: Path, problem: str) -> Diagnostic:
    return refusals(folder, problem)[0]


@pytest.mark.parametrize(
    ("text", "code", "row", "column"),
    [
        ("plant,cap\nSeattle,350\nSan Diego,1.5k\n", "E307", 3, "cap"),
        ("plant,cap\nSeattle,350\nSan Diego,\n", "E307", 3, "cap"),
        ('plant,cap\nSeattle,"1,5"\nSan Diego,2\n', "E307", 2, "cap"),
        ("plant,cap\nSeattle,1_000\nSan Diego,2\n", "E307", 2, "cap"),
        ("plant,cap\nSeattle,0x10\nSan Diego,2\n", "E307", 2, "cap"),
        ("plant,cap\nSeattle,1e999\nSan Diego,2\n", "E307", 2, "cap"),
        ("plant,cap\nSeattle,nan\nSan Diego,2\n", "E312", 2, "cap"),
        ("plant,cap\nSeattle,1,5\nSan Diego,2\n", "E315", 2, None),
        ("plant,cap\nSeattle\nSan Diego,2\n", "E315", 2, None),
        ("plant,cap\nSeattle,1\nSeattle,2\nSan Diego,3\n", "E309", 3, None),
        ("plant,cap\nseattle,1\nSan Diego,3\n", "E310", 2, None),
        ("plant,cap\n\n\nSeattle,1\n\nSan Diego,x\n", "E307", 6, "cap"),
        ('plant,cap,note\nSeattle,1,"two\nlines"\nSan Diego,x,\n', "E307", 4, "cap"),
        ("\ufeffplant,cap\r\nSeattle,1\r\nSan Diego,x\r\n", "E307", 3, "cap"),
        ("", "E305", None, None),
        ("\n \n,\n", "E305", None, None),
        ("plant,cap\n", "E308", None, None),
        ("plant;cap\nSeattle;1\nSan Diego;2\n", "E305", 1, None),
        ('plant,cap\n"Seattle,1\nSan Diego,2\n', "E305", 3, None),
        ("plnt,cap\nSeattle,1\nSan Diego,2\n", "E306", None, None),
    ],
    ids=[
        "unit", "empty", "comma decimal", "underscore", "hexadecimal", "too large", "nan", "too long", "too short", "twice",
        "case", "blank rows", "line break in a cell", "bom", "empty file", "blank file", "header only", "semicolons",
        "open quote", "no column",
    ],
)  # fmt: skip
def test_long_tables(tmp_path: Path, text: str, code: str, row: int | None, column: str | None) -> None:
    (tmp_path / "d.csv").write_bytes(text.encode())
    found = refusal(tmp_path, LONG)
    assert found.code == code, found
    if row is not None:
        assert isinstance(found.place, Cell) and (found.place.file, found.place.row) == ("d.csv", row), found
    if column is not None:
        assert isinstance(found.place, Cell) and found.place.column == column


@pytest.mark.parametrize(
    ("text", "code", "row", "column"),
    [
        ("plant,a,b\nSeattle,1,x\nSan Diego,1,2\n", "E307", 2, "b"),
        ("plant,a,b\nSeattle,1,2\nSan Diego,1,nan\n", "E312", 3, "b"),
        ("plant,a,b\nSeattle,1\nSan Diego,1,2\n", "E315", 2, None),
        ("plant,a,b\nSeattle,1,2\nSan Diego,1,2\nTacoma,1,2\n", "E310", 4, None),
    ],
)
def test_wide_tables(tmp_path: Path, text: str, code: str, row: int, column: str | None) -> None:
    (tmp_path / "w.csv").write_text(text)
    found = refusal(tmp_path, WIDE)
    assert found.code == code and isinstance(found.place, Cell), found
    assert (found.place.file, found.place.row) == ("w.csv", row)
    assert column is None or found.place.column == column


def test_tables_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("1,2\n3,x\n")
    found = refusal(tmp_path, PLAIN)
    assert found.code == "E307" and found.place == Cell("p.csv", 2, "2")


def test_a_mistake_in_a_cell_shows_who_named_the_file(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("plant,cap\nSeattle,x\nSan Diego,2\n")
    found = refusal(tmp_path, LONG)
    assert found.related and found.related[0][0].text == 'csv("d.csv", value="cap", index="plant")'


@pytest.mark.parametrize("text", ["1.5", " 1.5 ", "+1.5", "15e-1", ".15e1", '"1.5"'])
def test_numbers_that_are_taken(tmp_path: Path, text: str) -> None:
    (tmp_path / "d.csv").write_text(f"plant,cap\n Seattle ,{text}\nSan Diego,\u22122\n\n,\n", encoding="utf-8")
    assert optdsl.parse(LONG, folder=tmp_path).instance().data["d"].values.tolist() == [1.5, -2]


def test_an_infinity_is_taken_where_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("plant,cap\nSeattle,inf\nSan Diego,-inf\n")
    assert optdsl.parse(LONG, folder=tmp_path).instance().data["d"].values.tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-32"])
def test_text_in_another_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "d.csv").write_bytes("plant,cap\nSeattle,1\nMünchen,2\n".encode(encoding))
    found = refusal(tmp_path, LONG)
    assert found.code == "E305" and "UTF" in found.message


def test_nearest_label_column_and_file(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("plant,cap\nSeatle,1\nSan Diego,2\n")
    assert refusal(tmp_path, LONG).help == "did you mean 'Seattle'?"
    assert refusal(tmp_path, LONG.replace('"cap"', '"cpa"')).help == "did you mean 'cap'?"
    assert refusal(tmp_path, LONG.replace('"d.csv"', '"dd.csv"')).help == "did you mean 'd.csv'?"


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ("real[3]", "E314"), ("real[2, 2]", "E314"), ("real", "E314"), ("int[2]", "E313"), ("bool[2]", "E313"),
    ],
)  # fmt: skip
def test_another_shape_or_kind(tmp_path: Path, declared: str, code: str) -> None:
    np.save(tmp_path / "a.npy", np.array([2.5, 1.0]))
    found = refusal(tmp_path, f'data d : {declared} = npy("a.npy")\nvar z : real\nminimize z ** 2\n')
    assert found.code == code, found


def test_whole_numbers_and_truths(tmp_path: Path) -> None:
    for declared, cells, code in (
        ("int[2]", (2.0, 3.0), None), ("int[2]", (2.0, 2.5), "E313"), ("bool[2]", (0, 1), None), ("bool[2]", (0, 2), "E313"),
        ("int[2]", (1e30, 1), "E313"), ("int[2]", (np.inf, 1), "E313"),
    ):  # fmt: skip
        np.save(tmp_path / "a.npy", np.array(cells))
        text = f'data d : {declared} = npy("a.npy")\nvar z : real\nminimize z ** 2\n'
        if code is None:
            found = optdsl.parse(text, folder=tmp_path).instance().data["d"].values
            assert found.tolist() == list(cells) and found.dtype.kind == declared[0]
        else:
            assert refusal(tmp_path, text).code in (code, "E312")


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_nan_in_arrays(tmp_path: Path, kind: str) -> None:
    A = np.ones((2, 3), dtype=complex if kind == "complex" else float)
    A[1, 2] = np.nan
    np.save(tmp_path / "a.npy", A)
    found = refusal(tmp_path, f'data d : {kind}[2, 3] = npy("a.npy")\nvar z : real\nminimize z ** 2\n')
    assert found.code == "E312" and "[1, 2]" in found.message


def test_nan_among_the_entries_of_a_sparse_matrix(tmp_path: Path) -> None:
    (tmp_path / "s.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n2 3 nan\n")
    found = refusal(tmp_path, 'data d : real[3, 3] = mtx("s.mtx")\nvar z : real\nminimize z ** 2\n')
    assert found.code == "E312"


def test_values_that_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(OptError) as caught:
        optdsl.parse("data d : real[n]\nvar x : real[n]\nminimize sum_squares(x - d)\n").solve()
    found = caught.value.diagnostics[0]
    assert found.code == "E301" and "--data d=" in (found.help or "")


def test_values_that_are_no_set(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    assert refusal(tmp_path, 'set S = npy("a.npy")\nvar z : real\nminimize z\n').code == "E302"


@pytest.mark.parametrize(
    "call",
    [
        'csv("d.csv", vlaue="cap")', 'csv("d.csv", "cap")', 'csv("d.csv", index=3)', 'csv("d.csv", header=0.5)',
        'csv("d.csv", value="cap", index="plant", default="x")', "csv()", "csv(3)", 'npy("d.csv", "a")', "normal()",
        'normal("a")', "normal(3, seed=-1)", "normal(3, 0, -1)", 'dataset("digits")', 'json("d.csv", a=1)',
        'libsvm("d.csv", "labels")',
    ],
)  # fmt: skip
def test_arguments_of_readers(tmp_path: Path, call: str) -> None:
    (tmp_path / "d.csv").write_text("plant,cap\nSeattle,1\n")
    found = refusal(tmp_path, f"data d : real[n] = {call}\nvar z : real\nminimize z ** 2\n")
    assert found.code == "E317" and isinstance(found.place, Span) and found.place.text == call, found


def test_unshipped_data_sets(tmp_path: Path) -> None:
    found = refusal(tmp_path, 'data d : real[m, n] = dataset("diabetis", "data")\nvar z : real\nminimize z\n')
    assert (found.code, found.help) == ("E306", "did you mean 'diabetes'?")
    assert refusal(tmp_path, 'data d : real[m, n] = dataset("california_housing", "data")\nminimize 0\n').code == "E306"


def test_several_mistakes_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("plant,cap\nSeattle,x\nSan Diego,2\n")
    problem = LONG.replace("var z", 'data e : real[n] = csv("no.csv")\nvar z')
    assert [d.code for d in refusals(tmp_path, problem)] == ["E307", "E304"]


def test_every_code_has_a_page() -> None:
    codes = [f"E3{k:02d}" for k in range(1, 19)]
    assert all(len(CATALOGUE[c].page) > 30 for c in codes)
