"""`online`: decisions one after another, with no draw of the environment known: convex costs, renting or buying, exploring."""

from optdsl.ir.blocks.table import BlockKind, Word

KIND = BlockKind(
    "online",
    "Decisions one after another against what comes.",
    "OnlineConvex (play and cost), RentOrBuy (items, or states to move between) or GraphExploration (graph and labels)",
    {
        "rounds": Word("how many rounds are played"),
        "play": Word("what is chosen each round", (":", "in")),
        "cost": Word("what each round costs, revealed after the play"),
        "reward": Word("what each round gives"),
        "observe": Word("gradient, value, two_values or full"),
        "items": Word("what can be rented or bought", ("in",)),
        "rent": Word("the price of an item for one step"),
        "buy": Word("the price of an item for ever, or of a set of items", ("at", "in"), repeat=True),
        "bundle": Word("items bought together", ("at",), repeat=True),
        "upgrade": Word("whether the price paid counts towards a bundle"),
        "horizon": Word("unknown, a forecast with trust or robust, or data of the past", ("trust", "robust", "=")),
        "forecast": Word("what is predicted", ("trust", "robust")),
        "states": Word("the states of a machine", ("in",)),
        "move": Word("the price of going from one state to another", ("for",), repeat=True),
        "start": Word("the state at the beginning"),
        "graph": Word("who is connected to whom", ("=",)),
        "labels": Word("the hidden label of each node", ("~", ":")),
        "root": Word("where exploration begins"),
        "roots": Word("how the first nodes are chosen"),
        "discount": Word("the weight of the next reward"),
        "budget": Word("how many nodes may be opened"),
        "stop": Word("whether the learner may end"),
        "fit": Word("labels learnt from history", ("from",)),
    },
)
