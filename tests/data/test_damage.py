"""Files from a stranger: cut off, altered, or made to be vast. They end in a diagnostic, never in a traceback or in memory
that a small file did not earn."""

from __future__ import annotations

import io
import json
import pickle
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import optdsl
from optdsl.data.files import read_given
from optdsl.syntax.diagnostics import Diagnostic, OptError

A = np.arange(12.0).reshape(4, 3)
#: Address space for reading a hostile file, beyond what the process has: enough for any honest small file.
ROOM = 1 << 30


def npy_bytes(array: Any, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def npz_bytes() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, A=A)
    return buffer.getvalue()


def safetensors_bytes() -> bytes:
    from safetensors.numpy import save

    return save({"A": A})


def mtx_bytes() -> bytes:
    from scipy.io import mmwrite

    buffer = io.BytesIO()
    mmwrite(buffer, sp.coo_array(A))
    return buffer.getvalue()


WHOLE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a.npy": (lambda: npy_bytes(A), ""),
    "a.npz": (npz_bytes, ', "A"'),
    "a.safetensors": (safetensors_bytes, ', "A"'),
    "a.csv": (lambda: b'plant,"New York",Chicago\nSeattle,2.5,1.7\n"San Diego",2.5,1.8\n', ""),
    "a.json": (lambda: json.dumps({"A": A.tolist()}).encode(), ', "A"'),
    "a.yaml": (lambda: b"A:\n- [1, 2.5]\n- [3, 1e-3]\nB: {x: 1, y: .inf}\n", ', "A"'),
    "a.mtx": (mtx_bytes, ""),
    "a.libsvm": (lambda: b"1 1:0.5 3:2\n-1 2:1 3:4 # note\n", ""),
}


def read(folder: Path, name: str, key: str = "", shape: str = "[m, n]") -> None:
    reader = name.rsplit(".", 1)[1]
    text = f'data d : real{shape} = {reader}("{name}"{key})\nvar z : real\nminimize z ** 2\n'
    optdsl.parse(text, folder=folder).instance()


def refusal(folder: Path, name: str, key: str = "") -> Diagnostic:
    with pytest.raises(OptError) as caught:
        read(folder, name, key)
    return caught.value.diagnostics[0]


# --- cut off and altered --------------------------------------------------------------------------


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data())
def test_altered_bytes(tmp_path: Path, name: str, draw: st.DataObject) -> None:
    """Bytes changed, put in, taken out, and the end cut off: a value or a diagnostic."""
    content = bytearray(WHOLE[name][0]())
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.integers(0, len(content) - 1))
        match draw.draw(st.sampled_from(["change", "insert", "remove"])):
            case "change":
                content[at] = draw.draw(st.integers(0, 255))
            case "insert":
                content[at:at] = draw.draw(st.binary(min_size=1, max_size=4))
            case _:
                del content[at : at + draw.draw(st.integers(1, 8))]
        if not content:
            break
    (tmp_path / name).write_bytes(bytes(content))
    for attempt in (lambda: read(tmp_path, name, WHOLE[name][1]), lambda: read_given(tmp_path / name)):
        try:
            attempt()
        except OptError as error:
            assert error.diagnostics


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=200), st.text(max_size=80).map(lambda t: t.encode("utf-8", "replace"))))
def test_noise(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    try:
        read(tmp_path, name, WHOLE[name][1])
    except OptError as error:
        assert error.diagnostics


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.safetensors", "a.json"])
def test_every_cut_is_noticed(tmp_path: Path, name: str) -> None:
    content = WHOLE[name][0]()
    for length in range(0, len(content), 1 + len(content) // 40):
        (tmp_path / name).write_bytes(content[:length])
        assert refusal(tmp_path, name, WHOLE[name][1]).code == "E305", length


def test_an_altered_member_of_an_archive_is_noticed(tmp_path: Path) -> None:
    """The checksum of a stored member is compared."""
    np.savez(tmp_path / "a.npz", A=A)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    at = content.index(struct.pack("<d", 7.0))
    content[at] ^= 1
    (tmp_path / "a.npz").write_bytes(bytes(content))
    assert refusal(tmp_path, "a.npz", ', "A"').code == "E305"


# --- code in data ---------------------------------------------------------------------------------


class Trap:
    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return sys.exit, ("a pickle was loaded",)


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    trapped = np.array([Trap()], dtype=object)
    (tmp_path / "a.npy").write_bytes(npy_bytes(trapped, allow_pickle=True))
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Trap()))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("A.npy", npy_bytes(trapped, allow_pickle=True))
        archive.writestr("B.npy", pickle.dumps(Trap()))
    for name, key in (("a.npy", ""), ("b.npy", ""), ("a.npz", ', "A"'), ("a.npz", ', "B"')):
        assert refusal(tmp_path, name, key).code == "E305"


@pytest.mark.parametrize(
    "text",
    [
        '!!python/object/apply:os.system ["true"]',
        "!!python/name:os.system",
        "!!binary aGk=",
        "!!int x",
        "!!timestamp x",
    ],
)
def test_yaml_tags_are_never_obeyed(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text + "\n")
    assert refusal(tmp_path, "a.yaml").code in ("E305", "E318")


# --- vast claims ----------------------------------------------------------------------------------


