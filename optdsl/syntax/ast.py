"""The tree of a problem file as written: one dataclass a construct, each with its span, nothing resolved yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from optdsl.syntax.source import Source, Span


@dataclass(slots=True)
class Node:
    span: Span


# --- expressions ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Num(Node):
    value: int | float


@dataclass(slots=True)
class Str(Node):
    value: str


@dataclass(slots=True)
class Bool(Node):
    value: bool


@dataclass(slots=True)
class Name(Node):
    id: str


@dataclass(slots=True)
class ListLit(Node):
    items: list[Expr]


@dataclass(slots=True)
class TupleLit(Node):
    items: list[Expr]


@dataclass(slots=True)
class DictLit(Node):
    keys: list[Expr]
    values: list[Expr]


@dataclass(slots=True)
class Unary(Node):
    """`op` is one of `-`, `+`, `not`."""

    op: str
    operand: Expr


@dataclass(slots=True)
class Binary(Node):
    """`op` is one of `+ - * / % ** @ & and or`."""

    op: str
    left: Expr
    right: Expr


@dataclass(slots=True)
class Compare(Node):
    """A chain `operands[0] ops[0] operands[1] ops[1] …`; ops are `== != <= >= < > >> << in`, `not in`."""

    ops: list[str]
    operands: list[Expr]


@dataclass(slots=True)
class IfElse(Node):
    """`then if condition else otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(slots=True)
class Range(Node):
    """`low..high`, both ends included."""

    low: Expr
    high: Expr


@dataclass(slots=True)
class Slice(Node):
    """`low:high` inside an index; either may be absent."""

    low: Expr | None
    high: Expr | None


@dataclass(slots=True)
class Index(Node):
    base: Expr
    items: list[Expr | Slice]


@dataclass(slots=True)
class Attr(Node):
    """`base.name`; the transpose `A.T` is `Attr(A, "T")`."""

    base: Expr
    name: str


@dataclass(slots=True)
class Call(Node):
    """`args` may hold one `Comprehension` in place of positional arguments."""

    func: Expr
    args: list[Expr]
    kwargs: dict[str, Expr]


@dataclass(slots=True)
class Clause(Node):
    """One `names in domain` of a generator or family; `names` has one entry for `i in S`, more for `(i, j) in S`."""

    names: list[Name]
    domain: Expr


@dataclass(slots=True)
class Comprehension(Node):
    """`body for i in S, (j, k) in T if condition`; several bodies before `for`, as in `f(a, b for i in S)`, are a TupleLit."""

    body: Expr
    clauses: list[Clause]
    condition: Expr | None


@dataclass(slots=True)
class FunctionType(Node):
    """`real[p] -> real`."""

    argument: TypeExpr
    result: TypeExpr


Expr = (
    Num
    | Str
    | Bool
    | Name
    | ListLit
    | TupleLit
    | DictLit
    | Unary
    | Binary
    | Compare
    | IfElse
    | Range
    | Index
    | Attr
    | Call
    | Comprehension
)


# --- types ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class TypeExpr(Node):
    """`real[a, b]`: `kind` in real, int, bool, complex, or the name of the set whose labels the values are;
    `like NAME` has kind "like" and the name in `dims`.

    A set in the place of a type (`var S : subset(Items, size <= 4)`, `random a : augment = …`) has kind "set" and the
    set as the one entry of `dims`.
    """

    kind: str
    dims: list[Expr]


# --- statements ----------------------------------------------------------------------------------


@dataclass(slots=True)
class ProblemTitle(Node):
    title: str


@dataclass(slots=True)
class Import(Node):
    path: str


@dataclass(slots=True)
class SetDecl(Node):
    name: Name
    within: Expr | None
    value: Expr | None
    doc: str = ""


@dataclass(slots=True)
class DataDecl(Node):
    """`bounds` are the comparisons written after the type: `data d : real[n] >= 0`."""

    name: Name
    type: TypeExpr | FunctionType | None
    bounds: list[tuple[str, Expr]]
    value: Expr | None
    doc: str = ""


@dataclass(slots=True)
class ParamDecl(Node):
    name: Name
    type: TypeExpr | None
    bounds: list[tuple[str, Expr]]
    value: Expr | None
    doc: str = ""


@dataclass(slots=True)
class LetDecl(Node):
    name: Name
    value: Expr
    doc: str = ""


@dataclass(slots=True)
class DefDecl(Node):
    name: Name
    params: list[Name]
    body: Expr
    doc: str = ""


@dataclass(slots=True)
class VarDecl(Node):
    """`role` is "var" or "adversary"; `within` is the set after `in`, `start` the value after `=`."""

    role: str
    names: list[Name]
    type: TypeExpr | FunctionType
    within: Expr | None
    bounds: list[tuple[str, Expr]]
    start: Expr | None
    doc: str = ""


@dataclass(slots=True)
class RandomDecl(Node):
    """`random xi : real[d] ~ normal(0, 1)`."""

    names: list[Name]
    type: TypeExpr | None
    distribution: Expr
    doc: str = ""


@dataclass(slots=True)
class OracleDecl(Node):
    """`oracle f : real[n] -> real = python("sim:run")`."""

    name: Name
    type: FunctionType
    value: Expr
    doc: str = ""


@dataclass(slots=True)
class Objective(Node):
    """`sense` is "minimize" or "maximize"; `minimize [f, g]` has a ListLit, `lex(…)` a Call to lex."""

    sense: str
    expr: Expr


@dataclass(slots=True)
class Row(Node):
    """`label: relation`; with an indicator, `when => relation`; with a partner, `relation complements partner`."""

    label: Name | None
    relation: Expr
    when: Expr | None = None
    complements: Expr | None = None


@dataclass(slots=True)
class Family(Node):
    """`label: for i in S if c: row` or a block of rows."""

    label: Name | None
    clauses: list[Clause]
    condition: Expr | None
    body: list[Row | Family]


@dataclass(slots=True)
class SubjectTo(Node):
    rows: list[Row | Family]


@dataclass(slots=True)
class Foreach(Node):
    """`foreach layer in tensors(…)`: one solve for each item."""

    clause: Clause


@dataclass(slots=True)
class Goal(Node):
    """`goal gap <= 1e-6`, `goal stationary(1e-6)`, `goal feasible`."""

    expr: Expr


@dataclass(slots=True)
class Budget(Node):
    """`budget evals <= 2000, seconds <= 60`: one comparison each."""

    limits: list[Expr]


@dataclass(slots=True)
class SolveWith(Node):
    """`solve with aradmm(tol=1e-6) -> lbfgs`: a pipeline of one or more calls or names."""

    stages: list[Expr]


@dataclass(slots=True)
class Lower(Node):
    """`lower w, v`: the variables' own problem; a type, a set and `unroll T of gd(lr=…)` may follow the names."""

    variables: list[Name]
    within: Expr | None
    unroll: tuple[Expr, Expr] | None
    body: list[Stmt]
    type: TypeExpr | FunctionType | None = None


@dataclass(slots=True)
class Part(Node):
    """One piece of a block's statement: a clause word (`in : = ~ noise at where trust of on <= …`) and what follows it.

    The first part of a statement has an empty word, and so has one that follows with no word or mark between, as
    `gradient_boosting()` in `outcome model gradient_boosting()`. `type` is set when a type follows `:`; its bounds and
    set are parts of their own. `x in S` is two parts, `x` and `in S`, unless in brackets. A part `for` has `clauses`,
    and its condition, if any, in `exprs`.
    """

    word: str
    exprs: list[Expr]
    type: TypeExpr | FunctionType | None = None
    clauses: list[Clause] = field(default_factory=list)


@dataclass(slots=True)
class WordStmt(Node):
    """A statement of a block: its word (`rounds`, `play`, `reward`, …), then parts. Vocabulary is checked in `ir/blocks`."""

    word: Name
    parts: list[Part]
    doc: str = ""


@dataclass(slots=True)
class Block(Node):
    """`bandit "title"`, `game "title"`, `estimate "title"` and an indented body."""

    kind: Name
    title: str
    body: list[Stmt]


Stmt = (
    ProblemTitle
    | Import
    | SetDecl
    | DataDecl
    | ParamDecl
    | LetDecl
    | DefDecl
    | VarDecl
    | RandomDecl
    | OracleDecl
    | Objective
    | SubjectTo
    | Foreach
    | Goal
    | Budget
    | SolveWith
    | Lower
    | WordStmt
    | Block
)


@dataclass(slots=True)
class File:
    source: Source
    statements: list[Stmt]
    title: str | None = None
    comments: list[tuple[Span, str]] = field(default_factory=list)
