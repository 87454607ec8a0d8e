"""`game`: mean-field games (a crowd of like players) and preference games (answers compared by votes)."""

from optdsl.ir.blocks.table import BlockKind, Word

KIND = BlockKind(
    "game",
    "What each player may do and wants; `find` names the answer wanted.",
    "MeanFieldGame (states, actions, next) or PreferenceGame (alternatives, compare)",
    {
        "horizon": Word("how many stages pay"),
        "states": Word("what a player can be in", (":", "in")),
        "actions": Word("what a player can do", (":", "in")),
        "start": Word("the first distribution over states", ("=",)),
        "next": Word("the next state", ("where", "~", "=")),
        "transition": Word("a table in place of `next`", ("=",)),
        "payoff": Word("what a stage pays; `mu` is the population's share"),
        "discount": Word("the weight of the next stage"),
        "alternatives": Word("what is compared", ("=", "in")),
        "compare": Word("counts of wins, winner by loser", ("=",)),
        "prefer": Word("probabilities of winning", ("=",)),
        "temperature": Word("how sharply votes follow utility"),
        "reference": Word("a policy to stay near", ("=", "kl", "<=")),
        "population": Word("the voters' utilities, for simulation", ("=", "weights")),
        "sampled": Word("which pairs are compared", ("=",)),
        "find": Word("equilibrium, nash, rlhf, dpo, borda or copeland", required=True),
    },
)