@pytest.fixture
def little_room() -> Iterator[None]:
    """The process may take no more than ROOM bytes beyond what it has."""
    resource = pytest.importorskip("resource")
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else None
    if pages is None:
        pytest.skip("the size of the process is not known here")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def vast_npy(shape: tuple[int, ...]) -> bytes:
    """A header that claims `shape`, and 64 bytes."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return buffer.getvalue() + b"\0" * 64


@pytest.mark.parametrize("shape", [(10**6, 10**6), (2**62, 8), (2**40,), (-1, 5), (9,)])
def test_npy_that_claims_more_than_it_holds(tmp_path: Path, little_room: object, shape: tuple[int, ...]) -> None:
    (tmp_path / "a.npy").write_bytes(vast_npy(shape))
    assert refusal(tmp_path, "a.npy").code == "E305"
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
            archive.writestr("A.npy", vast_npy(shape))
        assert refusal(tmp_path, "a.npz", ', "A"').code == "E305"


def test_archives_that_unpack_to_far_more_than_they_are(tmp_path: Path, little_room: object) -> None:
    """2 GiB of zeros in 2 MB is a bomb, 64 MB of zeros are not; a bomb's directory and header agree."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("A.npy", npy_bytes(np.zeros((2000, 4000))))
    read(tmp_path, "a.npz", ', "A"')
    for size in (1 << 31, (1 << 32) - 2):
        claimed_archive(tmp_path / "b.npz", size, compressed=size // 1030)
        found = refusal(tmp_path, "b.npz", ', "A"')
        assert found.code == "E305" and "times" in found.message


def claimed_archive(path: Path, size: int, compressed: int | None = None) -> None:
    """One deflated member whose directory claims `size` bytes, with a header to match; the stream holds 64 bytes."""
    head = vast_npy((size - 128,)).replace(b"<f8", b"|u1")
    assert len(head) == 192
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("A.npy", head)
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\1\2")
    content[at + 24 : at + 28] = struct.pack("<I", size)
    if compressed is not None:
        content[at + 20 : at + 24] = struct.pack("<I", compressed)
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("size", [1000, 1 << 29])
def test_a_member_that_lies_about_its_size(tmp_path: Path, little_room: object, size: int) -> None:
    claimed_archive(tmp_path / "a.npz", size)
    assert refusal(tmp_path, "a.npz", ', "A"').code == "E305"


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64", "shape": [10**6, 10**6], "data_offsets": [0, 8 * 10**12]},
        {"dtype": "F64", "shape": [10**6, 10**6], "data_offsets": [0, 64]},
        {"dtype": "F64", "shape": [2**62, 2**62], "data_offsets": [0, 64]},
        {"dtype": "F64", "shape": [8], "data_offsets": [64, 0]},
        {"dtype": "F64", "shape": [8], "data_offsets": [-8, 56]},
        {"dtype": "F64", "shape": [-8], "data_offsets": [0, 64]},
        {"dtype": "F99", "shape": [8], "data_offsets": [0, 64]},
        {"shape": [8], "data_offsets": [0, 64]},
        [],
    ],
)
def test_safetensors_that_claim_more_than_they_hold(tmp_path: Path, little_room: object, entry: object) -> None:
    header = json.dumps({"A": entry}).encode()
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 64)
    assert refusal(tmp_path, "a.safetensors", ', "A"').code == "E305"


@pytest.mark.parametrize("length", [2**62, 2**31, 99, 0])
def test_safetensors_with_a_vast_header(tmp_path: Path, little_room: object, length: int) -> None:
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", length) + b"{}")
    assert refusal(tmp_path, "a.safetensors", ', "A"').code == "E305"


@pytest.mark.parametrize(
    "header",
    [
        "coordinate real general\n999999999999 999999999999 999999999999\n1 1 1",
        "coordinate real general\n10 10 999999999\n1 1 1",
        "coordinate real general\n999999999999 1 1\n1 1 1",
        "array real general\n200000 200000\n1",
        "coordinate real general\n2 2 1\n3 3 1",
        "coordinate real general\n2 2 2\n1 1 1",
        "coordinate real sideways\n2 2 1\n1 1 1",
    ],
)
def test_matrix_market_that_claims_more_than_it_holds(tmp_path: Path, little_room: object, header: str) -> None:
    (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix {header}\n")
    assert refusal(tmp_path, "a.mtx").code in ("E305", "E219")


def test_libsvm_with_a_vast_index(tmp_path: Path, little_room: object) -> None:
    (tmp_path / "a.libsvm").write_text("1 1:2 99999999999999999999:1\n")
    assert refusal(tmp_path, "a.libsvm").code == "E305"


@pytest.mark.parametrize("index", [10**12, 10**30, -1])
def test_tables_with_a_vast_index(tmp_path: Path, little_room: object, index: int) -> None:
    (tmp_path / "a.csv").write_text(f"i,j,v\n0,0,1\n{index},{index},2\n")
    for default in ("", ", default=0"):
        text = (
            f'data d : real[m, n] = csv("a.csv", value="v", index=["i", "j"]{default})\nvar z : real\nminimize z ** 2\n'
        )
        with pytest.raises(OptError) as caught:
            optdsl.parse(text, folder=tmp_path).instance()
        assert caught.value.diagnostics[0].code in ("E219", "E310", "E308")


def test_yaml_that_doubles_itself(tmp_path: Path, little_room: object) -> None:
    lines = ["a0: &a0 [1, 1]", *(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]" for k in range(1, 40))]
    (tmp_path / "a.yaml").write_text("\n".join(lines) + "\n")
    assert refusal(tmp_path, "a.yaml", ', "a39"').code == "E305"


@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_trees_of_great_depth(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[" * 3_000 + "]" * 3_000)
    assert refusal(tmp_path, name).code in ("E305", "E318")


@pytest.mark.parametrize(
    "text", ["9" * 100_000, "[1, " + "9" * 5_000 + "]", "[1e999]", "[NaN]", "[1, null]", '["a"]', "{}"]
)
def test_odd_numbers_of_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert refusal(tmp_path, "a.json").code.startswith("E3")
