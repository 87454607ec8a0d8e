"""Reports made by hand: Dantzig's transport problem (optimum 153.675), an infeasible plan, a run cut off."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from optdsl.report import model
from optdsl.report.values import Values

SHIP = np.array([[50.0, 300.0, 0.0], [275.0, 0.0, 275.0]])
PLANTS, MARKETS = ["Seattle", "San Diego"], ["New York", "Chicago", "Topeka"]
SUPPLY_DUAL = np.array([0.0, 0.0])
DEMAND_DUAL = np.array([0.225, 0.153, 0.126])


def transport(**changes: Any) -> model.Report:
    parts: dict[str, Any] = {
        "problem": model.ProblemRecord(
            title="Transport",
            file="transport.opt",
            sha256="0" * 64,
            sizes={"variables": 6, "rows": 5},
            sense="minimize",
        ),
        "data": [
            model.DataRecord(name="cost", source='csv("cost.csv")', sha256="1" * 64, shape=[2, 3], file="cost.csv")
        ],
        "facts": [
            model.Fact(name="objective curvature", value="affine", reasons=["a sum of constants times variables"])
        ],
        "dispatch": model.Dispatch(
            chosen="highs",
            form="LinearProgram",
            refused=[model.Refusal(backend="osqp", reason="it has rows of its own")],
        ),
        "backend": model.BackendRecord(name="highs", version="1.11.0", options={"tol": 1e-7}),
        "tolerances": model.TolerancesRecord(feasibility=1e-6, gap=1e-6, stationarity=1e-6, integrality=1e-6),
        "stop": model.StopRecord(kind="converged"),
        "verdict": model.VerdictRecord(
            kind="optimal", value=0.0, tolerance=1e-6, reason="a dual bound meets the objective"
        ),
        "objective": 153.675,
        "bound": 153.675,
        "solution": {"ship": Values.of(SHIP, [PLANTS, MARKETS])},
        "duals": {"supply": Values.of(SUPPLY_DUAL), "demand": Values.of(DEMAND_DUAL)},
        "families": [
            model.Family(name="supply", relation="<=", rows=2, shown=2, violated=0, tight=1, worst=0.0),
            model.Family(name="demand", relation=">=", rows=3, shown=3, violated=0, tight=3, worst=0.0),
        ],
        "constraints": [
            model.ConstraintRow(name="supply", label="[Seattle]", violation=0.0, slack=0.0, dual=0.0),
            model.ConstraintRow(name="supply", label="[San Diego]", violation=0.0, slack=50.0, dual=0.0),
            *(
                model.ConstraintRow(name="demand", label=f"[{m}]", violation=0.0, slack=0.0, dual=float(d))
                for m, d in zip(MARKETS, DEMAND_DUAL, strict=True)
            ),
        ],
        "checks": [
            model.CheckRecord(
                name="feasibility",
                value=0.0,
                tolerance=1e-6,
                holds=True,
                meaning="largest scaled violation of a constraint or set",
            ),
            model.CheckRecord(
                name="gap", value=2.4e-16, tolerance=1e-6, holds=True, meaning="objective against the dual bound"
            ),
        ],
        "iterations": 4,
        "seconds": model.Seconds(parse=0.011, compile=0.004, solve=0.002, certify=0.001),
        "seed": 0,
        "environment": {"optdsl": "0.1.0", "python": "3.11.7"},
        "answer": model.AnswerRecord(form="LinearProgram", claim="optimal", point=Values.of(SHIP.ravel())),
    }
    return model.Report(**(parts | changes))


def vector(size: int, seed: int = 0) -> model.Report:
    """A report whose only variable is a vector of that length, with every kind of number that is not finite in it."""
    x = np.random.default_rng(seed).normal(size=size)
    x[:3] = [math.nan, math.inf, -math.inf]
    return transport(
        solution={"x": Values.of(x)},
        duals={},
        families=[],
        constraints=[],
        bound=-math.inf,
        answer=model.AnswerRecord(form="SmoothUnconstrained", claim="stationary", point=Values.of(x), bound=math.nan),
    )


def cut_off() -> model.Report:
    """A run of a first-order method that the time limit ended."""
    trace = [
        model.TraceEvent(
            iteration=k,
            seconds=0.01 * k,
            objective=-3.1 + 4.0 * 0.97**k,
            residuals={"primal": 2.0 * 0.95**k, "dual": 0.5 * 0.93**k * (1.3 + math.sin(k))},
        )
        for k in range(0, 400, 2)
    ]
    rng = np.random.default_rng(7)
    components = np.linalg.qr(rng.normal(size=(61, 5)))[0]
    return transport(
        problem=model.ProblemRecord(
            title="Sparse PCA of digits",
            file="sparse_pca.opt",
            sha256="0" * 64,
            sizes={"variables": 305},
            sense="minimize",
        ),
        dispatch=model.Dispatch(chosen="aradmm", form="CompositeOnManifold"),
        backend=model.BackendRecord(
            name="aradmm",
            version="0.1.0",
            options={"tol": 1e-6, "rho": 1.0},
            paper=model.PaperRecord(
                title="Adaptive Riemannian ADMM for Nonsmooth Optimization", reference="arXiv 2510.18617"
            ),
        ),
        stop=model.StopRecord(kind="time_limit", message="time limit of 4 s reached"),
        verdict=model.VerdictRecord(
            kind="feasible", value=3.2e-15, tolerance=1e-6, reason="the first-order residual is 0.00021"
        ),
        objective=-3.0999,
        bound=None,
        solution={"X": Values.of(components), "mu": Values.of(0.25)},
        duals={},
        families=[],
        constraints=[],
        iterations=399,
        trace=trace,
        answer=None,
    )


def infeasible() -> model.Report:
    return transport(
        verdict=model.VerdictRecord(kind="infeasible", reason="demand and supply add up to 0 >= 50"),
        objective=None,
        bound=None,
        solution={},
        duals={},
        families=[],
        constraints=[],
        checks=[
            model.CheckRecord(
                name="farkas", value=0.0, tolerance=1e-9, holds=True, meaning="the combination is a contradiction"
            )
        ],
    )
