"""What stands beyond one objective and rows becomes a typed record with spans, and solving it says which form is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

import optdsl
from optdsl.ir import structure as ir
from optdsl.ir.blocks.table import block_kinds, manual
from optdsl.ir.nodes import Expectation, Expr, FunctionValue
from optdsl.syntax.diagnostics import Diagnostic, OptError
from optdsl.syntax.source import Span

BANDIT = """
data truth_theta : real[d] = [0.5, 0.2]
data truth_Phi : real[k, d] = [[1, 1]]
param a : real = 1
bandit "safe linear"
  rounds 5000
  unknown theta : real[d] in ball(1)  = truth_theta
  unknown Phi   : real[k, d]          = truth_Phi
  context c : real[d] ~ normal(0, 1)
  play x : real[d] in box(0, 1)
  reward theta @ x       noise normal(0, 0.1)
  limit  Phi @ x <= a    noise normal(0, 0.1)
  safe   x = zeros(d)
"""
ASSORTMENT = """
param N : int = 20
bandit "assortment"
  rounds 2000
  context X : real[20, 4] ~ normal(0, 1)
  unknown theta = mlp(hidden=[3]) at truth_theta
  play S : subset(range(N), size <= 5)
  observe choice ~ mnl(theta(X[i]) for i in S)
  reward  price[choice]
"""
ROUTING = """
online "routing"
  rounds 100
  play x : real[4] in ball(1)
  cost logistic(-b[t] * (A[t] @ x))
  observe gradient
"""
LICENCES = """
online "licences"
  items i in Tools
  rent price[i]
  buy cost[i]
  bundle ["db", "cache"] at 8
  horizon unknown
"""
TRACING = """
online "contact tracing"
  graph G = csv("contacts.csv", columns=["a", "b"])
  labels x ~ mrf(node=logit(prior[v]), edge=1.2 * same)
  discount 0.95
  play v : frontier
  reward x[v] == 1
"""
BEACH = """
game "beach bar"
  horizon 10
  states s : range(10)
  actions a : [-1, 0, 1]
  next (s + a + e) % 10  where e ~ choice([-1, 0, 1], p=[0.05, 0.9, 0.05])
  payoff -distance[s] / 10 - abs(a) / 10 - log(mu[s])
  find equilibrium
"""
VOTES = """
game "which answer"
  alternatives A = ["short", "long"]
  compare n = csv("votes.csv", index=["winner", "loser"], value="count")
  find nash
"""
TRAINING = """
estimate "training"
  data d = csv("jobs.csv")
  outcome d.earnings
  treatment d.trained
  covariates d.age, d.income
  target ate
"""
BLOCKS = {
    "bandit": (BANDIT, ["rounds", "unknown", "unknown", "context", "play", "reward", "limit", "safe"]),
    "assortment": (ASSORTMENT, ["rounds", "context", "unknown", "play", "observe", "reward"]),
    "routing": (ROUTING, ["rounds", "play", "cost", "observe"]),
    "licences": (LICENCES, ["items", "rent", "buy", "bundle", "horizon"]),
    "tracing": (TRACING, ["graph", "labels", "discount", "play", "reward"]),
    "beach": (BEACH, ["horizon", "states", "actions", "next", "payoff", "find"]),
    "votes": (VOTES, ["alternatives", "compare", "find"]),
    "training": (TRAINING, ["data", "outcome", "treatment", "covariates", "target"]),
}


def only(text: str) -> ir.Structure:
    features = optdsl.parse(text).instance().features
    assert len(features) == 1
    return features[0]


def refused(text: str) -> list[Diagnostic]:
    with pytest.raises(OptError) as caught:
        optdsl.parse(text).instance()
    return caught.value.diagnostics


@pytest.mark.parametrize("which", BLOCKS)
def test_blocks_of_the_language(which: str) -> None:
    text, words = BLOCKS[which]
    record = only(text)
    assert isinstance(record, ir.Process)
    assert [s.word for s in record.statements] == words
    assert all(isinstance(s.span, Span) for s in record.statements)
    with pytest.raises(OptError) as caught:
        optdsl.parse(text).solve()
    (told,) = caught.value.diagnostics
    assert told.code == "E505" and record.needs in told.message


def test_clauses_of_a_statement() -> None:
    record = only(BANDIT)
    assert isinstance(record, ir.Process) and record.title == "safe linear" and record.block == "bandit"
    (reward,) = record.words("reward")
    noise = reward.clause("noise")
    assert reward.head is not None and reward.head.span is not None and reward.head.span.text == "theta @ x"
    assert noise is not None and noise.expressions[0].span.text == "normal(0, 0.1)"
    assert [c.word for c in record.words("play")[0].clauses] == ["", ":", "in"]


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "words"),
    [
        (LICENCES.replace("rent price", "ernt price"), "E418", 4, 3, "did you mean `rent`?"),
        (BANDIT.replace("  rounds 5000\n", ""), "E419", 5, 1, None),
        (BANDIT.replace("  play x", "  rounds 3\n  play x"), "E420", 10, 3, None),
        (BEACH.replace("horizon 10", "horizon 10 noise normal(0, 1)"), "E421", 3, 14, None),
        ('bandits "x"\n  rounds 5\n', "E417", 1, 1, "did you mean `bandit`?"),
    ],
)
def test_mistakes_in_blocks(text: str, code: str, line: int, column: int, words: str | None) -> None:
    (found,) = refused(text)
    assert found.code == code
    assert isinstance(found.place, Span) and (found.place.line, found.place.column) == (line, column)
    if words is not None:
        assert found.help == words


def test_all_mistakes_of_a_block_at_once() -> None:
    text = BANDIT.replace("  rounds 5000\n", "").replace("  reward", "  rewrad")
    assert {d.code for d in refused(text)} == {"E418", "E419"}


def test_bilevel() -> None:
    text = """
