"""optdsl: a declarative optimisation language whose answers are checked."""
