"""One step of the (alpha, beta, gamma) family, coordinate by coordinate, for every kernel.

The functions take and return scalars and contain only arithmetic, so that CPU kernels, CUDA kernels
and plain Python run the same source.

With a given gradient, a step is::

    y  = look_ahead(x, x_prev, gamma)
    x⁺ = descend(x, x_prev, alpha, beta, gradient at y)

In an eigen-direction lambda of a quadratic, with errors x - x* and h = alpha lambda, both are one
linear recurrence with the coefficients of the companion block::

    x⁺ = modal_step(x, x_prev, c1, c2, -alpha z),  c1 = 1+beta-h(1+gamma),  c2 = -(beta-h gamma)
"""

from __future__ import annotations

import numpy as np

from ravine.engine.kernels.compiled import inner


@inner
def look_ahead(x: np.floating, x_prev: np.floating, gamma: np.floating) -> np.floating:
    """Return y = x + gamma (x - x₋), where the gradient is evaluated."""
    return x + gamma * (x - x_prev)


@inner
def descend(
    x: np.floating,
    x_prev: np.floating,
    alpha: np.floating,
    beta: np.floating,
    gradient: np.floating,
) -> np.floating:
    """Return x⁺ = x + beta (x - x₋) - alpha g."""
    return x + beta * (x - x_prev) - alpha * gradient


@inner
def modal_coefficients(
    h: np.floating, beta: np.floating, gamma: np.floating
) -> tuple[np.floating, np.floating]:
    """Return (c1, c2) of ``modal_step`` in a direction with h = alpha lambda."""
    return beta - h * gamma + (1 - h), h * gamma - beta


@inner
def modal_step(
    x: np.floating, x_prev: np.floating, c1: np.floating, c2: np.floating, noise: np.floating
) -> np.floating:
    """Return x⁺ = c1 x + c2 x₋ + noise, where noise = -alpha z."""
    return c1 * x + (c2 * x_prev + noise)
