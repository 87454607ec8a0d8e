"""Running a backend: budget, seeds, events, checkpoints."""