data X : real[m, p] = [[1, 0], [0, 1], [1, 1]]
data y : real[m] = [1, -1, 1]
var w : real[p]
var lam : real
lower w
  minimize mean(logistic(-y[i] * (X[i] @ w)) for i in range(m)) + exp(lam) * sum_squares(w)
  subject to
    cap: sum(w) <= 5
minimize mean(logistic(-y[i] * (X[i] @ w)) for i in range(m))
"""
    record = only(text)
    assert isinstance(record, ir.LowerProblem)
    assert list(record.variables) == ["w"]
    assert record.objective is not None and record.objective.expr.variables == {"w", "lam"}
    assert [c.key for c in record.constraints] == ["cap"]


def test_function_in_an_rkhs() -> None:
    text = """
data x : real[m, p] = [[0, 1], [1, 0]]
data y : real[m] = [1, 2]
var h : real[p] -> real in rkhs(gaussian(bandwidth="median"))
minimize mean(square(y[i] - h(x[i])) for i in range(m)) + norm(h) ** 2
"""
    instance = optdsl.parse(text).instance()
    (record,) = instance.features
    assert isinstance(record, ir.FunctionVariable) and (record.argument, record.result) == ((2,), ())
    assert record.within is not None and record.within.params["kernel"] == ("gaussian", [], {"bandwidth": "median"})
    found = [e for e in _walk(instance.objective.expr) if isinstance(e, FunctionValue)]
    assert {(e.function, e.derivative) for e in found} == {("h", ""), ("h", "norm")}


def test_derivatives_of_a_function() -> None:
    text = """
var u : real[2] -> real in mlp(hidden=[8, 8])
data x : real[m, 2] = [[0, 1], [1, 0]]
minimize mean(square(laplacian(u, x[i])) for i in range(m)) + sum_squares(grad(u, x[0]))
"""
    instance = optdsl.parse(text).instance()
    found = [e for e in _walk(instance.objective.expr) if isinstance(e, FunctionValue)]
    assert {(e.derivative, e.shape) for e in found} == {("laplacian", ()), ("grad", (2,))}


def test_adversary_random_and_oracle() -> None:
    text = """
oracle f : real[3] -> real = python("sim:run")
random xi : real[3] ~ normal(0, 1)
var w : real[3]
adversary d : like w in ball(0.5)
minimize expect(sum_squares(w + d + xi)) + f(w)
"""
    instance = optdsl.parse(text).instance()
    oracle, random, adversary = instance.features
    assert isinstance(oracle, ir.Oracle) and (oracle.argument, oracle.target) == ((3,), "sim:run")
    assert isinstance(random, ir.RandomQuantity) and (random.distribution, random.shape) == ("normal", (3,))
    assert isinstance(adversary, ir.Adversary) and adversary.variable.shape == (3,)
    assert instance.objective is not None
    assert any(isinstance(e, Expectation) for e in _walk(instance.objective.expr))
    with pytest.raises(OptError) as caught:
        optdsl.parse(text).solve()
    assert [d.code for d in caught.value.diagnostics] == ["E505"] * 3


def test_several_objectives() -> None:
    pareto = only("var x : real[2]\nminimize [sum_squares(x), norm1(x)]\n")
    assert isinstance(pareto, ir.Objectives) and not pareto.lexicographic and len(pareto.expressions) == 2
    lex = only("var x : real[2]\nminimize lex(sum_squares(x), norm1(x))\n")
    assert isinstance(lex, ir.Objectives) and lex.lexicographic


def test_a_function_of_the_wrong_argument() -> None:
    text = "var h : real[2] -> real in rkhs(linear)\nvar x : real[3]\nminimize h(x)\n"
    (found,) = refused(text)
    assert found.code == "E203" and isinstance(found.place, Span) and found.place.text == "h(x)"


def test_the_page_of_blocks_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "blocks.md"
    assert page.read_text(encoding="utf-8") == manual()
    assert set(block_kinds()) == {"bandit", "online", "game", "estimate"}


def _walk(e: Expr) -> list[Expr]:
    return [e, *(x for c in e.children for x in _walk(c))]
