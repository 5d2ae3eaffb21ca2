"""Growth along simulated paths of a finite sum: almost sure, or of a moment, with an interval."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.sampling import Sampling
from ravine.theory.blocks import systems
from ravine.theory.finite_sums.limits import NEVER, Deadline, means_and_half_widths
from ravine.theory.finite_sums.rules import Draws
from ravine.theory.finite_sums.terms import Scalars, Terms

Indices = npt.NDArray[np.intp]

_ROUNDING = 64.0 * np.finfo(np.float64).eps
"""Relative size of what is left of an exact zero."""
_GATHER = 1 << 22
"""Numbers up to which every path gets a Hessian of its own, 32 MB."""
_BURN = 0.1
"""Share of the steps that is left out at the beginning, while the direction settles."""
_UNEVEN = 2.0
"""Mean of the squared weights, of mean one, at which paths are drawn again."""


class PathGrowth(NamedTuple):
    """Growth per step with its 95 % limits, and the steps it was taken over."""

    value: float
    low: float
    high: float
    steps: int


class _Paths:
    """States (r, v) along many random paths, of length one after every step.

    They start from rest: a random velocity would take 1/(1 - beta) steps to fade. In a sum with
    shared eigenvectors every direction is normalised by itself.
    """

    def __init__(
        self, terms: Terms, method: Scalars, sampling: Sampling, count: int,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.terms = terms
        self.method = method
        self.draws = Draws(terms.n, sampling, count, rng)
        size = np.sqrt(terms.hessians**2 if terms.shared else (terms.hessians**2).sum(axis=2))
        largest = size.max(axis=0) if terms.shared else size.max()
        # Above this, a norm after the step is more than the rounding of an exact zero.
        self.floor = _ROUNDING * (1.0 + abs(method.beta) + method.alpha * largest)
        self.r = rng.standard_normal((count, terms.hessians.shape[-1]))
        self.v = np.zeros_like(self.r)
        self._normalise(0.0)

    def step(self) -> FloatArray:
        """Move by one draw each; return the factors by which the norms changed."""
        method = self.method
        change = method.alpha * self._gradient(self.terms.order[self.draws.next()])
        ahead = (1.0 + method.gamma) * change
        self.r, self.v = self.r + method.c * self.v - ahead, method.beta * self.v - change
        return self._normalise(self.floor)

    def _gradient(self, b: Indices) -> FloatArray:
        H = self.terms.hessians
        if self.terms.shared:
            return np.asarray(H[b] * self.r)
        if self.r.size * self.r.shape[1] <= _GATHER:
            return np.asarray((H[b] @ self.r[..., None])[..., 0])

        out = np.empty_like(self.r)
        for term in np.unique(b):
            rows = b == term
            out[rows] = self.r[rows] @ H[term]

        return out

    def _normalise(self, floor: FloatArray | float) -> FloatArray:
        """Divide by the norm and return it, zero where it is at most ``floor``."""
        square = self.r**2 + self.v**2
        norm = np.sqrt(square if self.terms.shared else square.sum(axis=1, keepdims=True))
        norm = np.where(norm <= floor, 0.0, norm)
        divisor = np.where(norm > 0.0, norm, np.inf)
        self.r = self.r / divisor
        self.v = self.v / divisor
        return norm

    def keep(self, parents: Indices) -> None:
        """Replace the paths by copies of ``parents``, each free to go on in its own way."""
        self.r = self.r[parents]
        self.v = self.v[parents]
        self.draws.keep(parents)


def _whole_epochs(steps: int, n: int, sampling: Sampling) -> tuple[int, int]:
    """Steps left out and steps counted, in whole epochs where the rule has epochs."""
    epoch = n if sampling.traits.by_epoch else 1
    burn = epoch * math.ceil(_BURN * steps / epoch)
    return burn, epoch * math.ceil(steps / epoch)


def almost_sure_growth(
    terms: Terms,
    method: Scalars,
    sampling: Sampling,
    *,
    steps: int,
    replicas: int,
    seed: int,
    deadline: Deadline = NEVER,
) -> PathGrowth:
    """Exponential of the top Lyapunov exponent: value and 95 % limits from independent replicas.

    The first tenth of the steps is left out. A direction in which some path ends at zero exactly
    has growth 0, as almost every path then does so sooner or later; where two consecutive blocks
    can do that, it is known beforehand. Past the deadline the paths are cut short.
    """
    paths = _Paths(terms, method, sampling, replicas, np.random.default_rng(seed))
    burn, steps = _whole_epochs(steps, terms.n, sampling)
    total = np.zeros_like(paths.r if terms.shared else paths.r[:, :1])
    taken = 0
    with np.errstate(divide="ignore"):
        for k in range(burn + steps):
            logs = np.log(paths.step())
            # A path that ends at zero does so for good, whenever it does.
            if k >= burn or np.isneginf(logs).any():
                total += logs
            taken += k >= burn
            if taken and deadline.passed:
                break

    if terms.shared:
        ends = [annihilated(terms, method, sampling, i) for i in range(total.shape[1])]
        total[:, ends] = -np.inf

    return _growth_interval(total / taken, taken)


def annihilated(terms: Terms, method: Scalars, sampling: Sampling, direction: int) -> bool:
    """Whether two blocks that the sampling lets follow each other multiply to zero."""
    lam = terms.hessians[:, direction]
    determinant = method.beta - method.alpha * lam * method.gamma
    singular = np.flatnonzero(np.abs(determinant) <= _ROUNDING * (1.0 + np.abs(method.beta)))
    A = systems(lam[singular, None, None], *method)
    size = np.linalg.norm(A, axis=(1, 2))
    product = np.linalg.norm(A[:, None] @ A[None, :], axis=(2, 3))
    zero = product <= _ROUNDING * size[:, None] * size[None, :]
    if not sampling.traits.may_repeat:
        alone = (lam[terms.order] == lam[singular, None]).sum(axis=1) < 2
        zero[np.diag(alone)] = False

    return bool(zero.any())


def moment_growth(
    terms: Terms,
    method: Scalars,
    sampling: Sampling,
    power: int,
    *,
    steps: int,
    replicas: int,
    population: int,
    seed: int,
    deadline: Deadline = NEVER,
) -> PathGrowth:
    """Growth of E‖s‖^power: value and 95 % limits from independent populations of paths.

    Paths carry the weight ‖s‖^power; when the weights of a population become uneven, paths are
    drawn again in proportion to them, so that the paths that make the moment are the ones followed.
    The bias of order 1/population is removed with populations of half the size.
    """
    if terms.shared:
        directions = [
            moment_growth(
                alone, method, sampling, power, steps=steps, replicas=replicas,
                population=population, seed=seed, deadline=deadline,
            )
            for alone in terms.directions()
        ]  # fmt: skip
        return PathGrowth(
            max(one.value for one in directions),
            max(one.low for one in directions),
            max(one.high for one in directions),
            min(one.steps for one in directions),
        )

    burn, steps = _whole_epochs(steps, terms.n, sampling)
    rates = []
    taken = steps
    for size, stream in zip((population, population // 2), (0, 1), strict=True):
        rng = np.random.default_rng([seed, stream])
        paths = _Paths(terms, method, sampling, replicas * size, rng)
        weights = np.ones((replicas, size))
        before, _ = _follow(paths, weights, power, burn, NEVER)
        counted, taken = _follow(paths, weights, power, taken, deadline)
        if np.isneginf(before + counted).any():
            return PathGrowth(0.0, 0.0, 0.0, taken)
        rates.append(counted / taken)

    return _growth_interval((2.0 * rates[0] - rates[1])[:, None], taken)


def _follow(
    paths: _Paths, weights: FloatArray, power: int, steps: int, deadline: Deadline
) -> tuple[FloatArray, int]:
    """Move weighted populations (rows); growth of the logarithms of their moments, and steps."""
    total = np.zeros(len(weights))
    taken = 0
    for _ in range(steps):
        weights *= paths.step().reshape(weights.shape) ** power
        mean = weights.mean(axis=1, keepdims=True)
        if not (mean > 0.0).all():
            return np.full(len(weights), -np.inf), steps
        weights /= mean
        total += np.log(mean[:, 0])
        taken += 1
        if (np.mean(weights**2, axis=1) > _UNEVEN).any():
            paths.keep(_resample(weights, paths.draws.rng))
            weights[:] = 1.0

        if deadline.passed:
            break

    return total, taken


def _resample(weights: FloatArray, rng: np.random.Generator) -> Indices:
    """Systematic draw within every row, in proportion to weights of mean one."""
    replicas, population = weights.shape
    cumulative = np.cumsum(weights, axis=1)
    cumulative *= population / cumulative[:, -1:]
    offset = population * np.arange(replicas)[:, None]
    marks = np.arange(population) + rng.random((replicas, 1))
    chosen = np.searchsorted((cumulative + offset).ravel(), (marks + offset).ravel(), side="right")
    return np.asarray(np.minimum(chosen, weights.size - 1), dtype=np.intp)


def _growth_interval(logs: FloatArray, steps: int) -> PathGrowth:
    """Growth of the fastest direction, with Student's 95 % limits over the replicas (rows)."""
    alive = np.isfinite(logs).all(axis=0)
    if not alive.any():
        return PathGrowth(0.0, 0.0, 0.0, steps)

    mean, half = means_and_half_widths(logs[:, alive])
    low = float((mean - half).max())
    high = float((mean + half).max())
    return PathGrowth(math.exp(float(mean.max())), math.exp(low), math.exp(high), steps)
