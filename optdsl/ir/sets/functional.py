"""Function spaces and model classes after `in`: read and kept; the forms that take them are bilevel and training forms."""

from __future__ import annotations

from optdsl.ir.sets.table import SetKind

SETS = [
    SetKind("rkhs", "function", "functions of a reproducing-kernel Hilbert space", r"\mathcal H", {"kernel": ...}),
    SetKind("mlp", "function", "multilayer perceptrons", r"\mathrm{{MLP}}", {"hidden": ..., "activation": "tanh"}),
    SetKind("diagonal_net", "function", "diagonal linear networks", r"\mathrm{{diag}}", {"depth": 2}),
    SetKind("matrix_factors", "function", "products of matrices", r"\prod W_k", {"depth": ..., "width": ...}),
    SetKind("monotone_ensemble", "function", "ensembles of monotone functions", r"\mathcal F_\uparrow", {"size": 10}),
    SetKind("torch", "function", "a torch module given by its import path (needs --allow-python)", r"f_\theta", {"path": ...}),
]  # fmt: skip
