"""`online`: decisions one after another, with no draw of the environment known: convex costs, renting or buying, exploring."""

from optdsl.ir.blocks.table import BlockForm, BlockKind, Word

KIND = BlockKind(
    "online",
    "Decisions one after another against what comes; `t` is the round, from 0. In `labels`, `same` is 1 where two neighbours "
    "have the same label, and the name of the play runs over the nodes.",
    [
        BlockForm("GraphExploration", ["graph", "labels"], ["graph", "labels", "play", "reward"]),
        BlockForm("RentOrBuy", ["items", "states", "rent"], ["items|states", "rent", "buy|move"]),
        BlockForm("OnlineConvex", (), ["play", "cost|reward"]),
    ],
    {
        "rounds": Word("how many rounds are played", head="number"),
        "play": Word(
            "what is chosen each round; on a graph a node of the `frontier`, next to those opened",
            {":": "type", "in": "set"},
            head="name",
            declares="play",
            choices=("frontier",),
        ),
        "cost": Word("what each round costs, revealed after the play", {"noise": "distribution"}),
        "reward": Word("what each round gives", {"noise": "distribution"}),
        "observe": Word(
            "what is seen after a play", head="choice", choices=("gradient", "value", "two_values", "full")
        ),
        "items": Word("what can be rented or bought", {"in": "set"}, head="name", declares="index"),
        "rent": Word("the price of an item, or of a state, for one step"),
        "buy": Word(
            "the price of an item for ever, or of every set of items",
            {"set": "subset", "at": "expression"},
            repeat=True,
        ),
        "bundle": Word("items bought together", {"at": "expression"}, head="labels", repeat=True),
        "upgrade": Word("whether the price paid counts towards a bundle"),
        "horizon": Word(
            "when it ends: unknown, forecast, or as in data of the past",
            {"forecast": "expression", "data": "data", "trust": "number", "robust": "number"},
            choices=("unknown",),
        ),
        "forecast": Word("what is predicted of the end", {"trust": "number", "robust": "number"}),
        "states": Word("the states of a machine", {"in": "set"}, head="name", declares="index"),
        "move": Word("the price of going from one state to another", {"for": "indices"}, repeat=True),
        "start": Word("the state at the beginning"),
        "graph": Word("who is connected to whom", {"=": "data"}, head="name", declares="graph"),
        "labels": Word(
            "the hidden label of each node", {":": "type", "~": "distribution"}, head="name", declares="labels"
        ),
        "root": Word("the node where exploration begins"),
        "roots": Word("how the first nodes are chosen", head="choice", choices=("most_likely", "random")),
        "discount": Word("the weight of the next reward", head="number"),
        "budget": Word("how many nodes may be opened", head="number"),
        "stop": Word("whether the learner may end early", head="choice", choices=("allowed",)),
        "fit": Word("labels learnt from history", {"from": "data"}, head="choice", choices=("labels",)),
    },
    round_name="t",
)
