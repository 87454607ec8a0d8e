"""How the mask kernels are compiled.

Machine code is kept between runs only where the user has given numba a folder of theirs (`NUMBA_CACHE_DIR`): nothing
is ever written beside the package. Kernels release the interpreter lock; threads come from `run.chunks`, which
compiles in a fraction of the time of numba's own parallel loops.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def keep() -> bool:
    """Whether the user has named a folder for machine code."""
    return bool(os.environ.get("NUMBA_CACHE_DIR"))


def kernel(function: F) -> F:
    """Compiled at its first call, in strict floating point."""
    return cast(F, numba.njit(nogil=True, cache=keep())(function))


def fast_kernel(function: F) -> F:
    """Compiled at its first call; sums may be taken in another order, so that they use vector instructions."""
    flags = {"reassoc", "contract", "nsz", "arcp"}
    return cast(F, numba.njit(nogil=True, fastmath=flags, cache=keep())(function))
