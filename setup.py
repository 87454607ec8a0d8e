"""The packages of a wheel: every folder of Python files below `optdsl/`, `cli/` and `grammar/`.

All else is declared in pyproject.toml, which has no way to find the packages of a tree whose folders carry other names
than the packages (`cli/` is `optdsl.cli`).
"""

from __future__ import annotations

from setuptools import find_packages, setup

INSTALLED_AS = {"optdsl": "optdsl", "cli": "optdsl.cli", "grammar": "optdsl.grammar"}

setup(
    packages=[
        INSTALLED_AS[root] + package.removeprefix(root)
        for root in INSTALLED_AS
        for package in find_packages(include=[root, f"{root}.*"])
    ]
)
