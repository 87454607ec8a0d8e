"""`bandit`: a learner plays, sees noisy feedback, and must keep limits that it does not know."""

from optdsl.ir.blocks.table import BlockForm, BlockKind, Word

KIND = BlockKind(
    "bandit",
    "A learner plays against a secret. Statements stand in the order in which a round plays; `t` is the round, from 0.",
    [BlockForm("AssortmentBandit", ["observe"]), BlockForm("LinearBandit")],
    {
        "rounds": Word("how many rounds are played", head="number", required=True),
        "unknown": Word(
            "the environment's secret; the learner sees its type and set only",
            {":": "type", "in": "set", "=": "data", "at": "expression"},
            head="name",
            declares="unknown",
            repeat=True,
        ),
        "context": Word(
            "drawn before each round, or read from row t of data",
            {":": "type", "in": "set", "~": "distribution", "=": "data"},
            head="name",
            declares="context",
            repeat=True,
        ),
        "play": Word(
            "what the learner chooses", {":": "type", "in": "set"}, head="name", declares="play", required=True
        ),
        "observe": Word(
            "what the learner sees beside the reward",
            {"~": "distribution", "=": "expression", "noise": "distribution"},
            head="name",
            declares="observation",
            repeat=True,
        ),
        "reward": Word("what is maximised in sum", {"noise": "distribution"}, required=True),
        "limit": Word(
            "a row that must hold in every round although it holds an unknown",
            {"noise": "distribution"},
            head="relation",
            repeat=True,
        ),
        "safe": Word("a play known to keep every limit", {"=": "expression"}),
    },
    round_name="t",
)
