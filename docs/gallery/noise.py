"""Momentum amplifies noise.

The stationary squared distance with additive noise, in the worst direction, against the condition
number: Q^(3/2)/4 for Nesterov's method, Q for SGD. Dots are runs.
"""

from ravine.figures.catalogue import FIGURES


def draw():
    """The figure of the reproduction."""
    figure = FIGURES["noise-floors"]
    return figure.draw(figure.compute(**figure.quick))
