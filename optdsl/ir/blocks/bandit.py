"""`bandit`: a learner plays, sees noisy feedback, and must keep limits that it does not know."""

from optdsl.ir.blocks.table import BlockKind, Word

KIND = BlockKind(
    "bandit",
    "Statements stand in the order in which a round plays; `t` is the round, from 0.",
    "LinearBandit (reward linear in an unknown vector) or AssortmentBandit (a choice among offered items)",
    {
        "rounds": Word("how many rounds are played", required=True),
        "unknown": Word(
            "the environment's secret; the learner sees its type and set only", (":", "in", "=", "at"), repeat=True
        ),
        "context": Word("drawn before each round, or read from row t of data", (":", "~", "=", "in"), repeat=True),
        "play": Word("what the learner chooses", (":", "in"), required=True),
        "observe": Word("what the learner sees beside the reward", ("~", "noise", "="), repeat=True),
        "reward": Word("what is maximised in sum", ("noise",), required=True),
        "limit": Word("a row that must hold in every round although it holds an unknown", ("noise",), repeat=True),
        "safe": Word("a play known to keep every limit", ("=",)),
    },
)
