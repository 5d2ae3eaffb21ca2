"""The parameters with the smallest error after a given number of steps, with noise or batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, one_number, whole
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.blocks import coupling, moment_rows
from ravine.theory.error_quantity import ErrorQuantity
from ravine.theory.ladder.batch_noise import Batches, BatchNoise, batch_noise
from ravine.theory.ladder.safety import safe_step
from ravine.theory.tuning.search import Least, descents, in_plane, valleys

_MOST_STEPS = 50_000
"""Largest budget for which the worst curvature is bounded; it needs at least four samples per
step."""
_MOST_SAMPLES = 1_000_000
"""Maximum number of samples of one round of the bound; beyond it, the bound is not refined."""
_TIGHT = 1e-7
"""Relative slack of the bound of the worst curvature."""
_MOST_NODES = 400
"""Maximum number of curvatures at the start of the search, besides evenly spaced ones."""
_EXCHANGES = 8
"""Number of rounds that add missing worst curvatures to the search."""


class Budget(NamedTuple):
    """A method with the smallest worst-case error after a budget of steps."""

    method: Method
    value: float
    certain: bool
    """Whether ``value`` bounds the error at every curvature; otherwise it is the largest of a
    sample."""


def moment_after(
    eigenvalues: FloatArray,
    method: Method,
    noise: BatchNoise | None = None,
    *,
    sigma2: Real | float = 0.0,
    distance: Real | float = 1.0,
    steps: int | npt.NDArray[np.int64],
) -> FloatArray:
    """E r² after ``steps`` steps in each eigen-direction, with random curvature and noise.

    The moments (E r², E rv, E v², 1) are mapped linearly: by B⊗B, plus alpha² V (g⊗g) times E r²
    for random curvature, plus alpha² sigma2 (g⊗g) times the constant 1. Repeated squaring gives the
    power of the 4x4 matrix. Everything broadcasts; infinite if it overflows.
    """
    mantissa, exponent = _moment_after(eigenvalues, method, noise, sigma2, distance, steps)
    with np.errstate(over="ignore"):
        return np.ldexp(mantissa, np.clip(exponent, -5000, 5000))


def _moment_after(
    eigenvalues: FloatArray,
    method: Method,
    noise: BatchNoise | None,
    sigma2: Real | float,
    distance: Real | float,
    steps: int | npt.NDArray[np.int64],
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Mantissa and exponent of E r², to distinguish errors too small for a float."""
    variance = 0.0 if noise is None else noise.variance(eigenvalues)
    ahead = 1.0 + method.gamma
    h = method.alpha * eigenvalues
    rows = moment_rows(1.0 - ahead * h, coupling(method.beta, method.gamma), -h, method.beta)
    # Not checked, because a search evaluates it thousands of times. The two axes of a matrix come
    # first, so that all matrices are multiplied in one long loop.
    kick = method.alpha**2
    shape = np.broadcast_shapes(*(np.shape(v) for v in (*rows[0], variance, sigma2)))
    matrix = np.zeros((4, 4, *shape))
    for row, entries, gain in zip(matrix, rows, (ahead * ahead, ahead, 1.0), strict=False):
        for j, entry in enumerate(entries):
            row[j] = entry
        row[0] += kick * variance * gain
        row[3] = kick * sigma2 * gain
    # Without noise the powers shrink without bound, so their exponents are counted.
    matrix[3, 3] = np.asarray(sigma2) > 0.0

    state = np.zeros((4, *np.broadcast_shapes(shape, np.shape(steps))))
    state[0] = np.asarray(distance) ** 2
    state[3] = 1.0
    power = np.zeros(shape, dtype=np.int64)
    exponent = np.zeros(state.shape[1:], dtype=np.int64)
    with np.errstate(all="ignore"):
        for bit in range(int(np.max(steps)).bit_length()):
            if bit:
                matrix = np.einsum("ij...,jk...->ik...", matrix, matrix)
                size = np.frexp(np.abs(matrix).max(axis=(0, 1)))[1]
                matrix = np.ldexp(matrix, -size)
                power = 2 * power + size
            odd = (steps >> bit) & 1
            if isinstance(odd, np.ndarray) or odd:
                moved = np.einsum("ij...,j...->i...", matrix, state)
                state = np.where(odd, moved, state)
                exponent = exponent + odd * power

    return np.where(np.isfinite(state[0]), state[0], np.inf), exponent


