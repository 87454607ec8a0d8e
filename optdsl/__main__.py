"""`python -m optdsl`: the same as the command `optdsl`."""

from __future__ import annotations

from optdsl.cli import main

if __name__ == "__main__":
    main()
