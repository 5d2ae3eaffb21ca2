"""The smallest sweep that has everything: two coordinates, variables, several tiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from ravine.engine.sweep import sweep
from ravine.problems import worst_case_quadratic

SPEC = """
alphas = {start = 0.0, stop = 0.3, count = 6}
betas = {start = 0.0, stop = 0.9, count = 5}
steps = 30
measure = ["rate", "floor", "outcome"]
tile = 10
threads = 1

[problem]
kind = "worst_case_quadratic"
Q = 8
d = 4
"""
"""The same as ``tiny_sweep``, for the command line."""

TILES = 3


def tiny_sweep(store: Path | None = None) -> xr.Dataset:
    """Run it: 6 x 5 pixels in three tiles."""
    alphas = np.linspace(0.0, 0.3, 6)
    betas = np.linspace(0.0, 0.9, 5)
    measure = ["rate", "floor", "outcome"]
    problem = worst_case_quadratic(8, 4)

    return sweep(problem, alphas, betas, steps=30, measure=measure, tile=10, threads=1, store=store)
