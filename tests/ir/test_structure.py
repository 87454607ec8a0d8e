"""What stands beyond one objective and rows becomes a typed record with spans, and solving it says which form is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import optdsl
from optdsl.ir import structure as ir
from optdsl.ir.blocks.table import block_kinds, manual
from optdsl.ir.nodes import Const, Expectation, Expr, FunctionValue, Gather, Op
from optdsl.ir.problem import LabelSet, TupleSet
from optdsl.syntax.diagnostics import Diagnostic, OptError
from optdsl.syntax.source import Span

DATA = Path(__file__).parent / "data"
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
param K : int = 5
data truth_theta : real[p] = [1, 2, 3, 4]
data price : real[20] = ones(20)
bandit "assortment"
  rounds 2000
  context X : real[N, 4] ~ normal(0, 1)
  unknown theta = mlp(hidden=[3]) at truth_theta
  play S : subset(range(N), size <= K)
  observe choice ~ mnl(theta(X[i]) for i in S)
  reward  price[choice]
"""
TRUTH = """
param c : real = 0.5
def truth(x) = 1 - 4 * sum_squares(x - c)
bandit "misspecified"
  rounds 1600
  context X : real[50, 4] ~ uniform(-1, 1)
  unknown u : real[4] -> real = mlp(hidden=[6], activation=tanh) at truth
  play S : subset(range(50), size <= 4)
  observe choice ~ mnl(u(X[i]) for i in S)
  reward 1
"""
ROUTING = """
data A : real[T, m, d] = ones(3, 5, 4)
data b : real[T, m] = ones(3, 5)
online "routing"
  rounds T
  play x : real[d] in ball(1)
  cost sum(logistic(-b[t] * (A[t] @ x)))
  observe gradient
"""
LICENCES = """
set Tools = ["db", "cache"]
data price : real[Tools] = {"db": 1, "cache": 1}
data cost : real[Tools] = {"db": 4, "cache": 8}
online "licences"
  items i in Tools
  rent price[i]
  buy cost[i]
  bundle ["db", "cache"] at 8
  horizon unknown
"""
CAPPED = """
set Tools = ["db", "cache"]
param cap : real = 13
data cost : real[Tools] = {"db": 4, "cache": 8}
data yhat : real = 7
online "capped"
  items i in Tools
  rent 1
  buy set S at minimum(cap, sum(cost[j] for j in S))
  horizon forecast yhat trust 0.5
  upgrade false
"""
PAST = """
set Tools = ["db", "cache"]
online "simulated"
  items i in Tools
  rent 1
  buy 4
  horizon data csv("past.csv", value="length")
"""
POWER = """
set S = ["on", "sleep"]
set Moves in S * S = [("on", "sleep"), ("sleep", "on")]
data rate : real[S] = {"on": 1, "sleep": 0.1}
data toll : real[Moves] = ones(2)
online "power states"
  states s in S
  rent rate[s]
  move toll[a, b] for (a, b) in Moves
  start "on"
"""
TRACING = """
set People = ["ann", "bob", "dan", "eve"]
data prior : real[People] = {"ann": 0.5, "bob": 0.1, "dan": 0.2, "eve": 0.1}
online "contact tracing"
  graph G = csv("contacts.csv", columns=["a", "b"])
  labels x ~ mrf(node=logit(prior[v]), edge=1.2 * same)
  discount 0.95
  root "ann"
  play v : frontier
  reward x[v] == 1
"""
BEACH = """
data distance : int[n] = [5, 4, 3, 2, 1, 0, 1, 2, 3, 4]
game "beach bar"
  horizon 10
  states s : range(10)
  actions a : [-1, 0, 1]
  start uniform
  next (s + a + e) % 10  where e ~ choice([-1, 0, 1], p=[0.05, 0.9, 0.05])
  payoff -distance[s] / 10 - abs(a) / 10 - log(mu[s])
  find equilibrium
"""
VOTES = """
game "which answer"
  alternatives A = ["short", "long"]
  compare n = csv("votes.csv", index=["winner", "loser"], value="count")
  temperature 5
  reference pi0 = uniform  kl <= 0.2
  find nash
"""
TRAINING = """
estimate "training"
  data d = csv("jobs.csv")
  outcome d.earnings in 0..100000
  treatment d.trained
  covariates d.age, d.income
  target ate
  outcome model gradient_boosting()
  propensity model logistic()
"""
CELLS = """
estimate "concentration"
  cells p = csv("shares.csv", value="start")
  counts n = csv("shares.csv", value="count")
  target sum(p ** 2)
"""
BLOCKS = {
    "bandit": (BANDIT, "LinearBandit"),
    "assortment": (ASSORTMENT, "AssortmentBandit"),
    "truth": (TRUTH, "AssortmentBandit"),
    "routing": (ROUTING, "OnlineConvex"),
    "licences": (LICENCES, "RentOrBuy"),
    "capped": (CAPPED, "RentOrBuy"),
    "past": (PAST, "RentOrBuy"),
    "power": (POWER, "RentOrBuy"),
    "tracing": (TRACING, "GraphExploration"),
    "beach": (BEACH, "MeanFieldGame"),
    "votes": (VOTES, "PreferenceGame"),
    "training": (TRAINING, "TargetedEstimate"),
    "cells": (CELLS, "TargetedEstimate"),
}


