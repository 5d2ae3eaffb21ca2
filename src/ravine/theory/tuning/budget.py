"""The parameters with the least error after a given number of steps, with noise or mini-batches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, one_number, whole
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.blocks import coupling
from ravine.theory.error_quantity import ErrorQuantity
from ravine.theory.ladder.batch_noise import BatchNoise, batch_noise
from ravine.theory.ladder.safety import safe_step
from ravine.theory.tuning.search import descend, valleys

_MOST_STEPS = 50_000
"""Budgets for which the worst curvature is bounded; it takes four samples per step and more."""
_MOST_SAMPLES = 1_000_000
"""Samples of one round of the bound; with more the bound stops where it is."""
_TIGHT = 1e-7
"""Relative slack of the bound of the worst curvature."""
_EXCHANGES = 8
"""Rounds in which missing worst curvatures are added to those that the search counts."""


class Budget(NamedTuple):
    """A method with the least worst-case error after a budget of steps."""

    method: Method
    value: float
    certain: bool
    """Whether ``value`` bounds the error at every curvature; else it is the largest of a sample."""


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

    The moments (E r², E rv, E v², 1) are mapped linearly: by B⊗B, plus alpha² V (g⊗g) for what the
    random curvature adds to r², plus alpha² sigma2 (g⊗g) from the constant one. A power of the 4x4
    matrix by repeated squaring. Everything broadcasts; infinite where it overflows.
    """
    variance = 0.0 if noise is None else noise.variance(eigenvalues)
    beta = method.beta
    ahead = 1.0 + method.gamma
    h = method.alpha * eigenvalues
    a, b = 1.0 - ahead * h, coupling(beta, method.gamma)
    rows = (
        (a * a, 2.0 * a * b, b * b),
        (-a * h, a * beta - b * h, b * beta),
        (h * h, -2.0 * h * beta, beta * beta),
    )
    # Built here and not from blocks: a search evaluates it thousands of times. The two axes of a
    # matrix come first: then all matrices are multiplied in one long loop.
    kick = method.alpha**2
    shape = np.broadcast_shapes(np.shape(a), np.shape(b), np.shape(variance), np.shape(sigma2))
    matrix = np.zeros((4, 4, *shape))
    for row, entries, gain in zip(matrix, rows, (ahead * ahead, ahead, 1.0), strict=False):
        for j, entry in enumerate(entries):
            row[j] = entry
        row[0] += kick * variance * gain
        row[3] = kick * sigma2 * gain
    matrix[3, 3] = 1.0

    state = np.zeros((4, *np.broadcast_shapes(shape, np.shape(steps))))
    state[0] = np.asarray(distance) ** 2
    state[3] = 1.0
    with np.errstate(all="ignore"):
        for bit in range(int(np.max(steps)).bit_length()):
            if bit:
                matrix = np.einsum("ij...,jk...->ik...", matrix, matrix)
            odd = (steps >> bit) & 1
            if isinstance(odd, np.ndarray) or odd:
                moved = np.einsum("ij...,j...->i...", matrix, state)
                state = np.where(odd, moved, state)

    return np.where(np.isfinite(state[0]), state[0], np.inf)


