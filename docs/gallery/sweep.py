"""A sweep, and the theory on top.

Noise floor of 64 × 64 runs on the worst-case quadratic with 100 coordinates and noise. The lines
bound the regions in which the theory guarantees convergence.
"""

import numpy as np

import ravine
from ravine.figures.parameter_map import draw_sweep_map


def draw():
    """What ``ravine sweep`` computes and ``ravine plot`` draws."""
    plane = ravine.sweep(
        ravine.problems.worst_case_quadratic(Q=32),
        alphas=np.linspace(0.0, 0.075, 64),
        betas=np.linspace(-0.5, 1.0, 64),
        steps=1000,
        sigma2=0.01,
    )
    return draw_sweep_map(plane, "floor")
