"""Every example of the manual is run, and its first line states what comes of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import optdsl
from optdsl.functions.table import functions
from optdsl.ir.sets.table import set_kinds
from optdsl.syntax.diagnostics import OptError, load_catalogue

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES = [
    (page.name, number, text)
    for page in sorted(DOCS.glob("*.md"))
    for number, text in enumerate(re.findall(r"```opt\n(.*?)```", page.read_text(encoding="utf-8"), re.S))
]


@pytest.mark.parametrize(("page", "number", "text"), EXAMPLES, ids=[f"{p}-{n}" for p, n, _ in EXAMPLES])
def test_example(page: str, number: int, text: str) -> None:
    stated = re.match(r"# outcome: (\w+) ?(\S+)?\n", text)
    assert stated is not None, f"example {number} of {page} states no outcome"
    kind, value = stated.groups()
    if kind == "error":
        with pytest.raises(OptError) as caught:
            optdsl.parse(text).solve()
        assert [d.code for d in caught.value.diagnostics] == [value]
        return
    report = optdsl.parse(text).solve()
    assert report.verdict.kind == kind, report.verdict
    if value is not None:
        assert report.objective == pytest.approx(float(value), abs=1e-6)


def test_the_reference_names_every_function_and_set() -> None:
    page = (DOCS / "language.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", page))
    unnamed = {n for n in functions() if n not in words} - {"power", "transpose"}
    assert not unnamed, unnamed
    sets = {n for n, k in set_kinds().items() if k.group != "function" and n not in words} - {"range"}
    assert not sets, sets


def test_codes_named_in_the_docs_exist() -> None:
    for page in DOCS.glob("*.md"):
        for code in set(re.findall(r"\b[EWI]\d{3}\b", page.read_text(encoding="utf-8"))):
            assert code in load_catalogue(), (page.name, code)
