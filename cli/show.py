"""`optdsl show`: the problem as mathematics."""

from __future__ import annotations

from .options import AllowPath, AllowPython, Data, File, Set, load


def command(
    file: File,
    set_: Set = None,
    data: Data = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = None,
) -> int:
    """Print the problem as LaTeX."""
    from optdsl.run.settings import command_line

    s = command_line(with_=None, options=(), set_=set_ or (), data=data or ())
    print(load(file, allow_python, allow_path).latex(data=s.data, params=s.set))
    return 0
