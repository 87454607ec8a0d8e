"""Expressions to torch: values, gradients and Hessian products by automatic differentiation, in float64 by default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.functions.table import Function
from optdsl.ir.nodes import Apply, Expr, Shape
from optdsl.ir.problem import Problem
from optdsl.lower.evaluate import is_whole
from optdsl.lower.tape import Tape
from optdsl.lower.vector import Algebra, Unsupported, Walk


class TorchAlgebra(Algebra):
    """Vectors are 1-D tensors. Constant arrays and index arrays are moved to the device once."""

    name = "torch"

    def __init__(self, device: str = "cpu", dtype: str = "float64") -> None:
        import torch

        self.torch = torch
        self.device, self.dtype = device, getattr(torch, dtype)
        self.values: dict[str, Any] = {}
        self._kept: dict[int, tuple[Any, Any]] = {}

    def _keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """The tensor of a NumPy object, made once; the object is kept alive so that its id stays its own."""
        if id(key) not in self._kept:
            self._kept[id(key)] = (key, make())
        return self._kept[id(key)][1]

    def tensor(self, array: Any) -> Any:
        def make() -> Any:
            flat = (
                np.array(array, dtype=float)
                if not np.asarray(array).flags.writeable
                else np.asarray(array, dtype=float)
            )
            return self.torch.as_tensor(flat, dtype=self.dtype, device=self.device)

        return self._keep(array, make)

    def index(self, at: Any) -> Any:
        return self._keep(at, lambda: self.torch.tensor(np.asarray(at), dtype=self.torch.int64, device=self.device))

    def variable(self, name: str, shape: Shape) -> Any:
        return self.values[name].reshape(-1)

    def constant(self, values: Any) -> Any:
        return self.tensor(values).reshape(-1)

    def length(self, v: Any) -> int:
        return int(v.shape[0])

    def take(self, v: Any, index: Any) -> Any:
        index = np.asarray(index)
        return v if is_whole(index, v.shape[0]) else v[self.index(index)]

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def negate(self, a: Any) -> Any:
        return -a

    def scale(self, a: Any, c: Any) -> Any:
        return a * (float(c) if np.ndim(c) == 0 else self.tensor(c))

    def product(self, a: Any, b: Any, node: Expr) -> Any:
        return a * b

    def linear(self, M: Any, a: Any) -> Any:
        if sp.issparse(M):
            return self._keep(M, lambda: self._sparse(M)) @ a
        return self.tensor(M) @ a

    def times(self, M: Any, a: Any, columns: int) -> Any:
        if sp.issparse(M):
            return super().times(M, a, columns)
        return (self.tensor(M) @ a.reshape(-1, columns)).reshape(-1)

    def _sparse(self, M: Any) -> Any:
        coo = sp.coo_array(M)
        at = self.torch.as_tensor(np.stack([coo.row, coo.col]).astype(np.int64))
        t = self.torch.sparse_coo_tensor(
            at, coo.data, M.shape, dtype=self.dtype, device=self.device, check_invariants=False
        )
        return t.coalesce()

    def group(self, a: Any, parent_row: Any, rows: int, width: int) -> Any:
        parent = np.asarray(parent_row)
        blocks = a.reshape(-1, width)
        if (
            rows
            and len(parent) % rows == 0
            and len(parent)
            and np.array_equal(parent, np.repeat(np.arange(rows), len(parent) // rows))
        ):
            return blocks.reshape(rows, -1, width).sum(1).reshape(-1)
        out = self.torch.zeros((rows, width), dtype=self.dtype, device=self.device)
        return out.index_add(0, self.index(parent), blocks).reshape(-1)

    def concat(self, parts: Sequence[Any]) -> Any:
        return self.torch.cat(list(parts))

    def matmul(self, a: Any, sa: Shape, b: Any, sb: Shape, rows: int, node: Expr) -> Any:
        left = a.reshape(rows, *(sa if len(sa) == 2 else (1, *sa)))
        right = b.reshape(rows, *(sb if len(sb) == 2 else (*sb, 1)))
        return self.torch.matmul(left, right).reshape(-1)

    def elementwise(self, f: Function, args: Sequence[Any], node: Apply) -> Any:
        if f.torch is None:
            raise Unsupported(f"{f.name} has no torch lowering", node)
        tensors = [self.tensor(a) if isinstance(a, np.ndarray | np.generic) else a for a in args]
        return f.torch(self.torch, *self.torch.broadcast_tensors(*tensors), **node.params)

    def reduction(self, f: Function, v: Any, rows: int, width: int, node: Expr) -> Any:
        if f.torch is None:
            raise Unsupported(f"{f.name} has no torch lowering", node)
        return f.torch(self.torch, v.reshape(rows, width), **getattr(node, "params", {}))

    def matrix(self, f: Function, args: Sequence[Any], shapes: Sequence[Shape], rows: int, node: Apply) -> Any:
        if f.torch is None:
            raise Unsupported(f"{f.name} has no torch lowering", node)
        shaped = []
        for a, shape in zip(args, shapes, strict=True):
            dense = a.toarray() if sp.issparse(a) else a
            t = self.tensor(dense) if isinstance(dense, np.ndarray | np.generic) else dense
            shaped.append(t.expand(rows, *shape) if t.shape == shape and rows > 1 else t.reshape(rows, *shape))
        return f.torch(self.torch, *shaped, **node.params).reshape(-1)


class TorchFunction:
    """A scalar expression as a function of one flat float64 vector (the problem's variables in order)."""

    def __init__(self, problem: Problem, expr: Expr, device: str = "cpu") -> None:
        import torch

        self.torch, self.problem, self.expr, self.device = torch, problem, expr, device
        self.algebra = TorchAlgebra(device)
        self.constants = Walk(problem, self.algebra).constants
        self._tape: Tape | None = None
        self._result = -1

    def tensor(self, x: Any) -> Any:
        """f at a tensor x of shape (n,)."""
        at = 0
        for v in self.problem.variables.values():
            self.algebra.values[v.name] = x[at : at + v.size]
            at += v.size
        if self._tape is None:
            tape = Tape(self.algebra)
            result = Walk(self.problem, tape, self.constants).vector(self.expr)  # type: ignore[arg-type]
            self._tape, self._result = tape, result.number
            return result.value.reshape(())
        return self._tape.replay(self._result).reshape(())

    def _leaf(self, x: Any, grad: bool) -> Any:
        return self.torch.tensor(
            np.asarray(x, dtype=float), dtype=self.torch.float64, device=self.device, requires_grad=grad
        )

    def value(self, x: Any) -> float:
        with self.torch.no_grad():
            return float(self.tensor(self._leaf(x, grad=False)))

    def value_and_grad(self, x: Any) -> tuple[float, Any]:
        leaf = self._leaf(x, grad=True)
        y = self.tensor(leaf)
        if not y.requires_grad:
            return float(y), np.zeros_like(np.asarray(x, dtype=float))
        (g,) = self.torch.autograd.grad(y, leaf, allow_unused=True)
        return float(y.detach()), np.zeros_like(x) if g is None else g.cpu().numpy()

    def grad(self, x: Any) -> Any:
        return self.value_and_grad(x)[1]

    def hvp(self, x: Any, v: Any) -> Any:
        leaf = self._leaf(x, grad=True)
        y = self.tensor(leaf)
        g = self.torch.autograd.grad(y, leaf, create_graph=True, allow_unused=True)[0] if y.requires_grad else None
        if g is None or not g.requires_grad:
            return np.zeros_like(np.asarray(x, dtype=float))
        (h,) = self.torch.autograd.grad(g, leaf, self._leaf(v, grad=False), allow_unused=True)
        return np.zeros_like(np.asarray(x, dtype=float)) if h is None else h.cpu().numpy()

    def hess_rows(self, x: Any, rows: Any) -> Any:
        """Those rows of the Hessian, (len(rows), n), in one batched backward pass."""
        leaf = self._leaf(x, grad=True)
        n = leaf.shape[0]
        y = self.tensor(leaf)
        g = self.torch.autograd.grad(y, leaf, create_graph=True, allow_unused=True)[0] if y.requires_grad else None
        if g is None or not g.requires_grad:
            return np.zeros((len(rows), n))
        picked = self.torch.zeros((len(rows), n), dtype=self.torch.float64, device=self.device)
        picked[np.arange(len(rows)), np.asarray(rows)] = 1.0
        (H,) = self.torch.autograd.grad(g, leaf, picked, is_grads_batched=True, allow_unused=True)
        return np.zeros((len(rows), n)) if H is None else H.cpu().numpy()

    def hess(self, x: Any) -> Any:
        """The dense Hessian, (n, n)."""
        H = self.hess_rows(x, np.arange(len(x)))
        return 0.5 * (H + H.T)
