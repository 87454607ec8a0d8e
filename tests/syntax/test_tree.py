"""The trees of small texts, written down by hand."""

from __future__ import annotations

from typing import Any

import pytest

from optdsl.syntax import ast
from optdsl.syntax.parser import parse
from optdsl.syntax.source import Source


def statements(text: str) -> list[ast.Stmt]:
    return parse(Source("t.opt", text)).statements


def only(text: str) -> Any:
    (statement,) = statements(text)
    return statement


def show(node: Any) -> str:
    """An expression with every operation in brackets."""
    match node:
        case ast.Num(value=value):
            return str(value)
        case ast.Str(value=value):
            return repr(value)
        case ast.Bool(value=value):
            return str(value)
        case ast.Name(id=name):
            return name
        case ast.Unary(op=op, operand=operand):
            return f"({op} {show(operand)})"
        case ast.Binary(op=op, left=left, right=right):
            return f"({show(left)} {op} {show(right)})"
        case ast.Compare(ops=ops, operands=operands):
            rest = "".join(f" {op} {show(o)}" for op, o in zip(ops, operands[1:], strict=True))
            return f"<{show(operands[0])}{rest}>"
        case ast.IfElse(condition=c, then=t, otherwise=o):
            return f"({show(t)} if {show(c)} else {show(o)})"
        case ast.Range(low=low, high=high):
            return f"({show(low)} .. {show(high)})"
        case ast.Slice(low=low, high=high):
            return f"{show(low) if low else ''}:{show(high) if high else ''}"
        case ast.Index(base=base, items=items):
            return f"{show(base)}[{', '.join(map(show, items))}]"
        case ast.Attr(base=base, name=name):
            return f"{show(base)}.{name}"
        case ast.Call(func=func, args=args, kwargs=kwargs):
            return f"{show(func)}({', '.join([*map(show, args), *(f'{k}={show(v)}' for k, v in kwargs.items())])})"
        case ast.Comprehension(body=body, clauses=clauses, condition=condition):
            inner = ", ".join(f"{'/'.join(n.id for n in c.names)} in {show(c.domain)}" for c in clauses)
            return f"{{{show(body)} for {inner}{f' if {show(condition)}' if condition else ''}}}"
        case ast.ListLit(items=items):
            return f"[{', '.join(map(show, items))}]"
        case ast.TupleLit(items=items):
            return f"tuple({', '.join(map(show, items))})"
        case ast.DictLit(keys=keys, values=values):
            return f"dict({', '.join(f'{show(k)}: {show(v)}' for k, v in zip(keys, values, strict=True))})"
    raise AssertionError(node)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("-x ** 2", "(- (x ** 2))"),
        ("2 ** -x ** 2", "(2 ** (- (x ** 2)))"),
        ("a ** b ** c", "(a ** (b ** c))"),
        ("a @ b * c @ d", "(((a @ b) * c) @ d)"),
        ("a - b - c + d", "(((a - b) - c) + d)"),
        ("-a @ b", "((- a) @ b)"),
        ("a % b / c", "((a % b) / c)"),
        ("A.T @ x[1](y).z", "(A.T @ x[1](y).z)"),
        ("x[i][j]", "x[i][j]"),
        ("1 + 2 .. n - 1", "((1 + 2) .. (n - 1))"),
        ("0..10 & support(M)", "((0 .. 10) & support(M))"),
        ("A + B & C", "((A + B) & C)"),
        ("A & B == C", "<(A & B) == C>"),
        ("1 <= x < y != z", "<1 <= x < y != z>"),
        ("(a < b) < c", "<<a < b> < c>"),
        ("a >> 0", "<a >> 0>"),
        ("a + b >> c", "<(a + b) >> c>"),
        ("not a == b", "(not <a == b>)"),
        ("not a and b or c", "(((not a) and b) or c)"),
        ("a or b and not c", "(a or (b and (not c)))"),
        ("x not in S and y in T", "(<x not in S> and <y in T>)"),
        ("a if c else b if d else e", "(a if c else (b if d else e))"),
        ("a or b if c and d else e", "((a or b) if (c and d) else e)"),
        ("x[:, 1:, :n, a:b, 2]", "x[:, 1:, :n, a:b, 2]"),
        ("x[0..3,]", "x[(0 .. 3)]"),
        ("f(a, b, k=1, l=2,)", "f(a, b, k=1, l=2)"),
        ("sum(x[i] for i in S)", "sum({x[i] for i in S})"),
        ("sum(x for i in A, (j, k) in B if j < i, axis=0)", "sum({x for i in A, j/k in B if <j < i>}, axis=0)"),
        ("sum(x for i in A for j in B if c)", "sum({x for i in A, j in B if c})"),
        ("f(a, b for i in S)", "f({tuple(a, b) for i in S})"),
        ("sum(a if c else b for i in S if d)", "sum({(a if c else b) for i in S if d})"),
        ("[i for i in 1..n]", "[{i for i in (1 .. n)}]"),
        ("[(), (a,), (a, b), (a)]", "[tuple(), tuple(a), tuple(a, b), a]"),
        ('{"a": 1, b: [2]}', "dict('a': 1, b: [2])"),
        ("1_000 + 1e-6 + .5 + 2. + 0.5", "((((1000 + 1e-06) + 0.5) + 2.0) + 0.5)"),
        ("true and false", "(True and False)"),
        ("-inf", "(- inf)"),
        ('"a\\"b\\\\c\\n"', repr('a"b\\c\n')),
        ("data + goal * set - play", "((data + (goal * set)) - play)"),
        ("f(lower=0, at=1).of", "f(lower=0, at=1).of"),
    ],
)
def test_precedence(text: str, tree: str) -> None:
    value = only(f"let a = {text}").value
    assert show(value) == tree
    assert value.span.text == text


