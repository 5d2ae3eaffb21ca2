"""Two measures of the error under noise: distance to the minimiser, and objective."""

from __future__ import annotations

from ravine.choices import Choice


class ErrorQuantity(Choice):
    """Which mean error a function returns. People who watch a loss want the objective.

    In an eigen-direction λ one is the other times λ/2, so flat directions weigh less in the
    objective. Every function that takes a quantity accepts a member or its value.

    Examples
    --------
    >>> ErrorQuantity("objective").sentence
    'E f(y) - f*'
    """

    DISTANCE = "distance", "E‖y - x*‖²"
    OBJECTIVE = "objective", "E f(y) - f*"
