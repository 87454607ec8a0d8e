"""Independent checks of answers: nothing here imports a backend."""