class _Adversary:
    """The error after the budget in the worst direction between mu and L."""

    def __init__(
        self, mu: float, L: float, noise: BatchNoise, sigma2: float, distance: float, steps: int,
        kind: ErrorQuantity,
    ) -> None:  # fmt: skip
        self.middle = 0.5 * (L + mu)
        self.half = 0.5 * (L - mu)
        self.ends = (mu, L)
        self.noise = noise
        self.given = (sigma2, distance, steps)
        self.weighted = kind is ErrorQuantity.OBJECTIVE
        # E r² is a polynomial of degree 2 steps in λ, and λ E r² has one degree more.
        self.degree = 2 * steps + (1 if self.weighted else 0)

    def log_errors(self, log_step: FloatArray, s: FloatArray, lam: FloatArray) -> FloatArray:
        """Logarithms at (alpha, beta) = (exp log_step, tanh s), curvatures as a last axis."""
        method = in_plane(log_step[..., None], s[..., None])
        mantissa, exponent = _moment_after(lam, method, self.noise, *self.given)
        weighted = 0.5 * lam * mantissa if self.weighted else mantissa
        return np.asarray(np.log(np.maximum(weighted, 1e-300)) + np.log(2.0) * exponent)

    def largest(self, log_step: FloatArray, s: FloatArray, lam: FloatArray) -> FloatArray:
        """The largest logarithm over the given curvatures."""
        return np.asarray(self.log_errors(log_step, s, lam).max(axis=-1))

    def counting(self, lam: FloatArray) -> Callable[..., float]:
        """The same for one method at a time."""
        return lambda log_step, s: float(self.largest(np.array(log_step), np.array(s), lam))

    def worst(self, log_step: float, s: float) -> tuple[float, FloatArray]:
        """Bound the largest log error over [mu, L]; return it with the curvatures of high peaks.

        In λ = middle + half cos θ the error is a trigonometric polynomial of degree n. Within φ of
        its maximum M it is at least M cos(nφ) (M. Riesz). So among samples spaced by 2φ, only those
        above the largest sample times cos(nφ) can be next to the maximum, and M is at most the
        largest sample over cos(nφ). Only their surroundings are sampled further.
        """
        count = 2 * self.degree
        angles = np.arange(count + 1) * np.pi / count
        phi = 0.5 * np.pi / count
        values = self._at(angles, log_step, s)
        best = float(values.max())
        inner = (values[1:-1] >= values[:-2]) & (values[1:-1] >= values[2:])
        tops = np.flatnonzero(inner) + 1
        peaks = angles[tops[np.argsort(values[tops])[-8:]]]
        place = angles[int(values.argmax())]

        def slack() -> float:
            return -float(np.log(np.cos(self.degree * phi)))

        while slack() > _TIGHT and best < np.inf:
            near = angles[values >= best - slack()]
            if 8 * near.size > _MOST_SAMPLES:
                break
            offsets = phi * (np.arange(8) - 3.5) / 4.0
            angles = np.clip((near[:, None] + offsets).ravel(), 0.0, np.pi)
            phi = phi / 8.0
            values = self._at(angles, log_step, s)
            if values.max() > best:
                best = float(values.max())
                place = angles[int(values.argmax())]

        return best + slack(), self._curvature(np.append(peaks, place))

    def nodes(self, most: int) -> FloatArray:
        """As many curvatures as the degree of the polynomial, at most ``most``."""
        count = min(self.degree, most)
        return self._curvature(np.arange(count + 1) * np.pi / count)

    def _curvature(self, angles: FloatArray) -> FloatArray:
        return np.clip(self.middle + self.half * np.cos(angles), *self.ends)

    def _at(self, angles: FloatArray, log_step: float, s: float) -> FloatArray:
        return self.log_errors(np.array(log_step), np.array(s), self._curvature(angles))


