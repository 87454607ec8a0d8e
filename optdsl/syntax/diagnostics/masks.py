"""E33 and E43, W43, E643: scores and patterns of N:M masks."""

from __future__ import annotations

from collections.abc import Sequence

from optdsl.syntax.diagnostics.record import Diagnostic, mistake
from optdsl.syntax.source import Cell, Span


@mistake("E330", "a score is not a finite number")
def score_not_finite(
    name: str, index: Sequence[int], value: float, count: int, place: Span | Cell | None = None
) -> Diagnostic:
    """A mask keeps the entries with the largest scores, and NaN or infinity has no place in that order. The first such
    entry is named by its index, from 0."""
    others = [f"{count - 1} more entries are not finite"] if count > 1 else []
    return Diagnostic(
        "E330",
        f"`{name}[{', '.join(map(str, index))}]` is {value}, and a score must be a finite number",
        place,
        notes=others,
        help="repair the data, or give entries that must not be kept a large negative score",
    )


@mistake("E331", "scores are not real numbers")
def score_not_real(name: str, dtype: str, place: Span | Cell | None = None) -> Diagnostic:
    """Scores are compared and added, so they must be real numbers (float, integer or bool arrays)."""
    return Diagnostic("E331", f"`{name}` holds {dtype} values, and scores must be real numbers", place)


@mistake("E430", "M does not divide the axis")
def pattern_does_not_divide(
    M: int, axis: int, shape: Sequence[int], name: str, place: Span | Cell | None = None
) -> Diagnostic:
    """An N:M pattern cuts an axis into groups of M consecutive entries (M × M blocks when it is transposable), so M
    must divide the axis. Nothing is padded silently: a border group would hold fewer than N entries."""
    length = shape[axis]
    below, above = length // M * M, -(-length // M) * M
    near = f"{above}" if below == 0 else f"{below} and {above}"
    return Diagnostic(
        "E430",
        f"`{name}` has shape [{', '.join(map(str, shape))}], and {M} does not divide axis {axis} ({length})",
        place,
        label=f"{length} is not a multiple of {M}",
        notes=[f"the nearest multiples of {M} are {near}"],
        help=f"crop the axis, or pad it to {above} with zeros and drop the padding from the mask",
    )


@mistake("E431", "N and M of a pattern are out of range")
def pattern_out_of_range(N: int, M: int, place: Span | Cell | None = None) -> Diagnostic:
    """`nm(N, M)` keeps N of every M entries, so M is at least 1 and N lies between 0 and M."""
    return Diagnostic(
        "E431", f"nm({N}, {M}) asks for {N} of every {M} entries", place, help="take 0 <= N <= M and M >= 1"
    )


@mistake("E432", "a transposable pattern needs a matrix")
def pattern_needs_matrix(shape: Sequence[int], name: str, place: Span | Cell | None = None) -> Diagnostic:
    """A transposable pattern holds along both axes of M × M blocks, so the array must have exactly two axes."""
    return Diagnostic(
        "E432",
        f"`{name}` has {len(shape)} axes, and a transposable pattern needs 2",
        place,
        help="reshape the array to a matrix, or drop transposable=true",
    )


@mistake("E433", "the axis of a pattern does not exist")
def pattern_axis_missing(axis: int, shape: Sequence[int], name: str, place: Span | Cell | None = None) -> Diagnostic:
    """`axis=` counts from 0, or from the end when negative, and must name an axis of the array."""
    return Diagnostic("E433", f"`{name}` has {len(shape)} axes and none with number {axis}", place)


@mistake("W430", "the transport plan has not converged")
def plan_not_converged(error: float, blocks: int, count: int) -> Diagnostic:
    """The entropic transport plan is rounded to a mask whose pattern holds in any case. A plan whose row sums are far
    from N makes a poor mask: more sweeps, or a lower temperature parameter tau, bring it closer."""
    return Diagnostic(
        "W430",
        f"the transport plan has not converged (row error {error:.2g}); raise sweeps or lower tau",
        notes=[f"{blocks} of {count} blocks have a row error above 0.5"],
        severity="warning",
    )


@mistake("E643", "the device is not there")
def device_missing(device: str) -> Diagnostic:
    """The run asked for a device that PyTorch does not find on this machine."""
    return Diagnostic("E643", f"device `{device}` is not available here", help='write device="cpu"')