def only(text: str) -> ir.Structure:
    features = optdsl.parse(text, folder=DATA).instance().features
    assert len(features) == 1
    return features[0]


def block(text: str) -> ir.Process:
    record = only(text)
    assert isinstance(record, ir.Process)
    return record


def value(record: ir.Process, word: str, clause: str = "", number: int = 0) -> Any:
    found = record.words(word)[number].clause(clause)
    assert found is not None and isinstance(found.span, Span)
    return found.values[0]


def refused(text: str) -> list[Diagnostic]:
    with pytest.raises(OptError) as caught:
        optdsl.parse(text, folder=DATA).instance()
    return caught.value.diagnostics


@pytest.mark.parametrize("which", BLOCKS)
def test_blocks_of_the_language(which: str) -> None:
    text, form = BLOCKS[which]
    record = block(text)
    body = text[text.index(f"{record.block} ") :].splitlines()[1:]
    assert [s.word for s in record.statements] == [line.split()[0] for line in body]
    assert all(isinstance(s.span, Span) for s in record.statements)
    with pytest.raises(OptError) as caught:
        optdsl.parse(text, folder=DATA).solve()
    (told,) = caught.value.diagnostics
    assert told.code == "E505" and told.message.endswith(f"it needs the form {form}")


def test_bandit() -> None:
    record = block(BANDIT)
    roles = {name: (v.role, v.shape) for name, v in record.variables.items()}
    assert roles == {
        "t": ("round", ()), "theta": ("unknown", (2,)), "Phi": ("unknown", (1, 2)), "c": ("context", (2,)),
        "x": ("play", (2,)),
    }  # fmt: skip
    ball, box = record.variables["theta"].within, record.variables["x"].within
    assert ball is not None and box is not None and (ball.kind, box.kind) == ("ball", "box")
    reward, noise = value(record, "reward"), value(record, "reward", "noise")
    assert isinstance(reward, Op) and reward.op == "matmul" and reward.variables == {"theta", "x"}
    assert noise.kind == "normal" and float(noise.params["scale"].value) == 0.1
    limit = value(record, "limit")
    assert isinstance(limit, Op) and limit.op == "le" and limit.shape == (1,)
    assert value(record, "unknown", "=").name == "truth_theta"
    assert value(record, "safe", "=").shape == (2,)


def test_choice_among_what_is_offered() -> None:
    record = block(ASSORTMENT)
    assert record.variables["S"].within is not None and record.variables["S"].within.params["most"] == 5
    law = value(record, "observe", "~")
    utility = law.params["utility"]
    assert law.kind == "mnl" and isinstance(utility, FunctionValue) and utility.function == "theta"
    assert law.scope.condition.variables == {"S"} and utility.indices == set(law.scope.indices)
    reward = value(record, "reward")
    assert isinstance(reward, Gather) and reward.variables == {"choice"}
    assert record.functions["theta"].within is not None and record.functions["theta"].within.kind == "mlp"


def test_truth_by_a_definition() -> None:
    record = block(TRUTH)
    assert value(record, "unknown", "at").variables == {"u.x"} and record.variables["u.x"].shape == (4,)


def test_context_from_rows_of_data() -> None:
    text = "data C : real[T, d] = ones(6, 3)\n" + BANDIT.replace(
        "context c : real[d] ~ normal(0, 1)", "context c = C"
    ).replace("data truth_theta : real[d] = [0.5, 0.2]", "data truth_theta : real[d] = [0.5, 0.2, 0]").replace(
        "[[1, 1]]", "[[1, 1, 0]]"
    )
    record = block(text)
    row = value(record, "context", "=")
    assert isinstance(row, Gather) and row.shape == (3,) and row.variables == {"t"}


