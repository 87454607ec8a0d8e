"""Values without a file: scikit-learn's shipped data sets, and random draws by NumPy's default generator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from optdsl.data.values import Array, array_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import no_such_key, reader_argument
from optdsl.syntax.diagnostics.names import too_large
from optdsl.syntax.source import Span

#: Entries of a drawn array.
LARGEST = 100_000_000
NAMES = ("dataset", "normal", "uniform")
#: Those that scikit-learn carries in its package; the others would have to be downloaded.
SHIPPED = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")


def make(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    if name == "dataset":
        return _dataset(args, kwargs, span)
    if not args or set(kwargs) - {"seed"}:
        raise OptError(reader_argument(span, name, "takes a shape, two numbers and seed="))
    shape = tuple(int(k) for k in args[0]) if isinstance(args[0], list | tuple) else (int(args[0]),)
    size = int(np.prod(shape, dtype=object))
    if not 0 <= size <= LARGEST:
        raise OptError(too_large(span, "this array", size, LARGEST))
    rng = np.random.default_rng(int(kwargs.get("seed", 0)))
    first, second = (*args[1:], *(0.0, 1.0)[len(args) - 1 :])[:2]
    values = rng.normal(first, second, shape) if name == "normal" else rng.uniform(first, second, shape)
    return Array(
        values, (None,) * values.ndim, array_source(f"{name}({list(shape)}, seed={kwargs.get('seed', 0)})", values)
    )


def _dataset(args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    if len(args) != 2 or kwargs:
        raise OptError(reader_argument(span, "dataset", 'takes a name and "data" or "target"'))
    if args[0] not in SHIPPED:
        raise OptError(no_such_key(span, "scikit-learn", str(args[0]), SHIPPED))
    if args[1] not in ("data", "target"):
        raise OptError(no_such_key(span, f"dataset {args[0]}", str(args[1]), ("data", "target")))
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{args[0]}")()
    values = np.asarray(bunch[args[1]])
    return Array(values, (None,) * values.ndim, array_source(f"dataset({args[0]!r}, {args[1]!r})", values))
