"""Two measures of the error under noise: distance to the minimiser, and objective."""

from __future__ import annotations

from ravine.arguments import Choice


class ErrorQuantity(Choice):
    """The mean error that a function returns. The objective is what a training loss shows.

    In an eigen-direction λ, the objective is λ/2 times the squared distance, so flat directions
    weigh less. Every function that takes a quantity accepts a member or its value.

    Examples
    --------
    >>> ErrorQuantity("objective").sentence
    'E f(y) - f*'
    """

    DISTANCE = "distance", "E‖y - x*‖²"
    OBJECTIVE = "objective", "E f(y) - f*"
