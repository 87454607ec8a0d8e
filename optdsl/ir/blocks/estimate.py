"""`estimate`: a number about a population, from data, with its standard error."""

from optdsl.ir.blocks.table import BlockForm, BlockKind, Word

MODELS = ("linear", "logistic", "lasso", "random_forest", "gradient_boosting", "nearest_neighbours")

KIND = BlockKind(
    "estimate",
    "What is to be estimated, and from which columns: `d.age` is the column `age` of the table `d`.",
    [
        BlockForm("TargetedEstimate", ["cells", "counts"], ["cells", "counts"]),
        BlockForm("TargetedEstimate", (), ["data", "outcome", "treatment"]),
    ],
    {
        "data": Word("the table", {"=": "data"}, head="name", declares="table"),
        "outcome": Word(
            "the outcome's column, with bounds; `outcome model …` is what fits it",
            {"in": "interval", "model": "choice"},
            choices=MODELS,
            repeat=True,
        ),
        "treatment": Word("the treatment's column"),
        "covariates": Word("the columns that are adjusted for", head="expressions"),
        "propensity": Word("the chance of treatment, or what fits it", {"model": "choice"}, choices=MODELS),
        "cells": Word("a first estimate of cell probabilities", {"=": "data"}, head="name", declares="cells"),
        "counts": Word("how often each cell was seen", {"=": "data"}, head="name", declares="data"),
        "target": Word(
            "the number wanted, or a smooth expression of the cells",
            choices=("ate", "att", "mean", "risk_ratio", "odds_ratio"),
            required=True,
        ),
    },
)
