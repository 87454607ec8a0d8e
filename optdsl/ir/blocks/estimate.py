"""`estimate`: a number about a population, from data, with its standard error."""

from optdsl.ir.blocks.table import BlockKind, Word

KIND = BlockKind(
    "estimate",
    "What is to be estimated, and from which columns.",
    "TargetedEstimate",
    {
        "data": Word("the table", ("=",)),
        "outcome": Word(
            "the outcome's column, with bounds; `outcome model …` is what fits it", ("in", "model"), repeat=True
        ),
        "treatment": Word("the treatment's column"),
        "covariates": Word("the columns that are adjusted for"),
        "propensity": Word("the chance of treatment, or `propensity model …`", ("model",)),
        "cells": Word("a first estimate of cell probabilities", ("=",)),
        "counts": Word("how often each cell was seen", ("=",)),
        "target": Word("ate, att, mean(a=1), risk_ratio, odds_ratio, or a smooth expression", required=True),
    },
)
