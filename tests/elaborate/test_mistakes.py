"""Wrong programs: the code, the guilty characters, and several mistakes in one pass. No input gives a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import optdsl
from optdsl.syntax.diagnostics import Diagnostic, OptError
from optdsl.syntax.source import Span

PROBLEMS = Path(__file__).parents[2] / "problems"
HEAD = """set P = ["a", "b"]
set Q = ["x", "y", "z"]
data A : real[m, n] = [[1, 2, 3], [4, 5, 6]]
data c : real[P] = {"a": 1, "b": 2}
var x : real[3]
var y : real[P] >= 0
var k : int
var b : bool
"""

#: The line that is added, its code, the guilty text.
WRONG = [
    ("minimize sum(z)", "E201", "z"),
    ("var x : real", "E202", "x"),
    ("minimize sum(A @ y)", "E203", "A @ y"),
    ("minimize sum(x + A)", "E203", "x + A"),
    ("minimize sum(x @ [1, 2])", "E203", "x @ [1, 2]"),
    ("minimize norm3(x)", "E204", "norm3"),
    ("minimize huber(x[0], T=2)", "E205", "2"),
    ("minimize sum(x, axis=3)", "E203", "sum(x, axis=3)"),
    ("var exp : real", "E206", "exp"),
    ("minimize x[0, 1]", "E207", "x[0, 1]"),
    ("minimize sum(y[t] for t in range(2))", "E208", "t"),
    ("minimize sum(y[j] for j in Q)", "E208", "j"),
    ("minimize y[0]", "E208", "0"),
    ("minimize sum(y[i - 1] for i in P)", "E203", "i - 1"),
    ('minimize y["d"]', "E209", '"d"'),
    ("minimize sum(x[i + 1] for i in range(3))", "E210", "x[i + 1]"),
    ("minimize x[0] + log(-1)", "E212", "log(-1)"),
    ("minimize x[0] / 0", "E212", "0"),
    ("minimize sum(x[i] for i in range(k))", "E213", "k"),
    ("minimize sum(x[i] for i in range(3) if x[i] > 0)", "E213", "x[i] > 0"),
    ("data d : real[m] = [1, 2, 3]", "E314", "[1, 2, 3]"),
    ("var w : real[q]", "E215", "q"),
    ("minimize P", "E216", "P"),
    ("minimize sum(x[c] for c in range(3))", "E218", "c"),
    ("var big : real[1000000000000]", "E219", "real[1000000000000]"),
    ("let big = zeros(1000000, 1000000)", "E219", "zeros(1000000, 1000000)"),
    ("subject to\n  x[0] < 1", "E401", "x[0] < 1"),
    ("subject to\n  sum(x)", "E402", "sum(x)"),
    ("var w : real[3] in bal(1)", "E403", "bal"),
    ("var w : real[3] in psd", "E404", "psd"),
    ("var w : real[3] in nm(2, 4)", "E404", "nm(2, 4)"),
    ("minimize sum(x)\nmaximize sum(y)", "E405", "maximize sum(y)"),
    ("minimize x", "E406", "x"),
    ("var w : real >= k", "E409", "k"),
    ("var w : real[3] = [1, 2]", "E410", "[1, 2]"),
    ("subject to\n  k => x[0] <= 1", "E411", "k"),
    ("goal speed <= 1", "E413", "speed <= 1"),
    ("budget money <= 1", "E413", "money <= 1"),
    ("subject to\n  r: x[0] <= 1\n  r: x[1] <= 1", "E414", "r"),
    ("param mu : real >= 0 = -1", "E416", "param mu : real >= 0 = -1"),
    ("minimise sum(x)", "E417", "minimise"),
]


def mistakes(text: str, solve: bool = False) -> list[Diagnostic]:
    try:
        problem = optdsl.parse(text)
        _ = problem.solve() if solve else problem.instance()
    except OptError as error:
        return error.diagnostics
    raise AssertionError("nothing is wrong with it")


@pytest.mark.parametrize(("line", "code", "guilty"), WRONG, ids=[f"{c}-{k}" for k, (_, c, _) in enumerate(WRONG)])
def test_each_mistake_at_its_place(line: str, code: str, guilty: str) -> None:
    found = mistakes(HEAD + line + "\n", solve=code in ("E210", "E212"))
    assert [d.code for d in found] == [code], found
    place = found[0].place
    assert isinstance(place, Span)
    assert place.text.strip() == guilty
    assert place.line >= 9


def test_independent_mistakes_are_told_together_and_do_not_spread() -> None:
    text = """
var x : real[3]
let a = sum(z)
let b = a + 1
minimize b + norm3(x)
subject to
  x[0] < 1
  a <= 2
  r: sum(x) <= q
