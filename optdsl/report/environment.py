"""What a run ran on: versions and machine, without importing what is not needed."""

from __future__ import annotations

import os
import platform
from importlib import metadata

import numpy as np

import optdsl


def environment(packages: list[str]) -> dict[str, str]:
    """Versions of Python, NumPy, optdsl and of the backend's packages; the machine's system and processor count."""
    found = {
        "optdsl": optdsl.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "processors": str(os.cpu_count() or 1),
    }
    for name in packages:
        known = package_version(name)
        if known is not None:
            found[name] = known
    return found


def package_version(name: str) -> str | None:
    """The installed version of a distribution, None where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
