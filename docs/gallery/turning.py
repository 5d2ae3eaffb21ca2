"""Four harmless quadratics that make it diverge.

Axes at 0°, 45°, 90° and 135°, in cyclic order. Their mean is perfectly conditioned, and yet the
standard Nesterov parameters diverge as soon as Q exceeds 6 + 4√2.
"""

from ravine.figures.catalogue import FIGURES


def draw():
    """The figure of the reproduction."""
    figure = FIGURES["turning-quadratics"]
    return figure.draw(figure.compute(**figure.quick))