"""
    found = [(d.code, d.place.line) for d in mistakes(text) if isinstance(d.place, Span)]
    # line 5 and line 8 use `b` and `a`, which were already reported
    assert found == [("E201", 3), ("E401", 7), ("E201", 9)]


def test_the_nearest_name_is_offered() -> None:
    (found,) = mistakes("var weight : real\nminimize wieght ** 2\n")
    assert found.help == "did you mean `weight`?"
    (found,) = mistakes("var x : real[2]\nminimize sum_sqaures(x)\n")
    assert found.help == "did you mean `sum_squares`?"


def test_both_operands_are_shown() -> None:
    (found,) = mistakes("data A : real[m, n] = [[1, 2]]\nvar x : real[3]\nminimize sum(A @ x)\n")
    assert [(span.text, words) for span, words in found.related] == [("A", "real[1, 2]"), ("x", "real[3]")]


def test_an_index_out_of_range_says_for_which_member() -> None:
    (found,) = mistakes("var x : real[3]\nminimize sum(x[t - 1] for t in range(3))\n", solve=True)
    assert "t = 0" in found.message and "-1" in found.message


def test_import_in_a_circle_and_what_may_be_imported(tmp_path: Path) -> None:
    (tmp_path / "a.opt").write_text('import "b.opt"\n')
    (tmp_path / "b.opt").write_text('import "a.opt"\nvar x : real\n')
    with pytest.raises(OptError) as caught:
        optdsl.parse('import "a.opt"\nvar y : real\nminimize y\n', folder=tmp_path).instance()
    assert {d.code for d in caught.value.diagnostics} == {"E407", "E408"}


def test_a_definition_that_calls_itself() -> None:
    (found,) = mistakes("def f(a) = f(a) + 1\nvar x : real\nminimize f(x)\n")
    assert found.code == "E217"


def test_indicators_need_bounds() -> None:
    found = mistakes("var b : bool\nvar x : real\nminimize x + b\nsubject to\n  r: b => x >= 3\n", solve=True)
    assert found[0].code == "E412" and "x" in found[0].message


def test_depth_is_survived() -> None:
    """150 levels of brackets and of a sum are read, checked and solved; more is refused in words."""
    deep = "(" * 150 + "x" + ")" * 150
    assert optdsl.parse(f"var x : real >= 1\nminimize {deep}\n").solve().objective == pytest.approx(1)
    long = " + ".join(["x"] * 150)
    assert optdsl.parse(f"var x : real >= 1\nminimize {long}\n").solve().objective == pytest.approx(150)
    for text in ("(" * 5000 + "x" + ")" * 5000, "-" * 5000 + "x", " + ".join(["x"] * 5000)):
        with pytest.raises(OptError):
            optdsl.parse(f"var x : real\nminimize {text}\n")


FILES = [p for p in sorted(PROBLEMS.glob("*/*.opt")) if p.stem not in ("transport_large", "sparse_pca")]
WORDS = [
    "sum", "x", "[", "]", "(", ")", "for", "in", "if", "1", "-1", "0", "@", "*", "**", "+", "T", ".T", "==", "<=", "=>", ",", "..",
    '"a"', "norm2", "min", "zeros", "range", "real", "inf", "subject to", "minimize", "var", "data", "ball", "nm", "\n", "  ", ":", "=",
]  # fmt: skip


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(FILES), st.data())
def test_mutated_files_give_only_diagnostics(file: Path, draw: st.DataObject) -> None:
    """Tokens of shipped problems are removed, doubled, swapped or replaced; what comes is an instance or diagnostics."""
    text = file.read_text(encoding="utf-8")
    body = [line for line in text.splitlines() if not line.startswith("#")]
    tokens = " \n ".join(body).split(" ")
    for _ in range(draw.draw(st.integers(1, 3))):
        at = draw.draw(st.integers(0, len(tokens) - 1))
        match draw.draw(st.sampled_from(["drop", "double", "swap", "replace"])):
            case "drop":
                tokens.pop(at)
            case "double":
                tokens.insert(at, tokens[at])
            case "swap":
                other = draw.draw(st.integers(0, len(tokens) - 1))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case _:
                tokens[at] = draw.draw(st.sampled_from(WORDS))
    try:
        problem = optdsl.parse(" ".join(tokens).replace(" \n ", "\n"), folder=file.parent)
        problem.instance()
        problem.explain()
    except OptError as error:
        assert error.diagnostics and all(d.severity != "internal" for d in error.diagnostics)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=25))
def test_random_words_give_only_diagnostics(words: list[str]) -> None:
    try:
        optdsl.parse(HEAD + "minimize " + " ".join(words) + "\n").instance()
    except OptError as error:
        assert error.diagnostics
