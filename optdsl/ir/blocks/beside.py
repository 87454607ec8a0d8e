"""Statements beside the objective, for training problems: no block, but words with a vocabulary like a block's."""

from optdsl.ir.blocks.table import Word

#: Each word with the form that it needs.
BESIDE: dict[str, tuple[Word, str]] = {
    "clients": (
        Word("who holds which part of the data", {"in": "set"}, head="name", declares="index"),
        "a federated form (FiniteSum over clients)",
    ),
    "forget": (
        Word("rows whose influence is to be removed", {"in": "data"}, head="choice", choices=("rows",)),
        "a data-removal form",
    ),
    "analyse": (
        Word(
            "the influence of row i of the data on an expression",
            {"of": "index", "on": "expression"},
            head="choice",
            choices=("influence",),
        ),
        "an influence form",
    ),
    "report": (
        Word("what is measured at the answer", head="choice", choices=("sharpness", "curvature", "spectrum")),
        "a diagnostics form",
    ),
}
