"""Values given by the caller: arrays without a copy, tensors, frames, sparse matrices, lists and mappings of labels."""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import optdsl
from optdsl.syntax.diagnostics import Diagnostic, OptError

A = np.random.default_rng(0).standard_normal((3, 2))


def given(value: Any, declared: str = "real[m, n]", before: str = "") -> Any:
    text = f"{before}data d : {declared}\nvar z : real\nminimize z ** 2\n"
    return optdsl.parse(text).instance(data={"d": value}).data["d"].values


def refusal(value: Any, declared: str = "real[m, n]", before: str = "") -> Diagnostic:
    with pytest.raises(OptError) as caught:
        given(value, declared, before)
    return caught.value.diagnostics[0]


def test_an_array_is_taken_without_a_copy_and_left_writable() -> None:
    mine = A.copy()
    found = given(mine)
    assert np.shares_memory(found, mine) and not found.flags.writeable and mine.flags.writeable
    mine[0, 0] = 3.0
    with pytest.raises(ValueError, match="read-only"):
        found[0, 0] = 1.0


def test_a_read_only_array_stays_the_one_it_is() -> None:
    mine = A.copy()
    mine.flags.writeable = False
    assert np.shares_memory(given(mine), mine)


@pytest.mark.parametrize(
    ("value", "declared", "wanted"),
    [
        (A.tolist(), "real[m, n]", A),
        (tuple(map(tuple, A)), "real[m, n]", A),
        (np.asfortranarray(A), "real[m, n]", A),
        (A[::-1, ::-1], "real[m, n]", A[::-1, ::-1]),
        (A.astype(np.float32), "real[m, n]", A.astype(np.float32)),
        ([1, 2, 3], "real[3]", [1, 2, 3]),
        (range(3), "int[3]", [0, 1, 2]),
        (2.5, "real", 2.5),
        (np.float32(2.5), "real", 2.5),
        (np.array(2.5), "real", 2.5),
        (3, "int", 3),
        (3.0, "int", 3),
        (True, "bool", True),
        (1, "bool", True),
        (1 + 2j, "complex", 1 + 2j),
        ([1, 2.5], "complex[2]", [1, 2.5]),
        ([True, False], "real[2]", [1, 0]),
        ([2.0, 3.0], "int[2]", [2, 3]),
        ([0.0, 1.0], "bool[2]", [False, True]),
        (np.array([1, 2], dtype=np.uint8), "int[2]", [1, 2]),
        ([], "real[0]", []),
        (np.zeros((0, 3)), "real[m, 3]", np.zeros((0, 3))),
        (np.inf, "real", np.inf),
        ([-np.inf, 1], "real[2]", [-np.inf, 1]),
        (np.matrix([[1.0, 2.0]]), "real[1, 2]", [[1, 2]]),
        (np.ma.masked_array([1.0, 2.0], [False, False]), "real[2]", [1, 2]),
    ],
)
def test_values_of_each_type(value: Any, declared: str, wanted: Any) -> None:
    found = given(value, declared)
    np.testing.assert_array_equal(found, wanted)
    kinds = {"real": "float64", "int": "int64", "bool": "bool", "complex": "complex128"}
    assert str(found.dtype) == kinds[declared.split("[")[0]]


@pytest.mark.parametrize(
    ("value", "declared", "code"),
    [
        ([2.0, 2.5], "int[2]", "E313"),
        ([0, 2], "bool[2]", "E313"),
        ([1 + 1j, 0], "real[2]", "E313"),
        (np.array([2**63 + 5], dtype=np.uint64), "int[1]", "E313"),
        ([1e300, 0], "int[2]", "E313"),
        (["a", "b"], "real[2]", "E313"),
        ([1.0, np.nan], "real[2]", "E312"),
        ([1.0, complex(0, np.nan)], "complex[2]", "E312"),
        ([1.0, None], "real[2]", "E318"),
        ([[1, 2], [3]], "real[2, 2]", "E318"),
        (object(), "real", "E318"),
        ([1.0, object()], "real[2]", "E318"),
        ({1.0, 2.0}, "real[2]", "E318"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "real[1]", "E318"),
        (np.zeros(2, dtype=[("a", float)]), "real[2]", "E318"),
        (lambda: 1.0, "real", "E318"),
        ([1, 2, 3], "real[2]", "E314"),
        ([[1, 2]], "real[2]", "E314"),
        (1.0, "real[1]", "E314"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "real[2]", None),
        (10**400, "real", None),
    ],
)
def test_values_that_are_refused(value: Any, declared: str, code: str | None) -> None:
    found = refusal(value, declared).code
    assert found == code or (code is None and found.startswith("E31"))


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    T = torch.tensor(A, requires_grad=True)
    np.testing.assert_array_equal(given(T), A)
    assert np.shares_memory(given(T.detach()), T.detach().numpy())
    np.testing.assert_array_equal(given(T.detach().bfloat16()), T.detach().bfloat16().double().numpy())
    np.testing.assert_array_equal(given(T.detach().half()), T.detach().half().double().numpy())
    np.testing.assert_array_equal(given(torch.tensor([1, 2]), "int[2]"), [1, 2])
    np.testing.assert_array_equal(given(torch.complex(T, T).detach().conj(), "complex[3, 2]"), A - 1j * A)
    sparse = given(torch.eye(3, dtype=torch.float64).to_sparse(), "real[3, 3]")
    np.testing.assert_array_equal(sparse.toarray() if sp.issparse(sparse) else sparse, np.eye(3))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
