"""Where Nesterov's method converges.

Every point is a step size and a momentum at condition number 32. From light to dark, the method is
safe with exact gradients, for independent batches, for sums with shared eigenvectors, for every
finite sum in every order, and where the paper's bound covers it. The circle marks the standard
(textbook) Nesterov parameters, the square SGD.
"""

from ravine.figures.parameter_map import draw_parameter_map, parameter_map


def draw():
    """The map that ``ravine map --Q 32`` writes."""
    return draw_parameter_map(parameter_map(32.0, resolution=300))
