"""Labels are joined by name: any order of rows and columns means the same array, and what does not fit is named."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import optdsl
from optdsl.ir.problem import LabelSet, Problem
from optdsl.syntax.diagnostics import Diagnostic, OptError
from optdsl.syntax.source import Cell

PLANTS, MARKETS, YEARS = ("Seattle", "San Diego"), ("New York", "Chicago", "Topeka"), (2020, 2021)
SETS = 'set P = ["Seattle", "San Diego"]\nset M = ["New York", "Chicago", "Topeka"]\nset Y = 2020..2021\n'
KM = np.array([[2.5, 1.7, 1.8], [2.5, 1.8, 1.4]])
CAP = np.array([350.0, 600.0])
CUBE = np.arange(12.0).reshape(2, 3, 2)


def instance(folder: Path, text: str) -> Problem:
    return optdsl.parse(f"{text}\nvar z : real\nminimize z ** 2\n", folder=folder).instance()


def values(folder: Path, declared: str, before: str = SETS) -> Any:
    return instance(folder, f"{before}data d : {declared}").data["d"].values


def refusal(folder: Path, declared: str, before: str = SETS) -> Diagnostic:
    with pytest.raises(OptError) as caught:
        values(folder, declared, before)
    return caught.value.diagnostics[0]


def label_set(problem: Problem, name: str) -> tuple[str, ...]:
    found = problem.sets[name]
    assert isinstance(found, LabelSet)
    return found.labels


def write(folder: Path, *lines: str, name: str = "d.csv") -> None:
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def long_rows() -> list[str]:
    return [
        f"{p},{y},{m},{CUBE[i, j, k]}"
        for (i, p), (j, m), (k, y) in itertools.product(enumerate(PLANTS), enumerate(MARKETS), enumerate(YEARS))
    ]


# --- any order means the same ---------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(12)), st.permutations(("plant", "year", "market", "km", "note")))
def test_long_tables_over_three_sets(
    tmp_path_factory: pytest.TempPathFactory, rows: list[int], columns: list[str]
) -> None:
    """Rows in any order, columns too, and one more column than is asked for."""
    folder = tmp_path_factory.mktemp("long")
    names = ("plant", "year", "market", "km", "note")
    cells = [dict(zip(names, (*r.split(","), "x"), strict=True)) for r in long_rows()]
    write(folder, ",".join(columns), *(",".join(cells[r][c] for c in columns) for r in rows))
    found = values(folder, 'real[P, M, Y] = csv("d.csv", value="km", index=["plant", "market", "year"])')
    np.testing.assert_array_equal(found, CUBE)


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(2)), st.permutations(range(3)))
def test_wide_tables(tmp_path_factory: pytest.TempPathFactory, rows: list[int], columns: list[int]) -> None:
    folder = tmp_path_factory.mktemp("wide")
    head = ",".join(["plant", *(MARKETS[c] for c in columns)])
    write(folder, head, *(",".join([PLANTS[r], *(str(KM[r, c]) for c in columns)]) for r in rows))
    np.testing.assert_array_equal(values(folder, 'real[P, M] = csv("d.csv")'), KM)


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(2)), st.permutations(range(3)), st.permutations(range(6)))
def test_mappings_from_python(rows: list[int], columns: list[int], pairs: list[int]) -> None:
    text = f"{SETS}data d : real[P, M]\nvar z : real\nminimize z ** 2\n"
    nested = {PLANTS[r]: {MARKETS[c]: KM[r, c] for c in columns} for r in rows}
    keyed = {(PLANTS[k // 3], MARKETS[k % 3]): KM.flat[k] for k in pairs}
    for given_value in (nested, keyed):
        found = optdsl.parse(text).instance(data={"d": given_value}).data["d"].values
        np.testing.assert_array_equal(found, KM)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(2)), st.permutations(range(3)))
def test_frames_from_python(rows: list[int], columns: list[int]) -> None:
    pd = pytest.importorskip("pandas")
    text = f"{SETS}data d : real[P, M]\ndata cap : real[P]\nvar z : real\nminimize z ** 2\n"
    frame = pd.DataFrame(KM, index=PLANTS, columns=MARKETS).iloc[rows, columns]
    series = pd.Series(CAP, index=PLANTS).iloc[rows]
    found = optdsl.parse(text).instance(data={"d": frame, "cap": series}).data
    np.testing.assert_array_equal(found["d"].values, KM)
    np.testing.assert_array_equal(found["cap"].values, CAP)


@settings(max_examples=25, deadline=None)
@given(st.permutations(["a,b,3", "b,c,4", "a,c,1"]))
def test_tables_over_tuples(tmp_path_factory: pytest.TempPathFactory, rows: list[str]) -> None:
    folder = tmp_path_factory.mktemp("tuples")
    write(folder, "from,to", "a,b", "b,c", "a,c", name="arcs.csv")
    write(folder, "from,to,cap", *rows)
    sets = 'set N = ["a", "b", "c"]\nset Arcs in N * N = csv("arcs.csv", index=["from", "to"])\n'
    found = values(folder, 'real[Arcs] = csv("d.csv", value="cap", index=["from", "to"])', sets)
    np.testing.assert_array_equal(found, [3, 4, 1])


def test_tuples_given_from_python(tmp_path: Path) -> None:
    text = 'set N = ["a", "b", "c"]\nset Arcs in N * N = [("a", "b"), ("b", "c")]\ndata d : real[Arcs]\nvar z : real\nminimize z\n'
    found = optdsl.parse(text).instance(data={"d": {("b", "c"): 4, ("a", "b"): 3}}).data["d"].values
    np.testing.assert_array_equal(found, [3, 4])


def test_mistakes_over_tuples(tmp_path: Path) -> None:
    write(tmp_path, "from,to", "a,b", "b,c", name="arcs.csv")
    sets = 'set N = ["a", "b", "c"]\nset Arcs in N * N = csv("arcs.csv", index=["from", "to"])\n'
    reader = 'real[Arcs] = csv("d.csv", value="cap", index=["from", "to"])'
    write(tmp_path, "from,to,cap", "a,b,3", "b,a,4")
    found = refusal(tmp_path, reader, sets)
    assert found.code == "E310" and isinstance(found.place, Cell) and found.place.row == 3
    write(tmp_path, "from,to,cap", "a,b,3")
    found = refusal(tmp_path, reader, sets)
    assert found.code == "E308" and "c" in "".join(found.notes)
    write(tmp_path, "from,to,cap", "a,b,3", "b,c,4", "a,b,3")
    found = refusal(tmp_path, reader, sets)
    assert found.code == "E309" and isinstance(found.place, Cell) and found.place.row == 4
    write(tmp_path, "from,to,cap", "a,b,3")
    default = 'real[Arcs] = csv("d.csv", value="cap", index=["from", "to"], default=7)'
    np.testing.assert_array_equal(values(tmp_path, default, sets), [3, 7])


# --- sets -----------------------------------------------------------------------------------------


def test_open_sets_take_the_labels_of_the_first_table_and_hold_the_next_to_them(tmp_path: Path) -> None:
    write(tmp_path, "plant,cap", "b,2", "a,1")
    write(tmp_path, "plant,cost", "a,10", "b,20", name="e.csv")
    reader = 'csv("{}.csv", value="{}", index="plant")'
    text = f"set P\ndata d : real[P] = {reader.format('d', 'cap')}\ndata e : real[P] = {reader.format('e', 'cost')}"
    found = instance(tmp_path, text)
    assert label_set(found, "P") == ("b", "a")
    np.testing.assert_array_equal(found.data["d"].values, [2, 1])
    np.testing.assert_array_equal(found.data["e"].values, [20, 10])
    write(tmp_path, "plant,cost", "a,10", "c,20", name="e.csv")
    with pytest.raises(OptError) as caught:
        instance(tmp_path, text)
    place = caught.value.diagnostics[0].place
    assert caught.value.diagnostics[0].code == "E310" and isinstance(place, Cell)
    assert (place.file, place.row) == ("e.csv", 3)


def test_an_open_set_over_both_columns_of_a_set_of_tuples(tmp_path: Path) -> None:
    write(tmp_path, "from,to", "a,b", "b,c")
    found = instance(tmp_path, 'set N\nset Arcs in N * N = csv("d.csv", index=["from", "to"])')
    assert sorted(label_set(found, "N")) == ["a", "b", "c"] and found.sets["Arcs"].size == 2


def test_an_open_set_takes_no_array_without_labels() -> None:
    text = "set P\ndata d : real[P]\nvar z : real\nminimize z ** 2\n"
    with pytest.raises(OptError) as caught:
        optdsl.parse(text).instance(data={"d": np.arange(3.0)})
    assert caught.value.diagnostics[0].code == "E314"
    assert optdsl.parse(text).instance(data={"d": {"a": 1.0, "b": 2.0}}).sets["P"].labels == ("a", "b")


def test_ranges_are_joined_by_their_numbers(tmp_path: Path) -> None:
    write(tmp_path, "year,use", "2021,5", "2020,4")
    np.testing.assert_array_equal(values(tmp_path, 'real[Y] = csv("d.csv", value="use", index="year")'), [4, 5])
    write(tmp_path, "plant,2021,2020", "Seattle,2,1", "San Diego,4,3")
    np.testing.assert_array_equal(values(tmp_path, 'real[P, Y] = csv("d.csv")'), [[1, 2], [3, 4]])
    write(tmp_path, "year,use", "2021,5", "2022,4")
    found = refusal(tmp_path, 'real[Y] = csv("d.csv", value="use", index="year")')
    assert found.code == "E310" and isinstance(found.place, Cell) and found.place.row == 3


def test_a_set_and_a_plain_size(tmp_path: Path) -> None:
    """An axis without a set is indexed from 0."""
    write(tmp_path, "plant,k,v", *(f"{p},{k},{10 * i + k}" for k in (2, 0, 1) for i, p in enumerate(PLANTS)))
    found = values(tmp_path, 'real[P, 3] = csv("d.csv", value="v", index=["plant", "k"])')
    np.testing.assert_array_equal(found, [[0, 1, 2], [10, 11, 12]])


def test_labels_as_values(tmp_path: Path) -> None:
    """`data sector : M[P]` holds members of M."""
    write(tmp_path, "plant,market", "San Diego,Topeka", "Seattle,Chicago")
    reader = 'M[P] = csv("d.csv", value="market", index="plant")'
    np.testing.assert_array_equal(values(tmp_path, reader), [1, 2])
    write(tmp_path, "plant,market", "San Diego,Topeka", "Seattle,chicago")
    found = refusal(tmp_path, reader)
    assert (found.code, found.help) == ("E310", "did you mean 'Chicago'?")


# --- missing, extra, twice ------------------------------------------------------------------------

LONG = 'real[P, M] = csv("d.csv", value="km", index=["plant", "market"])'


def long_km() -> list[str]:
    return ["plant,market,km", *(f"{p},{m},{KM[i, j]}" for i, p in enumerate(PLANTS) for j, m in enumerate(MARKETS))]


def test_missing_cells_are_listed_or_have_a_default(tmp_path: Path) -> None:
    lines = long_km()
    write(tmp_path, *lines[:3], *lines[4:6])
    found = refusal(tmp_path, LONG)
    assert found.code == "E308" and "2 values" in found.message
    assert "Seattle" in found.notes[0] and "Topeka" in found.notes[0] and "San Diego" in found.notes[0]
    got = values(tmp_path, LONG.replace('"market"]', '"market"], default=-1'))
    np.testing.assert_array_equal(got, [[2.5, 1.7, -1], [2.5, 1.8, -1]])


def test_a_default_needs_not_be_whole_or_the_values_either(tmp_path: Path) -> None:
    write(tmp_path, "plant,cap", "Seattle,3")
    reader = 'csv("d.csv", value="cap", index="plant", default=0.5)'
    np.testing.assert_array_equal(values(tmp_path, f"real[P] = {reader}"), [3, 0.5])
    assert refusal(tmp_path, f"int[P] = {reader}").code == "E313"


@pytest.mark.parametrize(
    ("lines", "code", "words"),
    [
        (["plant,New York,Chicago", "Seattle,1,2", "San Diego,3,4"], "E311", "Topeka"),
        (["plant,New York,Chicago,Topeka", "Seattle,1,2,3"], "E311", "San Diego"),
        (["plant,New York,Chicago,Topeka", "Seattle,1,2,3", "Seattle,1,2,3", "San Diego,1,2,3"], "E309", "Seattle"),
        (["plant,New York,Chicago,Chicago,Topeka", "Seattle,1,2,3,4", "San Diego,1,2,3,4"], "E309", "Chicago"),
        (["plant,New York,Chicago,topeka", "Seattle,1,2,3", "San Diego,1,2,3"], "E310", "topeka"),
        (["plant,New York,Chicago,Topeka", "Seattle,1,2,3", "San-Diego,1,2,3"], "E310", "San-Diego"),
    ],
    ids=["column", "row", "row twice", "column twice", "case of a column", "spelling of a row"],
)
def test_wide_tables_that_do_not_fit(tmp_path: Path, lines: list[str], code: str, words: str) -> None:
    write(tmp_path, *lines)
    found = refusal(tmp_path, 'real[P, M] = csv("d.csv")')
    assert found.code == code and words in found.message


def test_labels_of_another_number_of_axes(tmp_path: Path) -> None:
    write(tmp_path, *long_km())
    assert refusal(tmp_path, LONG.replace("P, M", "P")).code == "E314"
    assert refusal(tmp_path, LONG.replace("P, M", "P, M, Y")).code == "E314"


def test_a_set_of_pairs_needs_both_columns(tmp_path: Path) -> None:
    write(tmp_path, "from,to,cap", "a,b,3")
    sets = 'set N = ["a", "b"]\nset Arcs in N * N = csv("d.csv", index=["from", "to"])\n'
    assert refusal(tmp_path, 'real[Arcs] = csv("d.csv", value="cap", index="from")', sets).code == "E314"
