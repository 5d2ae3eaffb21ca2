"""The figures of the reproduction, by name."""

from __future__ import annotations

from ravine.figures import (
    inconsistent_batch,
    least_squares,
    logistic,
    negative_momentum,
    nested_regions,
    noise_floor_slopes,
    restart,
    sgd_finite_sum,
    stochastic_approximation,
    turning_quadratics,
)
from ravine.figures.entry import FigureEntry

FIGURES: dict[str, FigureEntry] = {
    module.FIGURE.name: module.FIGURE
    for module in (
        stochastic_approximation,
        inconsistent_batch,
        sgd_finite_sum,
        least_squares,
        logistic,
        nested_regions,
        turning_quadratics,
        noise_floor_slopes,
        restart,
        negative_momentum,
    )
}
"""In the order of the paper, then ours. A figure's own file says everything else about it."""
