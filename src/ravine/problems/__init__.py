"""Objectives with their curvature, their minimiser and their terms."""

from ravine.problems.data import (
    from_data,
    least_squares,
    multinomial_logistic,
    partitioned_least_squares,
)
from ravine.problems.examples import (
    counterexample,
    divergent_sum,
    turning_quadratics,
    worst_case_quadratic,
)
from ravine.problems.from_functions import FunctionSum, from_functions
from ravine.problems.linear_model import LinearModel
from ravine.problems.problem import Problem
from ravine.problems.quadratics import Quadratic, QuadraticSum

__all__ = [
    "FunctionSum",
    "LinearModel",
    "Problem",
    "Quadratic",
    "QuadraticSum",
    "counterexample",
    "divergent_sum",
    "from_data",
    "from_functions",
    "least_squares",
    "multinomial_logistic",
    "partitioned_least_squares",
    "turning_quadratics",
    "worst_case_quadratic",
]