class _Adversary:
    """The error after the budget in a direction that an adversary picks between mu and L."""

    def __init__(
        self, mu: float, L: float, noise: BatchNoise, sigma2: float, distance: float, steps: int,
        kind: ErrorQuantity,
    ) -> None:  # fmt: skip
        self.middle = 0.5 * (L + mu)
        self.half = 0.5 * (L - mu)
        self.ends = (mu, L)
        self.noise = noise
        self.given = {"sigma2": sigma2, "distance": distance}
        self.steps = steps
        self.weighted = kind is ErrorQuantity.OBJECTIVE
        # E r² is a polynomial of degree 2 steps in λ, and λ E r² of one more.
        self.degree = 2 * steps + (1 if self.weighted else 0)

    def errors(self, log_step: FloatArray, s: FloatArray, lam: FloatArray) -> FloatArray:
        """Errors at (alpha, beta) = (exp log_step, tanh s), curvatures as a last axis."""
        method = Method(np.exp(log_step)[..., None], np.tanh(s)[..., None])
        moments = moment_after(lam, method, self.noise, steps=self.steps, **self.given)
        return 0.5 * lam * moments if self.weighted else moments

    def worst(self, log_step: float, s: float) -> tuple[float, FloatArray]:
        """Bound the largest error over [mu, L]; return it with the curvatures of high peaks.

        In λ = middle + half cos θ the error is a trigonometric polynomial of degree n. Within φ of
        the place of its largest value M it is at least M cos(nφ) (M. Riesz). So of samples spaced
        by 2φ only those above the largest seen times cos(nφ) can be next to that place, and
        M is at most the largest seen over cos(nφ). Only their surroundings are sampled further.
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

        while 1.0 / np.cos(self.degree * phi) - 1.0 > _TIGHT and best < np.inf:
            near = angles[values >= best * np.cos(self.degree * phi)]
            if 8 * near.size > _MOST_SAMPLES:
                break
            offsets = phi * (np.arange(8) - 3.5) / 4.0
            angles = np.clip((near[:, None] + offsets).ravel(), 0.0, np.pi)
            phi = phi / 8.0
            values = self._at(angles, log_step, s)
            if values.max() > best:
                best = float(values.max())
                place = angles[int(values.argmax())]

        bound = best / float(np.cos(self.degree * phi))
        return bound, self._curvature(np.append(peaks, place))

    def _curvature(self, angles: FloatArray) -> FloatArray:
        return np.clip(self.middle + self.half * np.cos(angles), *self.ends)

    def _at(self, angles: FloatArray, log_step: float, s: float) -> FloatArray:
        return self.errors(np.array(log_step), np.array(s), self._curvature(angles))


def fastest_budget(
    curvature: Curvature,
    *,
    sigma2: float,
    distance: float = 1.0,
    steps: int,
    quantity: ErrorQuantity | str = ErrorQuantity.DISTANCE,
    batch_size: float | None = None,
    L_max: float | None = None,
    mu_min: float | None = None,
) -> Budget:
    """Nesterov parameters with the least error after ``steps`` steps, in the worst direction.

    An adversary puts all of the start into one direction, with any curvature in [mu, L]. The
    valleys of the largest error over a few curvatures are followed down; the worst curvature that
    was left out is then added, until none is missing.

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
    batch_size, L_max, mu_min
        Mini-batches with random curvature, as in :func:`ravine.iid_rate`; ``None`` for additive
        noise alone. The result then holds for sums with shared eigenvectors.

    Returns
    -------
    Budget
        For this budget and no other: the best parameters need not be stable in the long run.

    Examples
    --------
    >>> best = fastest_budget(Curvature(1, 1), sigma2=1.0, steps=1)
    >>> round(best.value, 5)  # alpha (1 + beta) = 1/2 leaves half of the start
    0.5
    """
    remedy = "give one curvature with scalar mu and L"
    mu = one_number("mu", curvature.mu, remedy=remedy)
    L = one_number("L", curvature.L, remedy=remedy)
    start = one_number("distance", distance, "positive", remedy="give ‖x_0 - x*‖, e.g. 1.0")
    level = one_number("sigma2", sigma2, "nonnegative", remedy="give the noise variance, e.g. 1.0")
    count = whole("steps", steps, 1, remedy="give the number of steps, e.g. steps=100")
    kind = ErrorQuantity.parse(quantity, "quantity")
    single = Curvature(mu, L)
    longest = 2.0 / L
    noise = batch_noise(single, variance=0.0)
    if batch_size is not None:
        noise = batch_noise(single, batch_size=batch_size, L_max=L_max, mu_min=mu_min)
        longest = float(safe_step(L, 0.0, batch_size=batch_size, L_max=L_max))

    adversary = _Adversary(mu, L, noise, level, start, count, kind)
    useful = longest if level == 0.0 else mu * start**2 / level
    shortest = 1e-3 * min(1.0 / (count * L), useful, longest)
    return _least(adversary, shortest, 4.0 / L, L / mu, count <= _MOST_STEPS)


def _least(
    adversary: _Adversary, shortest: float, longest: float, Q: float, bounded: bool
) -> Budget:
    """Search the plane, from the valleys that few curvatures show."""
    few = _between(*adversary.ends, 9)
    # beta = tanh s, from -0.96 to within a quarter of 1/√Q of 1, or 0.999.
    last = max(3.8, 0.5 * np.log(8.0 * np.sqrt(Q)) + 0.5)
    axes = [np.linspace(np.log(shortest), np.log(longest), 73), np.linspace(-2.0, last, 59)]
    spacing = [float(axis[1] - axis[0]) for axis in axes]

    def logarithm(lam: FloatArray, log_step: FloatArray, s: FloatArray) -> FloatArray:
        worst = adversary.errors(log_step, s, lam).max(axis=-1)
        return np.asarray(np.log(np.maximum(worst, 1e-300)))

    def at(lam: FloatArray, log_step: float, s: float) -> float:
        return float(logarithm(lam, np.array(log_step), np.array(s)))

    many = _between(*adversary.ends, 33)
    seen = valleys(lambda x, s: logarithm(few, x, s), axes)[:5]
    seen += valleys(lambda x: logarithm(few, x, 0.0 * x), axes[:1])[:1]
    ends = []
    for one in seen:
        start = one._replace(point=(*one.point, 0.0)[:2])
        start = start._replace(value=at(many, *start.point))
        ends.append(descend(lambda x, s: at(many, x, s), start, spacing, precision=1e-3))

    ends.sort(key=lambda one: one.value)
    smaller = [0.1 * v for v in spacing]
    found = []
    for end in [one for one in ends[:3] if one.value <= ends[0].value + 0.05]:
        counted = many if bounded else _between(*adversary.ends, 501)
        for _ in range(_EXCHANGES):
            start = end._replace(value=at(counted, *end.point))
            end = descend(
                lambda x, s, lam=counted: at(lam, x, s), start, smaller, precision=1e-8
            )  # fmt: skip
            if not bounded:
                found.append((float(np.exp(end.value)), end.point))
                break
            worst, missing = adversary.worst(*end.point)
            found.append((worst, end.point))
            if np.log(worst) <= end.value + 1e-6:
                break
            counted = np.unique(np.append(counted, missing))

    value, (log_step, s) = min(found)
    return Budget(Method(np.exp(log_step), np.tanh(s)), value, bounded)


def _between(mu: float, L: float, count: int) -> FloatArray:
    """Curvatures from mu to L, evenly spaced and evenly spaced in the logarithm."""
    inside = np.concatenate([np.geomspace(mu, L, count)[1:-1], np.linspace(mu, L, count)[1:-1]])
    return np.unique(np.concatenate([[mu, L], np.clip(inside, mu, L)]))