def test_numbers_keep_their_kind() -> None:
    assert [type(only(f"let a = {n}").value.value) for n in ("1", "1.0", "1e3", "1_0")] == [int, float, float, int]


def test_spans_of_parts() -> None:
    value = only("let a = (x + y) * f(z[1, :], k=w)").value
    assert [value.left.span.text, value.right.span.text] == ["(x + y)", "f(z[1, :], k=w)"]
    assert value.right.args[0].span.text == "z[1, :]"
    assert value.right.args[0].items[1].span.text == ":"
    assert value.right.kwargs["k"].span.text == "w"
    generator = only("let a = sum(x[i] for i in S, j in T if i < j)").value.args[0]
    assert generator.span.text == "x[i] for i in S, j in T if i < j"
    assert [c.span.text for c in generator.clauses] == ["i in S", "j in T"]


def test_a_name_is_read_as_python_reads_it() -> None:
    assert only("let 𝛼 = 1").name.id == "α"  # NFKC, as in Python
    assert only("let x̂ = 1").name.id == "x̂"


def test_variables() -> None:
    a, b, c, d = statements(
        "var x, y : real[m, n] in ball(1) & psd = zeros(m)\n"
        "var z : int >= 0, <= k + 1 in 0..9\n"
        "adversary e : like x in ball(0.5)\n"
        "var S : subset(Items, size <= 4)\n"
    )
    assert isinstance(a, ast.VarDecl) and isinstance(b, ast.VarDecl)
    assert (a.role, [n.id for n in a.names], show(a.within), show(a.start)) == (
        "var",
        ["x", "y"],
        "(ball(1) & psd)",
        "zeros(m)",
    )
    assert isinstance(a.type, ast.TypeExpr) and (a.type.kind, [show(s) for s in a.type.dims]) == ("real", ["m", "n"])
    assert [(op, show(e)) for op, e in b.bounds] == [(">=", "0"), ("<=", "(k + 1)")] and show(b.within) == "(0 .. 9)"
    assert isinstance(c, ast.VarDecl) and isinstance(c.type, ast.TypeExpr)
    assert (c.role, c.type.kind, show(c.type.dims[0])) == ("adversary", "like", "x")
    assert isinstance(d, ast.VarDecl) and isinstance(d.type, ast.TypeExpr)
    assert (d.type.kind, show(d.type.dims[0])) == ("set", "subset(Items, <size <= 4>)")


