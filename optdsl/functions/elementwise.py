"""Functions that act on every entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optdsl.functions.table import Curvature, Function, Monotone, Sign, nonnegative, same_sign


def _by_sign(sign: Sign, nonneg: str, nonpos: str) -> Sequence[Monotone]:
    return [nonneg if sign in (0, 1) else nonpos if sign == -1 else "="]


def _power_curvature(params: Mapping[str, Any]) -> Curvature:
    p = params["p"]
    if p in (0, 1):
        return "affine"
    if p == 2 or (p > 1 and p == int(p) and int(p) % 2 == 0):
        return "convex"
    return "unknown"


def _clip0(m: Any, x: Any) -> Any:
    """max(x, 0) in any of the array modules."""
    name = m.__name__
    if name == "torch":
        return m.clamp(x, min=0)
    return m.fmax(x, 0) if name == "casadi" else m.maximum(x, 0)


def _huber(m: Any, x: Any, M: float) -> Any:
    """CVXPY's huber: x² where |x| ≤ M, 2M|x| − M² beyond."""
    a = abs(x) if m.__name__ == "torch" else m.fabs(x)
    inside = (
        m.fmin(a, M) if m.__name__ == "casadi" else (m.clamp(a, max=M) if m.__name__ == "torch" else m.minimum(a, M))
    )
    return inside**2 + 2 * M * (a - inside)


def _logistic(m: Any, x: Any) -> Any:
    """log(1 + exp x) without overflow."""
    if m.__name__ == "numpy":
        return m.logaddexp(0, x)
    if m.__name__ == "torch":
        return m.logaddexp(m.zeros_like(x), x)
    return m.fmax(x, 0) + m.log1p(m.exp(-m.fabs(x)))


def _xlogy(m: Any, x: Any, y: Any) -> Any:
    """x log(x/y) with 0 log 0 = 0, undefined for x < 0 or y ≤ 0."""
    if m.__name__ == "casadi":
        return m.if_else(x > 0, x * m.log(m.fmax(x, 1e-300) / y), 0)
    if m.__name__ == "torch":
        return m.special.xlogy(x, x) - m.special.xlogy(x, y)
    from scipy.special import rel_entr

    return m.where((x < 0) | (y <= 0), m.nan, rel_entr(x, y))


def _sigmoid(m: Any, x: Any) -> Any:
    return m.sigmoid(x) if m.__name__ == "torch" else 0.5 * (1 + m.tanh(0.5 * x))


def _positive(*x: Any) -> Any:
    return x[-1] > 0


