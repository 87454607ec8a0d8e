"""Arrays in a report: small ones as nested JSON lists, large ones in one npz file beside the report.

JSON has no NaN and no infinities: they are the strings "nan", "inf" and "-inf", wherever a number may stand.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, PrivateAttr, WithJsonSchema
from typing_extensions import TypeAliasType

from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.run import altered_file, unreadable_file

#: An array, or the labels of an axis, with more entries than this goes to the file beside the report.
INLINE_LIMIT = 10_000

NON_FINITE = ("nan", "inf", "-inf")


def plain_number(value: float) -> float | str:
    """The number as JSON takes it: "nan", "inf" and "-inf" for what is not finite."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _number(value: Any) -> Any:
    if isinstance(value, str):
        if value not in NON_FINITE:
            raise ValueError("a number is a JSON number or one of " + ", ".join(NON_FINITE))
        return float(value)
    return value


def plain_data(value: Any) -> Any:
    """Options and facts as JSON takes them: tuples become lists, NumPy numbers plain ones, other objects text."""
    if isinstance(value, Mapping):
        return {str(k): plain_data(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain_data(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_data(v) for v in value]
    if isinstance(value, np.generic):
        return plain_data(value.item())
    if isinstance(value, float):
        return plain_number(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


Number = Annotated[
    float,
    BeforeValidator(_number),
    PlainSerializer(plain_number, when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"enum": list(NON_FINITE)}]}),
]

Nested = TypeAliasType("Nested", Union[bool, int, float, Literal["nan", "inf", "-inf"], "list[Nested]"])
Label = Union[int, str, "list[int | str]"]


class Record(BaseModel):
    """Base of every part of a report: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class FileKey(Record):
    """Where an array is kept: the npz file, named relative to the report's folder, and the array's key in it."""

    name: str
    key: str
    sha256: str


class Values(Record):
    """One array with the labels of its axes (null where an axis has none), inline or in the file beside the report."""

    shape: list[int]
    dtype: str
    labels: list[list[Label] | FileKey | None] = Field(default_factory=list)
    values: Nested | None = None
    file: FileKey | None = None
    _array: NDArray[Any] | None = PrivateAttr(None)

    @classmethod
    def of(cls, array: Any, labels: Sequence[Sequence[Any] | None] | None = None) -> Values:
        """A copy of the array, as it is to be kept. `labels` holds one list an axis, or None."""
        a = np.array(array)
        named = [None if one is None else [_label(x) for x in one] for one in labels or [None] * a.ndim]
        values = None if a.size > INLINE_LIMIT else _nested(a)
        made = cls(shape=list(a.shape), dtype=a.dtype.name, labels=named, values=values)
        a.setflags(write=False)
        made._array = a
        return made

    def array(self, folder: Path | None = None) -> NDArray[Any]:
        """The array; read from the file in `folder` where it is kept there. Raises OptError if that file is altered."""
        if self._array is None:
            where = "the report" if self.file is None else self.file.name
            try:
                read = (
                    np.array(_floats(self.values), dtype=self.dtype)
                    if self.file is None
                    else load_array(self.file, folder)
                )
                self._array = read.astype(self.dtype, copy=False).reshape(self.shape)
            except (TypeError, ValueError):
                raise OptError(altered_file(where, f"it holds no array of {self.dtype}{self.shape}")) from None
        return self._array

    def axis_labels(self, axis: int, folder: Path | None = None) -> list[Label] | None:
        """The labels along one axis, or None."""
        kept = self.labels[axis] if axis < len(self.labels) else None
        if isinstance(kept, FileKey):
            labels: list[Label] = json.loads(load_array(kept, folder).tobytes().decode())
            return labels
        return kept

    def spill(self, prefix: str, name: str, folder: Path | None) -> tuple[Values, dict[str, NDArray[Any]]]:
        """The same with what is large replaced by keys of the file `name` (its digest is filled in by the caller), and
        the arrays that the file must hold."""
        out: dict[str, NDArray[Any]] = {}
        labels: list[list[Label] | FileKey | None] = []
        for axis in range(len(self.labels)):
            one = self.axis_labels(axis, folder)
            if one is not None and len(one) > INLINE_LIMIT:
                key = f"{prefix}/labels/{axis}"
                out[key] = np.frombuffer(json.dumps(one, ensure_ascii=False).encode(), dtype=np.uint8)
                labels.append(FileKey(name=name, key=key, sha256=""))
            else:
                labels.append(one)
        changes: dict[str, Any] = {"labels": labels}
        if math.prod(self.shape) > INLINE_LIMIT:
            out[prefix] = self.array(folder)
            changes |= {"values": None, "file": FileKey(name=name, key=prefix, sha256="")}
        return self.model_copy(update=changes), out

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Values:
        """The array itself is read-only and shared."""
        made = self.model_copy()
        made._array = self._array
        return made

    def references(self) -> Iterator[FileKey]:
        """Every reference to a file."""
        if self.file is not None:
            yield self.file
        yield from (one for one in self.labels if isinstance(one, FileKey))


def _nested(a: NDArray[Any]) -> Any:
    if a.dtype.kind == "f" and not np.isfinite(a).all():
        words = a.astype(object)
        for at in np.argwhere(~np.isfinite(a)):
            words[tuple(at)] = plain_number(float(a[tuple(at)]))
        return words.tolist()
    return a.tolist()


def _floats(values: Any) -> Any:
    if isinstance(values, list):
        return [_floats(v) for v in values]
    return float(values) if isinstance(values, str) else values


def _label(x: Any) -> Label:
    if isinstance(x, tuple | list):
        return [_label(part) for part in x]  # type: ignore[misc]
    return int(x) if isinstance(x, int | np.integer) else str(x)


def shown_label(label: Label) -> str:
    """`Seattle`, `3`, or `Seattle, Topeka` for a tuple."""
    return ", ".join(str(part) for part in label) if isinstance(label, list) else str(label)


def pack(arrays: Mapping[str, NDArray[Any]]) -> tuple[bytes, str]:
    """The npz file's content and its SHA-256."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    content = buffer.getvalue()
    return content, hashlib.sha256(content).hexdigest()


def load_array(where: FileKey, folder: Path | None) -> NDArray[Any]:
    """One array of the file beside a report; the file must have the digest that the report states."""
    path = (folder or Path()) / where.name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise OptError(unreadable_file(str(path), error.strerror or str(error))) from None
    if hashlib.sha256(content).hexdigest() != where.sha256:
        raise OptError(altered_file(str(path), "its SHA-256 is not the one that the report states"))
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        if where.key not in archive.files:
            raise OptError(altered_file(str(path), f"it has no array `{where.key}`"))
        found: NDArray[Any] = archive[where.key]
        return found
