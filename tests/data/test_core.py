"""Values from outside: formats against other writers, labels joined by name, and every mistake at its cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import optdsl
from optdsl.syntax.diagnostics import Diagnostic, OptError
from optdsl.syntax.source import Cell

LABELLED = """
set Plants = ["Seattle", "San Diego"]
set Markets = ["New York", "Chicago", "Topeka"]
data d : real[Plants, Markets] = {reader}
var x : real
minimize x ** 2
"""
WIDE = "plant,New York,Chicago,Topeka\nSeattle,2.5,1.7,1.8\nSan Diego,2.5,1.8,1.4\n"
LONG = "from,to,km\n" + "".join(
    f"{p},{m},{v}\n"
    for p, row in {"Seattle": (2.5, 1.7, 1.8), "San Diego": (2.5, 1.8, 1.4)}.items()
    for m, v in zip(("New York", "Chicago", "Topeka"), row, strict=True)
)
LONG_READER = 'csv("d.csv", value="km", index=["from", "to"])'
TABLE = np.array([[2.5, 1.7, 1.8], [2.5, 1.8, 1.4]])


def bound(folder: Path, declaration: str, name: str = "d") -> Any:
    text = f"{declaration}\nvar z : real\nminimize z ** 2\n"
    return optdsl.parse(text, folder=folder).instance().data[name].values


def mistake(folder: Path, text: str) -> Diagnostic:
    with pytest.raises(OptError) as caught:
        optdsl.parse(text, folder=folder).instance()
    return caught.value.diagnostics[0]


# --- formats --------------------------------------------------------------------------------------


def test_arrays_of_every_format(tmp_path: Path) -> None:
    A = np.random.default_rng(0).standard_normal((4, 3))
    np.save(tmp_path / "a.npy", A)
    np.savez(tmp_path / "a.npz", A=A, B=2 * A)
    (tmp_path / "a.json").write_text(json.dumps({"in": {"A": A.tolist()}}))
    (tmp_path / "a.yaml").write_text("A: [[1, 2], [3, 4.5]]\n")
    np.savetxt(tmp_path / "a.csv", A, delimiter=",", fmt="%.17g")
    np.testing.assert_array_equal(bound(tmp_path, 'data d : real[m, n] = npy("a.npy")'), A)
    np.testing.assert_array_equal(bound(tmp_path, 'data d : real[m, n] = npz("a.npz", "B")'), 2 * A)
    np.testing.assert_array_equal(bound(tmp_path, 'data d : real[m, n] = json("a.json", "in", "A")'), A)
    np.testing.assert_array_equal(bound(tmp_path, 'data d : real[2, 2] = yaml("a.yaml", "A")'), [[1, 2], [3, 4.5]])
    np.testing.assert_array_equal(bound(tmp_path, 'data d : real[m, n] = csv("a.csv")'), A)


def test_sparse_stays_sparse(tmp_path: Path) -> None:
    from scipy.io import mmwrite
    from sklearn.datasets import dump_svmlight_file

    S = sp.random_array((20, 10), density=0.1, rng=np.random.default_rng(1), format="csr")
    mmwrite(tmp_path / "s.mtx", S)
    dump_svmlight_file(S, np.arange(20), str(tmp_path / "s.libsvm"), zero_based=True)
    found = bound(tmp_path, 'data d : real[m, n] = mtx("s.mtx")')
    assert sp.issparse(found)
    np.testing.assert_allclose(found.toarray(), S.toarray())
    found = bound(tmp_path, 'data d : real[m, n] = libsvm("s.libsvm")')
    assert sp.issparse(found)
    np.testing.assert_array_equal(bound(tmp_path, 'data d : real[m] = libsvm("s.libsvm", "target")'), np.arange(20))


def test_safetensors(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    W = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    save_file({"w": W, "half": W.bfloat16()}, tmp_path / "m.safetensors")
    np.testing.assert_array_equal(bound(tmp_path, 'data d : real[m, n] = safetensors("m.safetensors", "w")'), W)
    np.testing.assert_array_equal(bound(tmp_path, 'data d : real[m, n] = safetensors("m.safetensors", "half")'), W)
    text = 'data d : real[m, n] = safetensors("m.safetensors", "hlaf")\n'
    assert mistake(tmp_path, text).help == "did you mean 'half'?"


# --- labels ---------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(6)), st.permutations(range(3)), st.booleans())
def test_labels_join_by_name(
    tmp_path_factory: pytest.TempPathFactory, rows: list[int], columns: list[int], wide: bool
) -> None:
    """Rows and columns in another order mean the same thing."""
    folder = tmp_path_factory.mktemp("labels")
    if wide:
        lines = [line.split(",") for line in WIDE.splitlines()]
        order = [0, *(1 + c for c in columns)]
        body = [lines[0], *(lines[1:][::-1] if rows[0] % 2 else lines[1:])]
        (folder / "d.csv").write_text("\n".join(",".join(line[k] for k in order) for line in body) + "\n")
        reader = 'csv("d.csv")'
    else:
        lines_long = LONG.splitlines()
        (folder / "d.csv").write_text("\n".join([lines_long[0], *(lines_long[1 + r] for r in rows)]) + "\n")
        reader = LONG_READER
    instance = optdsl.parse(LABELLED.format(reader=reader), folder=folder).instance()
    np.testing.assert_array_equal(instance.data["d"].values, TABLE)


@pytest.mark.parametrize(
    ("text", "code", "cell"),
    [
        (LONG.replace("1.8\nSan", "1,8\nSan"), "E315", Cell("d.csv", 4)),
        (LONG.replace("1.8\nSan", "x\nSan"), "E307", Cell("d.csv", 4, "km")),
        (LONG.replace("Seattle,Topeka,1.8", "Seattle,Topeka,"), "E307", Cell("d.csv", 4, "km")),
        (LONG + "Seattle,Topeka,1.8\n", "E309", Cell("d.csv", 8)),
        (LONG.replace("Seattle,Topeka", "seattle,Topeka"), "E310", Cell("d.csv", 4)),
        (LONG.replace("Seattle,Topeka,1.8\n", ""), "E308", None),
        (LONG.replace("1.8\nSan", "nan\nSan"), "E312", None),
        ("from,to\na,b\n", "E306", None),
        ("", "E305", None),
        (LONG.replace("Seattle,Topeka,1.8", "Seattle,Topeka,−1.8"), None, None),
        ("\ufeff" + LONG + "\n\n", None, None),
        (LONG.replace("Seattle,Topeka", " Seattle ,Topeka"), None, None),
    ],
    ids=["comma", "text", "empty", "twice", "case", "missing", "nan", "column", "blank", "minus", "bom", "spaces"],
)
def test_mistakes_in_cells(tmp_path: Path, text: str, code: str | None, cell: Cell | None) -> None:
    (tmp_path / "d.csv").write_text(text, encoding="utf-8")
    problem = LABELLED.format(reader=LONG_READER)
    if code is None:
        assert optdsl.parse(problem, folder=tmp_path).instance().data["d"].values.shape == (2, 3)
        return
    found = mistake(tmp_path, problem)
    assert found.code == code, found
    if cell is not None:
        assert isinstance(found.place, Cell) and (found.place.file, found.place.row) == (cell.file, cell.row)
        assert cell.column is None or found.place.column == cell.column


def test_nearest_label_is_offered(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(LONG.replace("Chicago", "Chicgao"))
    assert mistake(tmp_path, LABELLED.format(reader=LONG_READER)).help == "did you mean 'Chicago'?"


def test_open_sets_take_the_labels_of_the_first_table(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(LONG)
    text = f"set P\nset M\ndata d : real[P, M] = {LONG_READER}\nvar x : real[P] >= 0\nminimize sum(x)\n"
    instance = optdsl.parse(text, folder=tmp_path).instance()
    assert instance.sets["P"].labels == ("Seattle", "San Diego")
    np.testing.assert_array_equal(instance.data["d"].values, TABLE)


def test_a_table_over_tuples(tmp_path: Path) -> None:
    (tmp_path / "arcs.csv").write_text("from,to,cap\na,b,3\nb,c,4\na,c,1\n")
    (tmp_path / "caps.csv").write_text("from,to,cap\na,c,1\na,b,3\nb,c,4\n")
    text = """
