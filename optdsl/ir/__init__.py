"""The typed problem: expressions with shapes, sets, variables, rows, and what was asked of the run."""

import sys

# an expression may be 200 levels deep, and each level takes several calls
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