def test_declarations() -> None:
    text = (
        "set A\nset B in A * A = csv(f)\ndata d\ndata e : real[n] >= 0 = 1\nparam p : real >= 0 = 0.5\n"
        "def f(a, b) = a\nrandom r : real[d] ~ normal(0, 1)\noracle o : real[n] -> real = python(s)\n"
    )
    a, b, d, e, p, f, r, o = statements(text)
    assert isinstance(a, ast.SetDecl) and a.within is None and a.value is None
    assert isinstance(b, ast.SetDecl) and show(b.within) == "(A * A)" and show(b.value) == "csv(f)"
    assert isinstance(d, ast.DataDecl) and d.type is None and d.value is None
    assert isinstance(e, ast.DataDecl) and [(op, show(x)) for op, x in e.bounds] == [(">=", "0")]
    assert isinstance(p, ast.ParamDecl) and show(p.value) == "0.5"
    assert isinstance(f, ast.DefDecl) and [n.id for n in f.params] == ["a", "b"]
    assert isinstance(r, ast.RandomDecl) and show(r.distribution) == "normal(0, 1)"
    assert isinstance(o, ast.OracleDecl) and isinstance(o.type, ast.FunctionType)
    assert o.type.result.span.text == "real"
    assert [s.span.text for s in (a, b, d, e, p, f, r, o)] == text.splitlines()


def test_doc_comments_belong_to_the_next_declaration() -> None:
    tree = parse(
        Source(
            "t.opt",
            "## of a\n\nlet a = 1  ## of nothing\n# plain\n## first\n## second\n# between\nvar x : real\nminimize x # end\n",
        )
    )
    a, x, _ = tree.statements
    assert isinstance(a, ast.LetDecl) and isinstance(x, ast.VarDecl)
    assert (a.doc, x.doc) == ("of a", "first\nsecond")
    assert [text for _, text in tree.comments] == [
        "## of a",
        "## of nothing",
        "# plain",
        "## first",
        "## second",
        "# between",
        "# end",
    ]
    assert all(span.text == text for span, text in tree.comments)


def test_rows_and_families() -> None:
    statement = only(
        "subject to\n"
        "  budget: sum(w) == 1\n"
        "  limit: for (i, j) in S, k in T if i < k: x[i] <= 1\n"
        "  for t in 1..n:\n"
        "    data: a[t] <= 1\n"
        "    b[t] => c[t] >= 2\n"
        "  0 <= p complements q >= 0\n"
    )
    budget, limit, family, pair = statement.rows
    assert (budget.label.id, show(budget.relation)) == ("budget", "<sum(w) == 1>")
    assert (limit.label.id, limit.clauses[0].names[1].id, show(limit.condition)) == ("limit", "j", "<i < k>")
    assert limit.span.text.startswith("limit: for") and limit.span.text.endswith("<= 1")
    assert [r.label.id if r.label else None for r in family.body] == ["data", None]
    assert (show(family.body[1].when), show(family.body[1].relation)) == ("b[t]", "<c[t] >= 2>")
    assert (show(pair.relation), show(pair.complements)) == ("<0 <= p>", "<q >= 0>")


@pytest.mark.parametrize(
    "word",
    [
        "data",
        "set",
        "goal",
        "minimize",
        "subject",
        "prod",
        "norm",
        "play",
        "rounds",
        "noise2",
        "trust",
        "by",
        "problem",
    ],
)
def test_labels_are_free(word: str) -> None:
    assert only(f"subject to\n  {word}: x >= 0\n  y >= 0\n").rows[0].label.id == word


@pytest.mark.parametrize(
    "word",
    ["data", "set", "goal", "minimize", "problem", "play", "rounds", "trust", "by", "on", "like", "real", "bandit"],
)
def test_words_are_words_only_in_their_place(word: str) -> None:
    assert only(f"let {word} = {word} + {word}[{word}]").name.id == word
    assert only(f"var {word} : real[{word}]").names[0].id == word