set N = ["a", "b", "c"]
set Arcs in N * N = csv("arcs.csv", index=["from", "to"])
data d : real[Arcs] = csv("caps.csv", value="cap", index=["from", "to"])
var x : real
minimize x ** 2
"""
    np.testing.assert_array_equal(optdsl.parse(text, folder=tmp_path).instance().data["d"].values, [3, 4, 1])


# --- safety ---------------------------------------------------------------------------------------


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    home, secret = tmp_path / "home", tmp_path / "secret"
    home.mkdir()
    secret.mkdir()
    np.save(secret / "a.npy", np.zeros(3))
    (home / "link.npy").symlink_to(secret / "a.npy")
    for name in ("../secret/a.npy", str(secret / "a.npy"), "link.npy"):
        assert mistake(home, f'data d : real[n] = npy("{name}")\n').code == "E303"
    allowed = optdsl.parse('data d : real[n] = npy("../secret/a.npy")\n', folder=home, allow_paths=[secret])
    assert allowed.instance().data["d"].values.shape == (3,)


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert mistake(tmp_path, 'data d : real[n] = npy("a.npy")\n').code == "E305"


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["a.npy", "a.npz", "a.csv", "a.json", "a.safetensors"]), st.data())
def test_damaged_files_give_only_diagnostics(
    tmp_path_factory: pytest.TempPathFactory, name: str, draw: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    A = np.arange(12.0).reshape(4, 3)
    if name == "a.npy":
        np.save(folder / name, A)
    elif name == "a.npz":
        np.savez(folder / name, A=A)
    elif name == "a.csv":
        (folder / name).write_text(LONG)
    elif name == "a.json":
        (folder / name).write_text(json.dumps(A.tolist()))
    else:
        from safetensors.numpy import save_file

        save_file({"A": A}, folder / name)
    content = bytearray((folder / name).read_bytes())
    for _ in range(draw.draw(st.integers(1, 4))):
        content[draw.draw(st.integers(0, len(content) - 1))] = draw.draw(st.integers(0, 255))
    (folder / name).write_bytes(bytes(content[: draw.draw(st.integers(1, len(content)))]))
    key = ', "A"' if name in ("a.npz", "a.safetensors") else ""
    text = f'data d : real[m, n] = {name[2:]}("{name}"{key})\n'
    try:
        optdsl.parse(text, folder=folder).instance()
    except OptError as error:
        assert error.diagnostics


MPS = """NAME          TESTPROB
ROWS
 N  COST
 L  LIM1
 G  LIM2
 E  MYEQN
