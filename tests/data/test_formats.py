"""Every format as another writer writes it: values, memory mapping, sparsity, and the digest of what was read."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import yaml

import optdsl
from optdsl.syntax.diagnostics import Diagnostic, OptError

rng = np.random.default_rng(7)


def data(folder: Path, type_and_value: str) -> Any:
    """What `data d : …` is bound to."""
    text = f"data d : {type_and_value}\nvar z : real\nminimize z ** 2\n"
    return optdsl.parse(text, folder=folder).instance().data["d"]


def values(folder: Path, type_and_value: str) -> Any:
    return data(folder, type_and_value).values


def refusal(folder: Path, type_and_value: str) -> Diagnostic:
    with pytest.raises(OptError) as caught:
        data(folder, type_and_value)
    return caught.value.diagnostics[0]


def mapped(array: Any) -> bool:
    """Whether the memory belongs to a file."""
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<f2", "<i8", "<i2", "|u1", ">i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_every_dtype_and_order(tmp_path: Path, dtype: str, order: str) -> None:
    A = np.asarray(rng.integers(0, 100, (5, 3)), dtype=dtype, order=order)  # type: ignore[call-overload]
    np.save(tmp_path / "a.npy", A)
    found = values(tmp_path, 'real[5, 3] = npy("a.npy")')
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, A)


def test_npy_stays_on_the_disk(tmp_path: Path) -> None:
    A = rng.standard_normal((50, 4))
    np.save(tmp_path / "a.npy", A)
    found = values(tmp_path, 'real[m, n] = npy("a.npy")')
    assert mapped(found) and not found.flags.writeable
    np.testing.assert_array_equal(found, A)


def test_npy_of_each_kind(tmp_path: Path) -> None:
    np.save(tmp_path / "b.npy", np.array([True, False]))
    np.save(tmp_path / "c.npy", np.array([1 + 2j, 3 - 1j]))
    np.save(tmp_path / "i.npy", np.array([2**53 + 1, -3]))
    np.save(tmp_path / "s.npy", np.float64(2.5))
    np.testing.assert_array_equal(values(tmp_path, 'bool[2] = npy("b.npy")'), [True, False])
    np.testing.assert_array_equal(values(tmp_path, 'complex[2] = npy("c.npy")'), [1 + 2j, 3 - 1j])
    assert values(tmp_path, 'int[2] = npy("i.npy")').tolist() == [2**53 + 1, -3]
    assert values(tmp_path, 'real = npy("s.npy")') == 2.5
    assert refusal(tmp_path, 'real[2] = npy("c.npy")').code == "E313"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path: Path, save: Any) -> None:
    A = rng.standard_normal((3, 2))
    save(tmp_path / "a.npz", A=A, B=np.arange(4))
    np.testing.assert_array_equal(values(tmp_path, 'real[3, 2] = npz("a.npz", "A")'), A)
    np.testing.assert_array_equal(values(tmp_path, 'int[4] = npz("a.npz", "B")'), range(4))
    found = refusal(tmp_path, 'real[3, 2] = npz("a.npz", "a")')
    assert found.code == "E306" and found.help == "did you mean 'A'?"
    assert refusal(tmp_path, 'real[3, 2] = npz("a.npz")').code == "E317"
    save(tmp_path / "one.npz", only=A)
    np.testing.assert_array_equal(values(tmp_path, 'real[3, 2] = npz("one.npz")'), A)


def test_safetensors_of_every_precision(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    W = torch.linspace(-3, 3, 12, dtype=torch.float64).reshape(3, 4)
    kinds = {"f8": W, "f4": W.float(), "f2": W.half(), "bf": W.bfloat16(), "i8": (W * 10).long(), "b1": W > 0}
    save_file({k: v.contiguous() for k, v in kinds.items()}, tmp_path / "w.safetensors")
    for name, tensor in kinds.items():
        kind = "bool" if name == "b1" else "int" if name == "i8" else "real"
        found = values(tmp_path, f'{kind}[3, 4] = safetensors("w.safetensors", "{name}")')
        np.testing.assert_array_equal(found, tensor.double().numpy())


def test_safetensors_by_numpy(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    A = rng.standard_normal((3, 4))
    save_file({"A": A, "none": np.zeros((0, 2)), "one": np.array(3.0)}, tmp_path / "a.safetensors")
    np.testing.assert_array_equal(values(tmp_path, 'real[m, n] = safetensors("a.safetensors", "A")'), A)
    assert values(tmp_path, 'real[m, 2] = safetensors("a.safetensors", "none")').shape == (0, 2)
    assert values(tmp_path, 'real = safetensors("a.safetensors", "one")') == 3.0


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_trees(tmp_path: Path, write: Any) -> None:
    A = rng.standard_normal((3, 2)).tolist()
    tree = {
        "deep": {"A": A, "n": 3, "cap": {"b": 2.5, "a": 1.5}, "yes": True},
        "cost": {"a": {"x": 1, "y": 2}, "b": {"y": 4, "x": 3}},
    }
    name = "t.json" if write is json.dumps else "t.yaml"
    (tmp_path / name).write_text(write(tree))
    reader = name[2:]
    np.testing.assert_array_equal(values(tmp_path, f'real[3, 2] = {reader}("{name}", "deep", "A")'), A)
    assert values(tmp_path, f'int = {reader}("{name}", "deep", "n")') == 3
    assert values(tmp_path, f'bool = {reader}("{name}", "deep", "yes")')
    sets = 'set P = ["a", "b"]\nset Q = ["y", "x"]\n'
    for declared, keys, wanted in (("P", '"deep", "cap"', [1.5, 2.5]), ("P, Q", '"cost"', [[2, 1], [4, 3]])):
        text = f'{sets}data d : real[{declared}] = {reader}("{name}", {keys})\nvar z : real\nminimize z ** 2\n'
        found = optdsl.parse(text, folder=tmp_path).instance().data["d"].values
        np.testing.assert_array_equal(found, wanted)
    found = refusal(tmp_path, f'real[3, 2] = {reader}("{name}", "deep", "B")')
    assert (found.code, found.help) == ("E306", "did you mean 'A'?")


def test_matrix_market_in_its_forms(tmp_path: Path) -> None:
    from scipy.io import mmwrite

    S = sp.random_array((6, 6), density=0.3, rng=np.random.default_rng(2), format="coo")
    symmetric = sp.csr_array(S + S.T)
    mmwrite(tmp_path / "general.mtx", S)
    mmwrite(tmp_path / "symmetric.mtx", symmetric, symmetry="symmetric")
    mmwrite(tmp_path / "pattern.mtx", S, field="pattern")
    mmwrite(tmp_path / "integer.mtx", sp.coo_array(np.diag([1, 2, 3])))
    mmwrite(tmp_path / "dense.mtx", S.toarray())
    for name, wanted in (("general", S), ("symmetric", symmetric), ("pattern", S != 0)):
        found = values(tmp_path, f'real[6, 6] = mtx("{name}.mtx")')
        assert sp.issparse(found) and found.format == "csr"
        np.testing.assert_allclose(found.toarray(), wanted.toarray())
    np.testing.assert_array_equal(values(tmp_path, 'int[3, 3] = mtx("integer.mtx")').toarray(), np.diag([1, 2, 3]))
    np.testing.assert_allclose(values(tmp_path, 'real[6, 6] = mtx("dense.mtx")'), S.toarray())


@pytest.mark.parametrize("zero_based", [True, False])
def test_libsvm(tmp_path: Path, zero_based: bool) -> None:
    from sklearn.datasets import dump_svmlight_file

    dense = sp.random_array((8, 5), density=0.5, rng=np.random.default_rng(3)).toarray()
    dense[0, [0, 4]] = 1.0
    X = sp.csr_array(dense)
    y = np.arange(8) % 2 * 2 - 1
    dump_svmlight_file(X, y, str(tmp_path / "x.libsvm"), zero_based=zero_based)
    found = values(tmp_path, 'real[8, 5] = libsvm("x.libsvm", "data")')
    assert sp.issparse(found)
    np.testing.assert_allclose(found.toarray(), X.toarray())
    np.testing.assert_array_equal(values(tmp_path, 'int[8] = libsvm("x.libsvm", "target")'), y)


def test_sparse_data_is_never_made_dense(tmp_path: Path) -> None:
    """10¹² entries, of which three are not zero."""
    (tmp_path / "s.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n1000000 1000000 3\n1 1 1\n5 7 2.5\n1000000 1000000 -1\n"
    )
    found = values(tmp_path, 'real[m, n] = mtx("s.mtx")')
    assert found.shape == (10**6, 10**6) and found.nnz == 3 and found[4, 6] == 2.5


def test_parquet(tmp_path: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        (tmp_path / "d.parquet").write_bytes(b"PAR1")
        found = refusal(tmp_path, 'real[n] = parquet("d.parquet", value="km")')
        assert (found.code, found.help) == ("E316", "pip install pyarrow")
        return
    pq.write_table(pa.table({"from": ["b", "a"], "km": [2.0, 1.0]}), tmp_path / "d.parquet")
    text = 'set P = ["a", "b"]\ndata d : real[P] = parquet("d.parquet", value="km", index="from")\nminimize 0\n'
    np.testing.assert_array_equal(optdsl.parse(text, folder=tmp_path).instance().data["d"].values, [1, 2])
    np.testing.assert_array_equal(values(tmp_path, 'real[n] = parquet("d.parquet", value="km")'), [2, 1])


def test_columns_of_a_csv(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("year,a,b,c\n2020,1,2,3\n2021,4,5,6\n")
    np.testing.assert_array_equal(values(tmp_path, 'real[2, 2] = csv("t.csv", columns=["c", "a"])'), [[3, 1], [6, 4]])
    np.testing.assert_array_equal(values(tmp_path, 'real[2] = csv("t.csv", value="b")'), [2, 5])
    found = refusal(tmp_path, 'real[2] = csv("t.csv", value="yaer")')
    assert (found.code, found.help) == ("E306", "did you mean 'year'?")
    assert refusal(tmp_path, 'real[2] = csv("t.csv", vlaue="b")').code == "E317"
    assert refusal(tmp_path, 'real[2] = csv("t.csv", "b")').code == "E317"


def test_numbers_as_people_write_them(tmp_path: Path) -> None:
    """BOM, CRLF, quotes, outer spaces, a typographic minus, exponents, blank lines at the end."""
    (tmp_path / "t.csv").write_bytes('\ufeffa,b\r\n"1.5", −2 \r\n1e3,+.5\r\n\r\n \r\n,\r\n'.encode())
    np.testing.assert_array_equal(values(tmp_path, 'real[2, 2] = csv("t.csv")'), [[1.5, -2], [1000, 0.5]])


def test_draws_are_those_of_numpys_default_generator(tmp_path: Path) -> None:
    wanted = np.random.default_rng(5).normal(1.0, 2.0, (3, 2))
    np.testing.assert_array_equal(values(tmp_path, "real[3, 2] = normal([3, 2], 1, 2, seed=5)"), wanted)
    wanted = np.random.default_rng(5).uniform(-1.0, 1.0, 4)
    np.testing.assert_array_equal(values(tmp_path, "real[4] = uniform(4, -1, 1, seed=5)"), wanted)


# --- digests --------------------------------------------------------------------------------------


def test_the_digest_is_of_the_file_as_it_lies_there(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1,2\n3,4\n")
    found = data(tmp_path, 'real[2, 2] = csv("t.csv")')
    assert found.sha256 == hashlib.sha256((tmp_path / "t.csv").read_bytes()).hexdigest()
    assert found.path == str(tmp_path / "t.csv")
    assert data(tmp_path, 'real[2, 2] = csv("t.csv")').sha256 == found.sha256
    (tmp_path / "t.csv").write_text("1,2\n3,5\n")
    assert data(tmp_path, 'real[2, 2] = csv("t.csv")').sha256 != found.sha256


@pytest.mark.parametrize(
    "change",
    [lambda A: A.reshape(2, 6), lambda A: A.astype(np.float32), lambda A: np.where(A == 3, np.nextafter(3, 4), A)],
    ids=["shape", "dtype", "bit"],
)
def test_the_digest_of_an_array_sees_every_change(change: Any) -> None:
    from optdsl.data.from_python import from_python

    A = np.arange(12.0).reshape(3, 4)
    digest = from_python(A, "A").source.sha256
    assert from_python(np.asfortranarray(A), "A").source.sha256 == digest
    assert from_python(change(A), "A").source.sha256 != digest


def test_the_digest_of_a_sparse_matrix() -> None:
    from optdsl.data.from_python import from_python

    S = sp.csr_array(np.diag([1.0, 2.0, 0.0]))
    digest = from_python(S, "S").source.sha256
    assert from_python(sp.coo_array(S), "S").source.sha256 == digest
    assert from_python(sp.csr_array(np.diag([1.0, 0.0, 2.0])), "S").source.sha256 != digest


def test_a_suffix_that_is_none_of_ours(tmp_path: Path) -> None:
    from optdsl.data.files import read_given

    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(b"1")
    with pytest.raises(OptError) as caught:
        read_given(tmp_path / "a.gz")
    assert caught.value.diagnostics[0].code == "E305"
