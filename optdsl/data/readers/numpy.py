"""NumPy's `npy` and `npz`; large arrays are memory-mapped, pickled objects are never loaded."""

from __future__ import annotations

import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optdsl.data.values import Array, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, no_such_key, reader_argument
from optdsl.syntax.source import Cell, Span

NAMES = ("npy", "npz")
SUFFIXES = {".npy": "npy", ".npz": "npz"}
#: Bytes from which an uncompressed member of an archive is mapped rather than read.
MAPPED_FROM = 1 << 26
#: Bytes to which a compressed member may unpack, and bytes from which it may do so by no more than the factor UNPACKED.
LARGEST, SUSPECT, UNPACKED = 1 << 33, 1 << 30, 1000
#: What NumPy and zipfile raise on damaged files.
DAMAGE = (
    ValueError, KeyError, TypeError, OverflowError, SyntaxError, RuntimeError, NotImplementedError, EOFError, UserWarning,
    RuntimeWarning, tokenize.TokenError, zipfile.BadZipFile, zlib.error, struct.error,
)  # fmt: skip


def read(name: str, path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    """Raises E305 for a damaged file, for pickled objects and for a dtype that is no number; E306 for an unknown array."""
    if kwargs or len(args) > (name == "npz"):
        what = "a file and the name of an array in it" if name == "npz" else "a file only; it holds one array"
        raise OptError(reader_argument(span, name, f"takes {what}"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            warnings.simplefilter("error", RuntimeWarning)
            if name == "npz":
                values, key = _member(path, args, shown, span)
                description = f"npz({shown!r}, {key!r})"
            else:
                values = np.load(path, mmap_mode="r", allow_pickle=False)
                description = f"npy({shown!r})"
                if not isinstance(values, np.ndarray):
                    values.close()
                    raise ValueError("it is an archive; read it by npz(…)")
    except DAMAGE as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OptError(damaged_file(span, shown, name, why)) from None
    if values.dtype.kind not in "biufcU":
        raise OptError(damaged_file(span, shown, name, f"its dtype {values.dtype} is no number"))
    return Array(values, (None,) * values.ndim, file_source(description, path), lambda index: Cell(shown))


def _member(path: Path, args: Sequence[Any], shown: str, span: Span | None) -> tuple[Any, str]:
    """The array of an archive and its name."""
    with zipfile.ZipFile(path) as archive:
        present = [n.removesuffix(".npy") for n in archive.namelist() if n.endswith(".npy")]
        key = _key(present, args, shown, span)
        info = archive.getinfo(key + ".npy")
        _refuse_bomb(info, key)
        with archive.open(info) as member:
            version = np.lib.format.read_magic(member)
            if version not in ((1, 0), (2, 0), (3, 0)):
                raise ValueError(f"version {version} of the format is unknown")
            shape, fortran, dtype = _header(member, version)
            start = member.tell()
        if dtype.hasobject:
            raise ValueError("it holds pickled objects, which are never loaded")
        if start + int(np.prod(shape, dtype=object)) * dtype.itemsize != info.file_size:
            raise ValueError(f"{key!r} is not as long as its shape {list(shape)} says")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size < MAPPED_FROM:
            with archive.open(info) as member:
                return np.lib.format.read_array(member, allow_pickle=False), key
        with archive.open(info) as member:  # reading to the end compares the checksum
            while member.read(1 << 22):
                pass
    with path.open("rb") as file:
        file.seek(info.header_offset + 26)
        name_length, extra_length = struct.unpack("<HH", file.read(4))
    offset = info.header_offset + 30 + name_length + extra_length + start
    return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C"), key


def _refuse_bomb(info: zipfile.ZipInfo, key: str) -> None:
    """A compressed member may claim any size; zeros shrink by a factor of 1030, so that a small file may fill the memory."""
    if info.compress_type == zipfile.ZIP_STORED:
        return
    size = f"{key!r} unpacks to {info.file_size / 2**30:.1f} GiB"
    if info.file_size > LARGEST:
        raise ValueError(f"{size}; a compressed array may have {LARGEST >> 30}, one saved by np.savez any number")
    if info.file_size > SUSPECT and info.file_size > UNPACKED * info.compress_size:
        raise ValueError(f"{size}, more than {UNPACKED} times what it has in the file")


def _header(member: Any, version: tuple[int, int]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(member)
    return np.lib.format.read_array_header_2_0(member)


def _key(present: Sequence[str], args: Sequence[Any], shown: str, span: Span | None) -> str:
    if not args:
        if len(present) == 1:
            return present[0]
        held = f"needs the name of one of {', '.join(present)}" if present else "holds no array"
        raise OptError(reader_argument(span, "npz", held))
    if args[0] not in present:
        raise OptError(no_such_key(span, shown, str(args[0]), list(present)))
    return str(args[0])