COLUMNS
    X         COST         1.0   LIM1         1.0
    X         LIM2         1.0
    Y         COST         2.0   LIM1         1.0
    Y         MYEQN       -1.0
    Z         COST        -1.0   MYEQN        1.0
RHS
    RHS       LIM1         4.0   LIM2         1.0
    RHS       MYEQN        7.0
BOUNDS
 UP BND       X            4.0
 LO BND       Y           -1.0
 UP BND       Y            1.0
ENDATA
"""


def test_mps_by_its_parts(tmp_path: Path) -> None:
    """x = 1, y = −1, z = 6 by hand: z = 7 + y, so the cost is x + y − 7."""
    (tmp_path / "a.mps").write_text(MPS)
    parts = {"A": "m, n", "c": "n", "row_lower": "m", "row_upper": "m", "lower": "n", "upper": "n"}
    lines = [f'data my_{name} : real[{dims}] = mps("a.mps", "{name}")' for name, dims in parts.items()]
    rows = ["  my_A @ x <= my_row_upper", "  my_A @ x >= my_row_lower"]
    text = "\n".join([*lines, "var x : real[n] >= my_lower <= my_upper", "minimize my_c @ x", "subject to", *rows])
    report = optdsl.parse(text + "\n", folder=tmp_path).solve()
    assert report.verdict.kind == "optimal" and report.objective == pytest.approx(-7)
    np.testing.assert_allclose(report["x"], [1, -1, 6], atol=1e-8)
    (tmp_path / "a.mps").write_text("nothing of the kind\n")
    assert mistake(tmp_path, 'data A : real[m, n] = mps("a.mps", "A")\n').code == "E305"
