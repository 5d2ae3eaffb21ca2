"""Where Nesterov's method converges.

Every point is a step size and a momentum at condition number 32. From light to dark: additive
noise, sums with shared eigenvectors, every finite sum in every order (exact), and what the
paper's bound reaches. The dot is the textbook's choice.
"""

from ravine.figures.parameter_map import draw_parameter_map, parameter_map


def draw():
    """The map that ``ravine map --Q 32`` writes."""
    return draw_parameter_map(parameter_map(32.0, resolution=300))
