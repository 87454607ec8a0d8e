"""`game`: mean-field games (a crowd of like players) and preference games (answers compared by votes)."""

from optdsl.ir.blocks.table import BlockForm, BlockKind, Word

KIND = BlockKind(
    "game",
    "What each player may do and wants; `find` names the answer wanted. With `states`, `mu` is the population's share of each "
    "state and `t` the stage, from 0.",
    [
        BlockForm(
            "PreferenceGame", ["alternatives", "compare", "prefer"], ["alternatives", "compare|prefer|population"]
        ),
        BlockForm("MeanFieldGame", (), ["horizon", "states", "actions", "next|transition", "payoff"]),
    ],
    {
        "horizon": Word("how many stages pay", head="number"),
        "states": Word("what a player can be in", {":": "type", "in": "set"}, head="name", declares="state"),
        "actions": Word("what a player can do", {":": "type", "in": "set"}, head="name", declares="action"),
        "start": Word("the first distribution over states", choices=("uniform",)),
        "next": Word("the next state", {"where": "drawn"}),
        "transition": Word("the law of the next state, in place of `next`"),
        "payoff": Word("what a stage pays"),
        "discount": Word("the weight of the next stage", head="number"),
        "alternatives": Word("what is compared", {"=": "labels"}, head="name", declares="set"),
        "compare": Word("counts of wins, winner by loser", {"=": "data"}, head="name", declares="votes"),
        "prefer": Word("probabilities of winning", {"=": "data"}, head="name", declares="votes"),
        "temperature": Word("how sharply votes follow utility", head="number"),
        "reference": Word(
            "a policy to stay near, with a limit on the divergence",
            {"=": "expression", "kl": "number"},
            head="name",
            declares="policy",
            choices=("uniform",),
        ),
        "population": Word(
            "the voters' utilities, for simulation",
            {"=": "data", "weights": "expression"},
            head="name",
            declares="data",
        ),
        "sampled": Word("which pairs are compared", {"=": "data"}, head="name", declares="votes"),
        "find": Word(
            "the answer wanted",
            head="choice",
            choices=("equilibrium", "nash", "rlhf", "dpo", "borda", "copeland"),
            required=True,
        ),
    },
    round_name="t",
)
