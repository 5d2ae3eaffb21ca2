"""The figures of the reproduction, by name."""

from __future__ import annotations

from ravine.figures import (
    inconsistent_batch,
    logistic,
    negative_momentum,
    nested_regions,
    noise_floor_slopes,
    noise_plane,
    restart,
    sgd_finite_sum,
    turning_quadratics,
)
from ravine.figures.entry import FigureEntry

FIGURES: dict[str, FigureEntry] = {
    entry.name: entry
    for entry in (
        noise_plane.FIGURE,
        inconsistent_batch.FIGURE,
        sgd_finite_sum.FIGURE,
        noise_plane.LEAST_SQUARES,
        logistic.FIGURE,
        nested_regions.FIGURE,
        turning_quadratics.FIGURE,
        noise_floor_slopes.FIGURE,
        restart.FIGURE,
        negative_momentum.FIGURE,
    )
}
"""In the order of the paper, then ours. A figure's own file says everything else about it."""