def fastest_budget(
    curvature: Curvature,
    *,
    sigma2: float,
    distance: float = 1.0,
    steps: int,
    quantity: ErrorQuantity | str = ErrorQuantity.DISTANCE,
    batches: Batches | None = None,
) -> Budget:
    """Nesterov parameters with the smallest error after ``steps`` steps in the worst direction.

    The whole start lies in one direction, with any curvature in [mu, L]. The largest error over a
    few curvatures is minimised; then the worst missing curvature is added, until none is missing.

    Parameters
    ----------
    curvature
        Single numbers.
    sigma2
        Variance of the gradient noise in that direction, zero or more.
    distance
        ‖y_1 - x*‖, positive.
    steps
        The budget, at least 1.
    quantity
        ``"distance"`` for E‖y - x*‖², or ``"objective"`` for E f(y) - f*.
    batches
        Mini-batches with random curvature; ``None`` for additive noise alone. The result then holds
        for sums with shared eigenvectors.

    Returns
    -------
    Budget
        Valid for this budget only: the best parameters need not be stable in longer runs.

    Examples
    --------
    >>> best = fastest_budget(Curvature(1, 1), sigma2=1.0, steps=1)
    >>> round(best.value, 5)  # alpha (1 + beta) = 1/2 leaves half of the start
    0.5
    """
    mu, L = curvature.single("give one curvature with scalar mu and L")
    start = one_number("distance", distance, "positive", remedy="give ‖x_0 - x*‖, e.g. 1.0")
    level = one_number("sigma2", sigma2, "nonnegative", remedy="give the noise variance, e.g. 1.0")
    count = whole("steps", steps, 1, remedy="give the number of steps, e.g. steps=100")
    kind = ErrorQuantity.parse(quantity, "quantity")
    single = Curvature(mu, L)
    longest = 2.0 / L
    noise = batch_noise(single, variance=0.0)
    if batches is not None:
        noise = batches.noise(single)
        longest = float(safe_step(L, 0.0, batch_size=batches.batch_size, L_max=batches.L_max))

    adversary = _Adversary(mu, L, noise, level, start, count, kind)
    useful = longest if level == 0.0 else mu * start**2 / level
    shortest = 1e-3 * min(1.0 / (count * L), useful, longest)
    bounded = count <= _MOST_STEPS
    # beta = tanh s, from -0.96 to within a quarter of 1/√Q of 1, or 0.999.
    axes = [
        np.linspace(np.log(shortest), np.log(4.0 / L), 73),
        np.linspace(-2.0, max(3.8, 0.5 * np.log(8.0 * np.sqrt(L / mu)) + 0.5), 59),
    ]
    spacing = [float(axis[1] - axis[0]) for axis in axes]
    # The minima for few curvatures.
    few = _between(mu, L, 9)
    seen = valleys(lambda x, s: adversary.largest(x, s, few), axes)[:5]
    alone = valleys(lambda x: adversary.largest(x, 0.0 * x, few), axes[:1])[0]
    seen.append(alone._replace(point=(*alone.point, 0.0)))

    # Peaks over the curvature are as narrow as the spacing of the nodes of its polynomial.
    many = np.union1d(_between(mu, L, 33), adversary.nodes(_MOST_NODES))
    ends = descents(adversary.counting(many), seen, spacing, count=len(seen), precision=1e-3)
    counted = many if bounded else _between(mu, L, 501)
    smaller = [0.1 * v for v in spacing]
    minima = [
        _settled(adversary, end, counted, smaller, bounded)
        for end in ends[:3]
        if end.value <= ends[0].value + 0.05
    ]
    best = min(minima, key=lambda one: one.value)
    # Rounded up, so that an error below the smallest float is not reported as zero.
    value = float(np.nextafter(np.exp(best.value), np.inf))
    return Budget(in_plane(*best.point), value, bounded)


def _settled(
    adversary: _Adversary, end: Least, counted: FloatArray, size: list[float], bounded: bool
) -> Least:
    """Find a local minimum, adding missing worst curvatures; the values are bounds."""
    minima = []
    for _ in range(_EXCHANGES):
        at = adversary.counting(counted)
        (end,) = descents(at, [end], size, count=1, precision=1e-8)
        if not bounded:
            return end
        worst, missing = adversary.worst(*end.point)
        minima.append(Least(end.point, worst))
        if worst <= end.value + 1e-6:
            break
        counted = np.union1d(counted, missing)

    return min(minima, key=lambda one: one.value)


def _between(mu: float, L: float, count: int) -> FloatArray:
    """Curvatures from mu to L, evenly spaced on a linear and on a logarithmic scale."""
    inside = np.concatenate([np.geomspace(mu, L, count)[1:-1], np.linspace(mu, L, count)[1:-1]])
    return np.unique(np.concatenate([[mu, L], np.clip(inside, mu, L)]))
