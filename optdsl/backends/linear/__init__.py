"""Linear, quadratic and mixed-integer programs by established solvers."""
