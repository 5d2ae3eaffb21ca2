"""Mean-square growth of one sum over a whole plane of methods at once."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.finite_sums.pairs import MeanBlocks, noise_response
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.ladder.rates import block_radius

_PAIRS = 1 << 16
"""Pairs of directions, times methods, whose 4x4 systems are solved together: 16 MB."""
_ROUNDS = 18
"""Guesses of the growth; a secant needs about half of them."""
_POWERS = 10
"""Products for each guess; the eigenvector of the last guess is close already."""
_SMALL = 4
"""Directions up to which the radius is that of a matrix, 10 x 10 at the most, and exact."""
_LOWEST = -25.0
"""Least t = log(λ/λ₀ - 1): e⁻²⁵ of the mean's growth is rounding."""
_HIGHEST = 40.0
"""Largest t: a growth of 1e17 a step is as good as any beyond."""


def growth_plane(moments: SecondMoments, method: Method) -> FloatArray:
    """Growth of E‖s‖² per step of many methods, in the shape of their parameters.

    As :meth:`SecondMoments.growth`, with a fixed number of guesses and products for all: right to
    about 1e-3 for all but one in a hundred methods, and for all with up to four directions. It
    shows where valleys are.

    Examples
    --------
    >>> moments = SecondMoments.of(np.array([[[1.0]], [[3.0]]]))
    >>> growth_plane(moments, Method([0.1, 0.5])).round(4).tolist()
    [0.65, 0.25]
    """
    alpha, beta, gamma = np.broadcast_arrays(method.alpha, method.beta, method.gamma)
    out = np.empty(alpha.size)
    step = max(1, _PAIRS // moments.dimension**2)
    for first in range(0, alpha.size, step):
        part = slice(first, first + step)
        a, b, g = (values.ravel()[part] for values in (alpha, beta, gamma))
        rates = block_radius(moments.eigenvalues, a[:, None], b[:, None], g[:, None])
        out[part] = _growth(moments, Method(a, b, g), np.max(rates, axis=1) ** 2)

    return out.reshape(alpha.shape)


def _start(moments: SecondMoments, count: int) -> FloatArray:
    d = moments.dimension
    return np.broadcast_to(np.eye(d) / d, (count, d, d))


def _radii(
    moments: SecondMoments, kappa: FloatArray, M: FloatArray, powers: int
) -> tuple[FloatArray, FloatArray]:
    """Spectral radii of M ↦ N(κ∘M), and their eigenvectors, after so many products."""
    if moments.dimension <= _SMALL:
        return _small_radii(moments, kappa), M

    radius = np.zeros(len(M))
    for _ in range(powers):
        moved = moments.sandwich(kappa * M)
        radius = np.einsum("pii->p", moved)
        M = moved / np.maximum(radius, 1e-300)[:, None, None]

    return radius, M


def _small_radii(moments: SecondMoments, kappa: FloatArray) -> FloatArray:
    """The radii by the matrix of the map on upper triangles."""
    rows, columns = np.triu_indices(moments.dimension)
    scaled = kappa[:, rows, columns][:, :, None] * moments.table
    return np.asarray(np.linalg.eigvals(scaled).real.max(axis=-1))


def _growth(moments: SecondMoments, method: Method, least: FloatArray) -> FloatArray:
    """The root of r(λ) = 1 by a secant in t that keeps to its bracket."""
    base = np.maximum(least, 1e-12)
    M = _start(moments, least.size)
    low = np.full(least.size, _LOWEST)
    high = np.full(least.size, _HIGHEST)
    size = moments.spread.largest * np.asarray(method.alpha)
    t = np.log(np.maximum(np.maximum(size, 1e-6), size**2 / base))
    blocks = MeanBlocks(moments.eigenvalues, method)
    t_before = np.full(least.size, np.nan)
    excess_before = np.full(least.size, np.nan)

    for _ in range(_ROUNDS):
        kappa = noise_response(blocks, method, base * (1.0 + np.exp(t)))[:, 0]
        radius, M = _radii(moments, kappa, M, _POWERS)
        excess = np.log(np.maximum(radius, 1e-300))
        low = np.where(excess > 0.0, t, low)
        high = np.where(excess > 0.0, high, t)

        with np.errstate(invalid="ignore", divide="ignore"):
            slope = (excess - excess_before) / (t - t_before)
            move = np.where((slope > -20.0) & (slope < -0.05), -excess / slope, excess)
            # r stays below 1 down to λ₀: the deviations leave the slowest direction alone.
            move = np.where((slope >= -0.05) & (excess < -1e-3), -np.inf, move)

        ahead = t + np.clip(move, -6.0, 6.0)
        t_before = t
        excess_before = excess
        inside = (ahead > low) & (ahead < high)
        t = np.where(inside, ahead, 0.5 * (low + high))

    return np.asarray(np.where(t > _LOWEST + 1.0, base * (1.0 + np.exp(t)), least))