def test_online() -> None:
    record = block(ROUTING)
    assert value(record, "cost").variables == {"x", "t"}
    assert value(record, "observe").word == "gradient"
    assert float(value(record, "rounds").value) == 3


def test_renting_and_buying() -> None:
    record = block(LICENCES)
    (bundle,) = record.words("bundle")
    assert [v.position for v in bundle.clauses[0].values] == [0, 1]  # type: ignore[union-attr]
    assert {i.name for i in value(record, "rent").indices} == {"i"}
    assert value(record, "items", "in") == "Tools"
    capped = block(CAPPED)
    assert capped.variables["S"].role == "set" and value(capped, "buy", "at").variables == {"S"}
    assert value(capped, "horizon", "forecast").name == "yhat"
    past = block(PAST)
    assert past.data[value(past, "horizon", "data").name].values.tolist() == [3, 9, 4]
    power = block(POWER)
    assert {i.name for i in value(power, "move").indices} == {"a", "b"} and value(power, "start").position == 0


def test_exploring_a_graph() -> None:
    record = block(TRACING)
    graph = record.sets["G"]
    assert isinstance(graph, TupleSet) and graph.parents == ("People", "People") and graph.size == 3
    law = value(record, "labels", "~")
    assert {i.name for i in law.params["node"].indices} == {"v"} and law.params["edge"].variables == {"same"}
    assert record.variables["x"].axes == ("People",) and record.variables["v"].kind == "label:People"
    reward = value(record, "reward")
    assert reward.op == "eq" and reward.variables == {"x", "v"}


def test_a_graph_makes_its_own_nodes() -> None:
    text = TRACING[TRACING.index("online") :].replace("logit(prior[v])", "0.1")
    record = block(text)
    nodes = record.sets["G.nodes"]
    assert isinstance(nodes, LabelSet) and set(nodes.labels) == {"ann", "bob", "dan", "eve"}


def test_mean_field_game() -> None:
    record = block(BEACH)
    mu = record.variables["mu"]
    assert (mu.shape, mu.role) == ((10,), "population")
    assert value(record, "payoff").variables == {"s", "a", "mu"}
    assert value(record, "next").variables == {"s", "a", "e"}
    name, law = record.words("next")[0].clauses[1].values
    assert name == "e" and law.params["p"].value.tolist() == [0.05, 0.9, 0.05]  # type: ignore[union-attr]
    assert record.variables["a"].within is not None
    assert record.variables["a"].within.params["values"].tolist() == [-1, 0, 1]


def test_votes() -> None:
    record = block(VOTES)
    counts = record.data["n"].values
    assert np.asarray(counts.toarray() if sp.issparse(counts) else counts).tolist() == [[0, 7], [3, 0]]
    assert value(record, "find").word == "nash" and value(record, "reference", "=").word == "uniform"
    assert float(value(record, "reference", "kl").value) == 0.2


def test_columns_of_a_table() -> None:
    record = block(TRAINING)
    assert value(record, "treatment").name == "d.trained"
    assert record.data["d.trained"].values.tolist() == [1, 0, 1]
    assert [v.name for v in record.words("covariates")[0].clauses[0].values] == ["d.age", "d.income"]  # type: ignore[union-attr]
    assert value(record, "outcome", "model", 1).word == "gradient_boosting"
    cells = block(CELLS)
    assert cells.variables["p"].start is not None and value(cells, "target").variables == {"p"}


