"""Objectives that know their curvature, their minimiser and the terms they are the mean of."""

from ravine.problems.counterexample import counterexample, divergent_sum, turning_quadratics
from ravine.problems.from_data import from_data
from ravine.problems.from_functions import FunctionSum, from_functions
from ravine.problems.least_squares import least_squares, partitioned_least_squares
from ravine.problems.linear_model import LinearModel
from ravine.problems.logistic import multinomial_logistic
from ravine.problems.problem import Problem
from ravine.problems.quadratic import Quadratic
from ravine.problems.quadratic_sum import QuadraticSum
from ravine.problems.worst_case import worst_case_quadratic

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
