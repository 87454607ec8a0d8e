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
    """`normal(shape, mean, sd, seed=)`, `uniform(shape, low, high, seed=)`, `dataset(name, part)`."""
    if name == "dataset":
        return _dataset(args, kwargs, span)
    numbers = "mean and standard deviation" if name == "normal" else "low and high"
    if not 1 <= len(args) <= 3 or set(kwargs) - {"seed"}:
        raise OptError(reader_argument(span, name, f"takes a shape, {numbers}, and seed="))
    shape = tuple(args[0]) if isinstance(args[0], list | tuple) else (args[0],)
    if not all(_whole(k) for k in shape):
        raise OptError(reader_argument(span, name, "needs a shape of whole numbers: [3, 2]"))
    size = int(np.prod(shape, dtype=object))
    if size > LARGEST:
        raise OptError(too_large(span, "this array", size, LARGEST))
    first = args[1] if len(args) > 1 else 0.0
    second = args[2] if len(args) > 2 else 1.0
    if not all(_real(k) for k in (first, second)) or (second < (0 if name == "normal" else first)):
        wanted = "a finite mean and a standard deviation >= 0" if name == "normal" else "finite numbers low <= high"
        raise OptError(reader_argument(span, name, f"needs {wanted}"))
    seed = kwargs.get("seed", 0)
    if not _whole(seed):
        raise OptError(reader_argument(span, name, "needs a whole number for seed="))
    rng = np.random.default_rng(int(seed))
    draw = rng.normal if name == "normal" else rng.uniform
    values = np.asarray(draw(float(first), float(second), [int(k) for k in shape]))
    described = f"{name}({[int(k) for k in shape]}, {first:g}, {second:g}, seed={seed})"
    return Array(values, (None,) * values.ndim, array_source(described, values))


def _whole(x: Any) -> bool:
    return isinstance(x, int | np.integer) and not isinstance(x, bool) and int(x) >= 0


def _real(x: Any) -> bool:
    """A number whose differences with others of its kind are finite too."""
    return isinstance(x, int | float | np.number) and not isinstance(x, bool) and bool(abs(x) < 1e300)


def _dataset(args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    if len(args) != 2 or kwargs:
        raise OptError(reader_argument(span, "dataset", 'takes a name and "data" or "target"'))
    if not isinstance(args[0], str) or args[0] not in SHIPPED:
        raise OptError(no_such_key(span, "scikit-learn", str(args[0]), SHIPPED))
    if not isinstance(args[1], str) or args[1] not in ("data", "target"):
        raise OptError(no_such_key(span, f"dataset {args[0]}", str(args[1]), ("data", "target")))
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{args[0]}")()
    values = np.asarray(bunch[args[1]])
    return Array(values, (None,) * values.ndim, array_source(f"dataset({args[0]!r}, {args[1]!r})", values))