def test_names_of_a_block_stay_inside() -> None:
    twice = BANDIT + BANDIT[BANDIT.index("bandit") :]
    instance = optdsl.parse(twice).instance()
    assert len(instance.features) == 2 and "theta" not in instance.variables and "theta" not in instance.data


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "words"),
    [
        (LICENCES.replace("rent price", "ernt price"), "E418", 7, 3, "did you mean `rent`?"),
        (BANDIT.replace("  rounds 5000\n", ""), "E419", 5, 1, None),
        (BEACH.replace("  horizon 10\n", ""), "E419", 3, 1, None),
        (BANDIT.replace("  play x", "  rounds 3\n  play x"), "E420", 10, 3, None),
        (BEACH.replace("horizon 10", "horizon 10 noise normal(0, 1)"), "E421", 4, 14, "it takes no clause"),
        (BEACH.replace("find equilibrium", "find equilibrum"), "E421", 10, 8, "did you mean `equilibrium`?"),
        (BANDIT.replace("limit  Phi @ x <= a ", "limit  Phi @ x "), "E421", 12, 10, None),
        (BANDIT.replace("rounds 5000", "rounds theta"), "E421", 6, 10, None),
        (BANDIT.replace("play x : real[d] in box(0, 1)", "play x"), "E421", 10, 8, None),
        (BANDIT.replace("safe   x", "safe   c"), "E421", 13, 10, "write `safe x = …`"),
        (BANDIT.replace("zeros(d)", "zeros(3)"), "E203", 13, 14, None),
        (BANDIT.replace("reward theta", "reward thta"), "E201", 11, 10, "did you mean `theta`?"),
        (BANDIT.replace("noise normal(0, 0.1)\n  limit", "noise nromal(0, 0.1)\n  limit"), "E204", 11, 32,
         "did you mean `normal`?"),
        (BANDIT.replace("context c", "context a"), "E202", 9, 11, None),
        (ASSORTMENT.replace("price[choice]", "prise[choice]"), "E201", 12, 11, "did you mean `price`?"),
        (LICENCES.replace('["db", "cache"] at', '["db", "cahce"] at'), "E209", 9, 17, "did you mean `cache`?"),
        (BANDIT.replace("box(0, 1)", "box(0, one)"), "E201", 10, 30, None),
        (TRUTH.replace("subset(range(50)", "subset(range()"), "E205", 8, 19, None),
        (POWER.replace('("sleep", "on")]', '("sleep")]'), "E205", 3, 1, None),
        ('bandits "x"\n  rounds 5\n', "E417", 1, 1, "did you mean `bandit`?"),
    ],
)  # fmt: skip
def test_mistakes_in_blocks(text: str, code: str, line: int, column: int, words: str | None) -> None:
    (found,) = refused(text)
    assert found.code == code
    assert isinstance(found.place, Span) and (found.place.line, found.place.column) == (line, column)
    if words is not None:
        assert found.help == words


def test_all_mistakes_of_a_block_at_once() -> None:
    text = BANDIT.replace("  rounds 5000\n", "").replace("  reward", "  rewrad")
    assert [d.code for d in refused(text)] == ["E418", "E419"]


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


def test_unrolled_lower_problem_of_a_model() -> None:
    text = """
data X : real[m, p] = [[1, 0], [0, 1], [1, 1]]
data y : real[m] = [1, 2, 3]
var D : real[m, p] = X
lower w in mlp(hidden=[4]) unroll 40 of gd(lr=0.4)
  minimize mean(square(y[i] - w(D[i])) for i in range(m))
minimize mean(square(y[i] - w(X[i])) for i in range(m))
"""
    model, lower = optdsl.parse(text).instance().features
    assert isinstance(model, ir.FunctionVariable) and model.argument is None
    assert isinstance(lower, ir.LowerProblem) and lower.unroll is not None and lower.objective is not None
    steps, method = lower.unroll
    assert isinstance(steps, Const) and int(steps.value) == 40
    assert method.word == "gd" and float(method.options["lr"].value) == 0.4  # type: ignore[attr-defined]
    assert lower.objective.expr.variables == {"w", "D"}


def test_augmentations_and_statements_beside_the_objective() -> None:
    text = """
set C = ["north", "south"]
data X : real[m, p] = [[1, 0], [0, 1]]
var w : real[p]
random a, b : augment = noise(0.1) & shift(1)
clients c in C
forget rows in csv("past.csv", value="length")
analyse influence of i on X[i] @ w
report sharpness
minimize expect(sum_squares(a(w) - b(w)))
"""
    instance = optdsl.parse(text, folder=DATA).instance()
    first, second, clients, forget, analyse, report = instance.features
    assert isinstance(first, ir.RandomQuantity) and isinstance(second, ir.RandomQuantity)
    assert (first.name, second.name, first.transform) == ("a", "b", True)
    assert [d.kind for d in first.distribution.members] == ["noise", "shift"]
    assert isinstance(clients, ir.Remark) and clients.statement.clauses[0].values == ("C",)
    assert isinstance(forget, ir.Remark) and forget.statement.clauses[1].values[0].name == "forget.in"  # type: ignore[union-attr]
    assert isinstance(analyse, ir.Remark)
    expression = analyse.statement.clauses[2].values[0]
    assert isinstance(expression, Expr) and {i.name for i in expression.indices} == {"i"}
    assert isinstance(report, ir.Remark) and report.statement.clauses[0].values[0].word == "sharpness"  # type: ignore[union-attr]
    with pytest.raises(OptError) as caught:
        optdsl.parse(text, folder=DATA).solve()
    assert [d.code for d in caught.value.diagnostics] == ["E505"] * 6


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
    assert isinstance(random, ir.RandomQuantity) and (random.distribution.kind, random.shape) == ("normal", (3,))
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
