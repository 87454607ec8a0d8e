"""Distributions after `~` and `noise`: a name of the table with its parameters as expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optdsl.ir.nodes import Expr, Scope
from optdsl.syntax.source import Span


@dataclass(frozen=True)
class DistributionKind:
    """`params` in order, with defaults (`...` marks one that must be given, None one that may be absent). `many`: the first
    parameter may be a generator, one entry for each member."""

    name: str
    doc: str
    params: Mapping[str, Any] = field(default_factory=dict)
    many: bool = False


#: By name. Parameters are NumPy's where NumPy has the distribution.
DISTRIBUTIONS = {
    k.name: k
    for k in (
        DistributionKind("normal", "Gaussian", {"loc": 0.0, "scale": 1.0}),
        DistributionKind("uniform", "uniform on an interval", {"low": 0.0, "high": 1.0}),
        DistributionKind("laplace", "double exponential", {"loc": 0.0, "scale": 1.0}),
        DistributionKind("exponential", "waiting times", {"scale": 1.0}),
        DistributionKind("poisson", "counts", {"lam": 1.0}),
        DistributionKind("bernoulli", "1 with probability p, else 0", {"p": ...}),
        DistributionKind("rademacher", "1 or -1 with equal chance"),
        DistributionKind("choice", "one of a list of values, with probabilities p (equal where left out)",
                         {"values": ..., "p": None}),
        DistributionKind("mnl", "multinomial logit: one of those offered, or none, by utilities", {"utility": ...}, many=True),
        DistributionKind("mrf", "Markov random field: log-odds of each node, log-potential of each edge",
                         {"node": None, "edge": None, "marginal": None}),
        DistributionKind("tree", "labels passed down a tree: the root's law, then transitions", {"root": ..., "step": ...}),
        DistributionKind("noise", "augmentation: Gaussian noise of a scale", {"scale": ...}),
        DistributionKind("shift", "augmentation: a shift by at most so many entries", {"most": ...}),
    )
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Distribution:
    """`scope` is set where the first parameter is a generator: one entry for each of its rows. The kind `&` applies its
    `members` one after another."""

    kind: str
    params: Mapping[str, Expr] = field(default_factory=dict)
    scope: Scope | None = None
    members: Sequence[Distribution] = ()
    span: Span | None = None