def test_sparse_matrices_stay_sparse(form: str) -> None:
    S = sp.csr_array(np.triu(A.T @ A)).asformat(form)
    before = S.toarray()
    for value in (S, getattr(sp, f"{form}_matrix")(S)):
        found = given(value)
        assert sp.issparse(found) and found.format == "csr"
        np.testing.assert_array_equal(found.toarray(), before)
    np.testing.assert_array_equal(S.toarray(), before)


def test_a_sparse_matrix_over_a_set() -> None:
    found = given(sp.eye_array(2, 3), "real[P, 3]", 'set P = ["a", "b"]\n')
    assert sp.issparse(found) and found.shape == (2, 3)
    assert refusal(sp.eye_array(4, 3), "real[P, 3]", 'set P = ["a", "b"]\n').code == "E314"


def test_entries_given_twice_in_a_sparse_matrix_add_up() -> None:
    S = sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    np.testing.assert_array_equal(given(S).toarray(), [[0, 3], [0, 0]])


def test_frames() -> None:
    pd = pytest.importorskip("pandas")
    sets = 'set P = ["a", "b", "c"]\nset Q = ["x", "y"]\n'
    frame = pd.DataFrame(A, index=["a", "b", "c"], columns=["x", "y"])
    np.testing.assert_array_equal(given(frame.iloc[::-1, ::-1], "real[P, Q]", sets), A)
    np.testing.assert_array_equal(given(frame.x.iloc[::-1], "real[P]", sets), A[:, 0])
    np.testing.assert_array_equal(given(pd.DataFrame(A)), A)
    np.testing.assert_array_equal(given(pd.Series([1, 2], dtype="Int64"), "int[2]"), [1, 2])
    assert refusal(frame.rename(index={"a": "A"}), "real[P, Q]", sets).code == "E310"
    assert refusal(frame.iloc[:2], "real[P, Q]", sets).code == "E311"
    assert refusal(frame.iloc[[0, 1, 1, 2]], "real[P, Q]", sets).code == "E309"
    years = pd.Series([2.0, 1.0], index=[2021, 2020])
    np.testing.assert_array_equal(given(years, "real[Y]", "set Y = 2020..2021\n"), [1, 2])


def test_frames_with_a_multi_index_are_long_tables() -> None:
    pd = pytest.importorskip("pandas")
    sets = 'set P = ["a", "b"]\nset Q = ["x", "y"]\n'
    index = pd.MultiIndex.from_tuples([("b", "y"), ("a", "x"), ("b", "x"), ("a", "y")])
    np.testing.assert_array_equal(given(pd.Series([4.0, 1, 3, 2], index=index), "real[P, Q]", sets), [[1, 2], [3, 4]])


def test_frames_of_other_libraries() -> None:
    """Anything with `to_numpy`, as polars' frames have."""
    np.testing.assert_array_equal(given(SimpleNamespace(to_numpy=lambda: A)), A)


def test_mappings_of_labels() -> None:
    sets = 'set P = ["a", "b"]\nset Q = ["x", "y", "z"]\n'
    np.testing.assert_array_equal(given({"b": 2, "a": 1}, "int[P]", sets), [1, 2])
    np.testing.assert_array_equal(given(OrderedDict(b=[3, 4], a=[1, 2]), "real[P, 2]", sets), [[1, 2], [3, 4]])
    nested = {"b": {"x": 4, "z": 6, "y": 5}, "a": {"z": 3, "y": 2, "x": 1}}
    np.testing.assert_array_equal(given(nested, "real[P, Q]", sets), [[1, 2, 3], [4, 5, 6]])
    keyed = {(p, q): v for p, row in nested.items() for q, v in row.items()}
    np.testing.assert_array_equal(given(keyed, "real[P, Q]", sets), [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(given({1: 5.0, 0: 4.0}, "real[Y]", "set Y = 0..1\n"), [4, 5])


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"a": {"x": 1, "y": 2}, "b": {"x": 1}}, ("E318", "E308")),
        ({"a": {"x": 1, "y": 2}, "b": 3}, ("E318",)),
        ({"a": {"x": 1, "y": 2}, "c": {"x": 1, "y": 2}}, ("E310",)),
        ({"a": {"x": 1, "y": 2}}, ("E311", "E308")),
        ({("a", "x"): 1, ("b", "x"): 1}, ("E308",)),
        ({("a", "x"): 1, "b": 1}, ("E318",)),
        ({("a", "x"): 1, ("b", "x", "z"): 1}, ("E318",)),
        ({("a", "x"): "one", ("b", "x"): 1}, ("E318", "E313")),
        ({}, ("E314", "E311", "E308", "E318")),
    ],
)
def test_mappings_that_do_not_fit(value: Any, code: tuple[str, ...]) -> None:
    assert refusal(value, "real[P, Q]", 'set P = ["a", "b"]\nset Q = ["x", "y"]\n').code in code


def test_literals_in_the_file() -> None:
    text = """
set P = ["a", "b"]
data d : real[P] = {"b": 2, "a": 1}
data e : real[2, 2] = [[1, 2], [3, 4]]
data f : real[P, 2] = {"b": [3, 4], "a": [1, 2]}
var z : real
minimize z ** 2
"""
    found = optdsl.parse(text).instance().data
    assert found["d"].values.tolist() == [1, 2]
    assert found["e"].values.tolist() == found["f"].values.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(OptError) as caught:
        optdsl.parse(text.replace('"b": 2', '"c": 2')).instance()
    assert caught.value.diagnostics[0].code == "E310"


def test_a_param_given_at_run_time() -> None:
    problem = optdsl.parse("param mu : real >= 0 = 0.5\nvar z : real\nminimize (z - mu) ** 2\n")
    assert problem.instance(params={"mu": 2}).data["mu"].values == 2.0
    with pytest.raises(OptError):
        problem.instance(params={"mu": -1})