def test_lower_problems() -> None:
    plain, full = statements(
        "lower w\n  minimize f(w)\nlower u, v : real[n] in mlp(hidden=[3]) unroll 40 of gd(lr=0.4)\n  minimize u\n  x ~ y\n".replace(
            "  x ~ y\n", "  subject to\n    u >= 0\n"
        )
    )
    assert isinstance(plain, ast.Lower) and plain.unroll is None and plain.within is None and plain.type is None
    assert isinstance(full, ast.Lower) and full.unroll is not None and isinstance(full.type, ast.TypeExpr)
    assert (show(full.within), [show(e) for e in full.unroll]) == ("mlp(hidden=[3])", ["40", "gd(lr=0.4)"])
    assert [type(s).__name__ for s in full.body] == ["Objective", "SubjectTo"]


def test_the_end_of_a_file() -> None:
    *_, foreach, goal, budget, solve = statements(
        "var x : real\nforeach l in t(m)\ngoal stationary(1e-6)\nbudget evals <= 2, seconds <= 60\nsolve with a(t=1) -> b -> c()"
    )
    assert isinstance(foreach, ast.Foreach) and show(foreach.clause.domain) == "t(m)"
    assert isinstance(goal, ast.Goal) and show(goal.expr) == "stationary(1e-06)"
    assert isinstance(budget, ast.Budget) and [show(e) for e in budget.limits] == ["<evals <= 2>", "<seconds <= 60>"]
    assert isinstance(solve, ast.SolveWith) and [show(e) for e in solve.stages] == ["a(t=1)", "b", "c()"]


def parts(text: str) -> list[tuple[str, list[str]]]:
    (statement,) = only(f'bandit "b"\n  {text}\n').body
    return [(p.word, [show(e) for e in p.exprs] + ([p.type.span.text] if p.type else [])) for p in statement.parts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rounds 5000", [("", ["5000"])]),
        (
            "unknown theta : real[d] in ball(1) = truth",
            [("", ["theta"]), (":", ["real[d]"]), ("in", ["ball(1)"]), ("=", ["truth"])],
        ),
        ("context c : real[d] ~ normal(0, 1)", [("", ["c"]), (":", ["real[d]"]), ("~", ["normal(0, 1)"])]),
        ("limit P @ x <= a noise normal(0, 1)", [("", ["<(P @ x) <= a>"]), ("noise", ["normal(0, 1)"])]),
        ("play S : subset(A, size <= K)", [("", ["S"]), (":", ["subset(A, <size <= K>)"])]),
        ("unknown t = mlp() at truth", [("", ["t"]), ("=", ["mlp()"]), ("at", ["truth"])]),
        ("items i in Tools", [("", ["i"]), ("in", ["Tools"])]),
        ("reward (x in S)", [("", ["<x in S>"])]),
        ('bundle ["db", "cache"] at 8', [("", ["['db', 'cache']"]), ("at", ["8"])]),
        ("forecast yhat trust 0.5", [("", ["yhat"]), ("trust", ["0.5"])]),
        ("next (s + a) % 10 where e ~ choice(a)", [("", ["((s + a) % 10)"]), ("where", ["e"]), ("~", ["choice(a)"])]),
        ("payoff -d[s] / 10 - abs(a)", [("", ["(((- d[s]) / 10) - abs(a))"])]),
        ("covariates d.age, d.income", [("", ["d.age", "d.income"])]),
        ("outcome model boosting(depth=3)", [("", ["model"]), ("", ["boosting(depth=3)"])]),
        ("actions a : [-1, 0, 1]", [("", ["a"]), (":", ["[(- 1), 0, 1]"])]),
        ("outcome d.y in 0..9", [("", ["d.y"]), ("in", ["(0 .. 9)"])]),
        ("stop", []),
    ],
)
def test_statements_of_blocks(text: str, expected: list[tuple[str, list[str]]]) -> None:
    assert parts(text) == expected


def test_blocks() -> None:
    block = only('game "beach bar"\n  ## how long\n  horizon 10\n  data d = csv("x")\n  for p in P\n')
    assert (block.kind.id, block.title) == ("game", "beach bar")
    horizon, data, each = block.body
    assert (horizon.word.id, horizon.doc, data.name.id) == ("horizon", "how long", "d")
    assert (each.word.id, each.parts[0].word, each.parts[0].clauses[0].names[0].id) == ("for", "for", "p")
