"""The parameters with the least error after a given number of steps with random mini-batches."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray, one_number, whole
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.blocks import moment_gain, moment_step
from ravine.theory.ladder.batch_noise import BatchNoise, batch_noise
from ravine.theory.ladder.safety import safe_step
from ravine.theory.noise.error_quantity import ErrorQuantity
from ravine.theory.tuning.grid_zoom import zoom

_CURVATURES = 33
"""Curvatures between mu and L, evenly in their logarithms, among which the worst is sought."""
_SHORTEST = 1e-4
"""Shortest step tried, as a share of the longest that SGD may take at this batch size."""
_LONGEST = 4.0
"""Longest alpha L tried: beyond it no momentum between -1 and 1 is stable."""


def batch_moment(
    eigenvalues: FloatArray,
    method: Method,
    noise: BatchNoise,
    *,
    sigma2: float,
    distance: float,
    steps: int,
) -> FloatArray:
    """E r² after ``steps`` steps in each eigen-direction, with random curvature and noise.

    The moments (E r², E rv, E v², 1) are mapped linearly: by B⊗B, plus alpha² V (g⊗g) for what the
    random curvature adds to r², plus alpha² sigma2 (g⊗g) from the constant one. A power of the 4x4
    matrix by repeated squaring.
    """
    shared = (eigenvalues - noise.least) * (noise.most - eigenvalues)
    variance = noise.known + noise.share * shared
    step = moment_step(eigenvalues, variance, method)
    matrix = np.zeros((*step.shape[:-2], 4, 4))
    matrix[..., :3, :3] = step
    matrix[..., :3, 3] = sigma2 * moment_gain(method)
    matrix[..., 3, 3] = 1.0

    state = np.zeros((*step.shape[:-2], 4, 1))
    state[..., 0, 0] = distance**2
    state[..., 3, 0] = 1.0

    with np.errstate(all="ignore"):
        remaining = steps
        while remaining:
            if remaining % 2:
                state = matrix @ state
            matrix = matrix @ matrix
            remaining //= 2

    moment = state[..., 0, 0]
    return np.where(np.isnan(moment), np.inf, moment)


def fastest_batch_budget(
    curvature: Curvature,
    *,
    batch_size: float,
    sigma2: float,
    distance: float,
    steps: int,
    L_max: float | None = None,
    mu_min: float | None = None,
    quantity: ErrorQuantity | str = ErrorQuantity.DISTANCE,
) -> tuple[Method, float]:
    """Nesterov parameters with the least worst-direction error after ``steps`` steps.

    The error is E‖y - x*‖², or E f(y) - f* with ``quantity="objective"``.

    Returns
    -------
    The method, and that error: the largest over curvatures in [mu, L] of a problem in one
    dimension, which bounds every sum with shared eigenvectors.
    """
    remedy = "give one curvature with scalar mu and L"
    mu = one_number("mu", curvature.mu, remedy=remedy)
    L = one_number("L", curvature.L, remedy=remedy)
    start = one_number("distance", distance, "positive", remedy="give ‖x_0 - x*‖, e.g. 1.0")
    level = one_number("sigma2", sigma2, "nonnegative", remedy="give the noise variance, e.g. 1.0")
    count = whole("steps", steps, 1, remedy="give the number of steps, e.g. steps=100")
    noise = batch_noise(Curvature(mu, L), batch_size=batch_size, L_max=L_max, mu_min=mu_min)
    spectrum = np.geomspace(mu, L, _CURVATURES)[:, None]
    spectrum[0] = mu
    spectrum[-1] = L
    kind = ErrorQuantity.parse(quantity, "quantity")
    weight = 0.5 * spectrum if kind is ErrorQuantity.OBJECTIVE else np.ones_like(spectrum)

    def objective(log_step: FloatArray, s: FloatArray) -> FloatArray:
        method = Method(np.exp(log_step), np.tanh(s))
        moments = batch_moment(spectrum, method, noise, sigma2=level, distance=start, steps=count)
        worst: FloatArray = (weight * moments).max(axis=0)
        return worst

    longest = np.log(_LONGEST / L)
    shortest = np.log(_SHORTEST * float(safe_step(L, 0.0, batch_size=batch_size, L_max=L_max)))
    # beta = tanh s, from -0.76 to within a quarter of 1/√Q of 1.
    most = 0.5 * np.log(8.0 * np.sqrt(L / mu)) + 0.5
    (log_step, s), value = zoom(objective, [(float(shortest), float(longest)), (-1.0, float(most))])
    return Method(np.exp(log_step), np.tanh(s)), value