FUNCTIONS = [
    Function(
        "abs",
        "elementwise",
        "absolute value",
        r"\left|{0}\right|",
        sign=nonnegative,
        curvature="convex",
        monotone=lambda s: _by_sign(s, "+", "-"),
        smooth=False,
        prox="L1",
        derivative="sign(x)",
        result="same",
        numpy=lambda m, x: m.abs(x),
        torch=lambda m, x: m.abs(x),
        casadi=lambda m, x: m.fabs(x),
        cvxpy=lambda m, x: m.abs(x),
    ),
    Function(
        "sqrt",
        "elementwise",
        "square root",
        r"\sqrt{{{0}}}",
        sign=nonnegative,
        curvature="concave",
        monotone="+",
        domain=lambda x: x >= 0,
        domain_words="x >= 0",
        derivative="1 / (2 sqrt(x))",
        numpy=lambda m, x: m.sqrt(x),
        torch=lambda m, x: m.sqrt(x),
        casadi=lambda m, x: m.sqrt(x),
        cvxpy=lambda m, x: m.sqrt(x),
    ),
    Function(
        "square",
        "elementwise",
        "square",
        r"{0}^2",
        sign=nonnegative,
        curvature="convex",
        monotone=lambda s: _by_sign(s, "+", "-"),
        derivative="2 x",
        result="same",
        numpy=lambda m, x: x * x,
        torch=lambda m, x: x * x,
        casadi=lambda m, x: x * x,
        cvxpy=lambda m, x: m.square(x),
    ),
    Function(
        "power",
        "elementwise",
        "x ** p with a constant exponent",
        r"{0}^{{{p}}}",
        params={"p": ...},
        curvature=_power_curvature,
        derivative="p x^(p-1)",
        numpy=lambda m, x, p: m.power(m.asarray(x, dtype=float) if p < 0 else x, p),
        torch=lambda m, x, p: x**p,
        casadi=lambda m, x, p: x**p,
        cvxpy=lambda m, x, p: m.power(x, p),
    ),
    Function(
        "exp",
        "elementwise",
        "exponential",
        r"e^{{{0}}}",
        sign=nonnegative,
        curvature="convex",
        monotone="+",
        derivative="exp(x)",
        numpy=lambda m, x: m.exp(x),
        torch=lambda m, x: m.exp(x),
        casadi=lambda m, x: m.exp(x),
        cvxpy=lambda m, x: m.exp(x),
    ),
    Function(
        "log",
        "elementwise",
        "natural logarithm",
        r"\log {0}",
        curvature="concave",
        monotone="+",
        domain=_positive,
        domain_words="x > 0",
        derivative="1 / x",
        numpy=lambda m, x: m.log(x),
        torch=lambda m, x: m.log(x),
        casadi=lambda m, x: m.log(x),
        cvxpy=lambda m, x: m.log(x),
    ),
    Function(
        "log1p",
        "elementwise",
        "log(1 + x)",
        r"\log(1 + {0})",
        sign=same_sign,
        curvature="concave",
        monotone="+",
        domain=lambda x: x > -1,
        domain_words="x > -1",
        derivative="1 / (1 + x)",
        numpy=lambda m, x: m.log1p(x),
        torch=lambda m, x: m.log1p(x),
        casadi=lambda m, x: m.log1p(x),
        cvxpy=lambda m, x: m.log1p(x),
    ),
    Function(
        "logistic",
        "elementwise",
        "log(1 + exp(x))",
        r"\log(1 + e^{{{0}}})",
        sign=nonnegative,
        curvature="convex",
        monotone="+",
        derivative="sigmoid(x)",
        numpy=_logistic,
        torch=_logistic,
        casadi=_logistic,
        cvxpy=lambda m, x: m.logistic(x),
    ),
    Function(
        "softplus",
        "elementwise",
        "log(1 + exp(x)), the same as logistic",
        r"\operatorname{{softplus}}({0})",
        sign=nonnegative,
        curvature="convex",
        monotone="+",
        derivative="sigmoid(x)",
        numpy=_logistic,
        torch=_logistic,
        casadi=_logistic,
        cvxpy=lambda m, x: m.logistic(x),
    ),
    Function(
        "entr",
        "elementwise",
        "-x log(x), 0 at 0",
        r"-{0}\log {0}",
        curvature="concave",
        domain=lambda x: x >= 0,
        domain_words="x >= 0",
        derivative="-1 - log(x)",
        numpy=lambda m, x: -_xlogy(m, x, m.ones_like(x)),
        torch=lambda m, x: -_xlogy(m, x, m.ones_like(x)),
        casadi=lambda m, x: -_xlogy(m, x, 1),
        cvxpy=lambda m, x: m.entr(x),
    ),
    Function(
        "kl_div",
        "elementwise",
        "x log(x/y) - x + y",
        r"{0}\log\frac{{{0}}}{{{1}}} - {0} + {1}",
        arity=2,
        positive=(1,),
        sign=nonnegative,
        curvature="convex",
        domain=lambda x, y: (x >= 0) & (y > 0),
        domain_words="x >= 0, y > 0",
        derivative="log(x/y), 1 - x/y",
        numpy=lambda m, x, y: _xlogy(m, x, y) - x + y,
        torch=lambda m, x, y: _xlogy(m, x, y) - x + y,
        casadi=lambda m, x, y: _xlogy(m, x, y) - x + y,
        cvxpy=lambda m, x, y: m.kl_div(x, y),
    ),
    Function(
        "rel_entr",
        "elementwise",
        "x log(x/y)",
        r"{0}\log\frac{{{0}}}{{{1}}}",
        arity=2,
        positive=(1,),
        curvature="convex",
        monotone="=-",
        domain=lambda x, y: (x >= 0) & (y > 0),
        domain_words="x >= 0, y > 0",
        derivative="1 + log(x/y), -x/y",
        numpy=_xlogy,
        torch=_xlogy,
        casadi=_xlogy,
        cvxpy=lambda m, x, y: m.rel_entr(x, y),
    ),
    Function(
        "huber",
        "elementwise",
        "x^2 up to M, then 2 M |x| - M^2",
        r"\operatorname{{huber}}_{{{M}}}({0})",
        params={"M": 1.0},
        sign=nonnegative,
        curvature="convex",
        monotone=lambda s: _by_sign(s, "+", "-"),
        prox="Huber",
        derivative="2 clip(x, -M, M)",
        numpy=_huber,
        torch=_huber,
        casadi=_huber,
        cvxpy=lambda m, x, M: m.huber(x, M),
    ),
    Function(
        "pos",
        "elementwise",
        "max(x, 0)",
        r"({0})_+",
        sign=nonnegative,
        curvature="convex",
        monotone="+",
        smooth=False,
        prox="Hinge",
        derivative="1 where x > 0",
        result="same",
        numpy=_clip0,
        torch=_clip0,
        casadi=_clip0,
        cvxpy=lambda m, x: m.pos(x),
    ),
    Function(
        "relu",
        "elementwise",
        "max(x, 0), the same as pos",
        r"\operatorname{{relu}}({0})",
        sign=nonnegative,
        curvature="convex",
        monotone="+",
        smooth=False,
        prox="Hinge",
        derivative="1 where x > 0",
        result="same",
        numpy=_clip0,
        torch=_clip0,
        casadi=_clip0,
        cvxpy=lambda m, x: m.pos(x),
    ),
    Function(
        "neg",
        "elementwise",
        "max(-x, 0)",
        r"({0})_-",
        sign=nonnegative,
        curvature="convex",
        monotone="-",
        smooth=False,
        derivative="-1 where x < 0",
        result="same",
        numpy=lambda m, x: _clip0(m, -x),
        torch=lambda m, x: _clip0(m, -x),
        casadi=lambda m, x: _clip0(m, -x),
        cvxpy=lambda m, x: m.neg(x),
    ),
    Function(
        "maximum",
        "elementwise",
        "entrywise larger of two",
        r"\max({0}, {1})",
        arity=2,
        sign=lambda a, b: 1 if 1 in (a, b) else same_sign(a, b),
        curvature="convex",
        monotone="++",
        smooth=False,
        derivative="1 for the larger",
        result="same",
        numpy=lambda m, x, y: m.maximum(x, y),
        torch=lambda m, x, y: m.maximum(x, y),
        casadi=lambda m, x, y: m.fmax(x, y),
        cvxpy=lambda m, x, y: m.maximum(x, y),
    ),
    Function(
        "minimum",
        "elementwise",
        "entrywise smaller of two",
        r"\min({0}, {1})",
        arity=2,
        sign=lambda a, b: -1 if -1 in (a, b) else same_sign(a, b),
        curvature="concave",
        monotone="++",
        smooth=False,
        derivative="1 for the smaller",
        result="same",
        numpy=lambda m, x, y: m.minimum(x, y),
        torch=lambda m, x, y: m.minimum(x, y),
        casadi=lambda m, x, y: m.fmin(x, y),
        cvxpy=lambda m, x, y: m.minimum(x, y),
    ),
    Function(
        "sin",
        "elementwise",
        "sine",
        r"\sin {0}",
        derivative="cos(x)",
        numpy=lambda m, x: m.sin(x),
        torch=lambda m, x: m.sin(x),
        casadi=lambda m, x: m.sin(x),
    ),
    Function(
        "cos",
        "elementwise",
        "cosine",
        r"\cos {0}",
        derivative="-sin(x)",
        numpy=lambda m, x: m.cos(x),
        torch=lambda m, x: m.cos(x),
        casadi=lambda m, x: m.cos(x),
    ),
    Function(
        "tan",
        "elementwise",
        "tangent",
        r"\tan {0}",
        derivative="1 + tan(x)^2",
        numpy=lambda m, x: m.tan(x),
        torch=lambda m, x: m.tan(x),
        casadi=lambda m, x: m.tan(x),
    ),
    Function(
        "tanh",
        "elementwise",
        "hyperbolic tangent",
        r"\tanh {0}",
        sign=same_sign,
        monotone="+",
        derivative="1 - tanh(x)^2",
        numpy=lambda m, x: m.tanh(x),
        torch=lambda m, x: m.tanh(x),
        casadi=lambda m, x: m.tanh(x),
    ),
    Function(
        "sigmoid",
        "elementwise",
        "1 / (1 + exp(-x))",
        r"\sigma({0})",
        sign=nonnegative,
        monotone="+",
        derivative="sigmoid(x) (1 - sigmoid(x))",
        numpy=_sigmoid,
        torch=_sigmoid,
        casadi=_sigmoid,
    ),
    Function(
        "floor",
        "elementwise",
        "largest integer not above",
        r"\lfloor {0} \rfloor",
        monotone="+",
        smooth=False,
        numpy=lambda m, x: m.floor(x),
        torch=lambda m, x: m.floor(x),
        casadi=lambda m, x: m.floor(x),
    ),
    Function(
        "ceil",
        "elementwise",
        "smallest integer not below",
        r"\lceil {0} \rceil",
        monotone="+",
        smooth=False,
        numpy=lambda m, x: m.ceil(x),
        torch=lambda m, x: m.ceil(x),
        casadi=lambda m, x: m.ceil(x),
    ),
    Function(
        "sign",
        "elementwise",
        "-1, 0 or 1",
        r"\operatorname{{sign}}({0})",
        sign=same_sign,
        monotone="+",
        smooth=False,
        numpy=lambda m, x: m.sign(x),
        torch=lambda m, x: m.sign(x),
        casadi=lambda m, x: m.sign(x),
    ),
]
