"""The plane of parameters on which rate maps are compared: 32 x 32 pixels, Q = 32."""

from __future__ import annotations

import numpy as np

import ravine

PIXELS = 32
CURVATURE = ravine.Curvature(1 / 32, 1.0)  # L = 1: the units in which solvers are most exact

STEPS = np.linspace(0.05, 2.0, PIXELS)
"""Step sizes, to the 2/L beyond which no method of the family converges without momentum."""

MOMENTA = np.linspace(0.0, 0.95, PIXELS)
"""Momenta, from plain gradient descent upwards."""


def pairs() -> list[tuple[float, float]]:
    """Every (alpha, beta), momentum by momentum."""
    return [(float(alpha), float(beta)) for beta in MOMENTA for alpha in STEPS]


def methods() -> ravine.Method:
    """The same pairs as one array of methods, for ravine."""
    alphas = np.array([alpha for alpha, _ in pairs()])
    betas = np.array([beta for _, beta in pairs()])
    return ravine.Method(alphas, betas)
