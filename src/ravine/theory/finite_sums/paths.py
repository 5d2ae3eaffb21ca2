"""Growth along simulated paths of a finite sum: almost sure, or of a moment, with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
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
"""Numbers up to which every walker gets a Hessian of its own, 32 MB."""
_BURN = 0.1
"""Share of the steps that is left out at the beginning, while the direction settles."""
_UNEVEN = 2.0
"""Mean of the squared weights, of mean one, at which walkers are drawn again."""


class PathGrowth(NamedTuple):
    """Growth per step with its 95 % limits, and the steps it was taken over."""

    value: float
    low: float
    high: float
    steps: int


class Walkers:
    """States (r, v) of many walkers, of length one after every step.

    They start from rest: a random velocity would take 1/(1 - beta) steps to fade. In a sum with
    shared eigenvectors every direction is normalised by itself.
    """

    def __init__(
        self,
        gradient: Callable[[Indices, FloatArray], FloatArray],
        method: Scalars,
        start: FloatArray,
        *,
        shared: bool = False,
        floor: FloatArray | None = None,
    ) -> None:
        self.gradient = gradient
        self.method = method
        self.shared = shared
        self.floor = floor
        self.r = start
        self.v = np.zeros_like(start)
        self.scale(None)

    @classmethod
    def on_terms(
        cls, terms: Terms, method: Scalars, walkers: int, rng: np.random.Generator
    ) -> Walkers:
        """Walkers on Hessians that are at hand."""
        H = terms.hessians
        order = terms.order
        square = H**2
        if not terms.shared:
            square = square.sum(axis=2).max(axis=1, keepdims=True)

        # Above this, a norm after the step is more than the rounding of an exact zero.
        floor = _ROUNDING * (1.0 + abs(method.beta) + method.alpha * np.sqrt(square))

        def gradient(drawn: Indices, r: FloatArray) -> FloatArray:
            b = order[drawn]
            if terms.shared:
                return np.asarray(H[b] * r)
            if r.size * r.shape[1] <= _GATHER:
                return np.asarray((H[b] @ r[..., None])[..., 0])

            return _by_term(b, r, H)

        start = rng.standard_normal((walkers, H.shape[-1]))
        return cls(gradient, method, start, shared=terms.shared, floor=floor[order])

    def step(self, drawn: Indices) -> FloatArray:
        """Move with the drawn terms; return the factors by which the norms changed."""
        method = self.method
        change = method.alpha * self.gradient(drawn, self.r)
        ahead = (1.0 + method.gamma) * change
        self.r, self.v = self.r + method.c * self.v - ahead, method.beta * self.v - change
        return self.scale(None if self.floor is None else self.floor[drawn])

    def scale(self, floor: FloatArray | None) -> FloatArray:
        """Divide by the norm and return it, zero where it is at most ``floor``."""
        square = self.r**2 + self.v**2
        norm = np.sqrt(square if self.shared else square.sum(axis=1, keepdims=True))
        if floor is not None:
            norm = np.where(norm <= floor, 0.0, norm)

        divisor = np.where(norm > 0.0, norm, np.inf)
        self.r = self.r / divisor
        self.v = self.v / divisor
        return norm


def _by_term(drawn: Indices, r: FloatArray, hessians: FloatArray) -> FloatArray:
    """Products of each row with the Hessian it drew, one for all rows of a term."""
    out = np.empty_like(r)
    for term in np.unique(drawn):
        rows = drawn == term
        out[rows] = r[rows] @ hessians[term]

    return out


def _whole_epochs(steps: int, n: int, sampling: Sampling) -> tuple[int, int]:
    """Steps left out and steps counted, in whole epochs where the rule has epochs."""
    epoch = n if sampling.traits.by_epoch else 1
    burn = epoch * math.ceil(_BURN * steps / epoch)
    return burn, epoch * math.ceil(steps / epoch)


def _logs(
    walkers: Walkers, draws: Draws, burn: int, steps: int, deadline: Deadline
) -> tuple[FloatArray, int]:
    """Sums of the logarithms of the factors after the first ``burn`` steps, and their number.

    A path that ends at zero exactly has -inf, whenever it does. Past the deadline the sums are cut
    short; a third of the steps that were taken are then left out instead, at the most.
    """
    total = np.zeros_like(walkers.r if walkers.shared else walkers.r[:, :1])
    taken = 0

    with np.errstate(divide="ignore"):
        for k in range(burn + steps):
            norm = np.log(walkers.step(draws.next()))
            if k >= burn or np.isneginf(norm).any():
                total += norm
            taken += k >= burn
            if taken and deadline.passed:
                break

    return total, taken


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
    can do that, it is known beforehand.
    """
    rng = np.random.default_rng(seed)
    draws = Draws(terms.n, sampling, replicas, rng)
    walkers = Walkers.on_terms(terms, method, replicas, rng)
    burn, steps = _whole_epochs(steps, terms.n, sampling)
    total, taken = _logs(walkers, draws, burn, steps, deadline)
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
    """Growth of E‖s‖^power: value and 95 % limits from independent populations of walkers.

    Walkers carry the weight ‖s‖^power; when the weights of a population become uneven, walkers are
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
        draws = Draws(terms.n, sampling, replicas * size, rng)
        walkers = Walkers.on_terms(terms, method, replicas * size, rng)
        weights = np.ones((replicas, size))
        before, _ = _follow(walkers, draws, weights, power, burn, NEVER)
        counted, taken = _follow(walkers, draws, weights, power, taken, deadline)
        if np.isneginf(before + counted).any():
            return PathGrowth(0.0, 0.0, 0.0, taken)
        rates.append(counted / taken)

    return _growth_interval((2.0 * rates[0] - rates[1])[:, None], taken)


def _follow(
    walkers: Walkers,
    draws: Draws,
    weights: FloatArray,
    power: int,
    steps: int,
    deadline: Deadline,
) -> tuple[FloatArray, int]:
    """Move weighted populations (rows); growth of the logarithms of their moments, and steps."""
    total = np.zeros(len(weights))
    taken = 0
    for _ in range(steps):
        weights *= walkers.step(draws.next()).reshape(weights.shape) ** power
        mean = weights.mean(axis=1, keepdims=True)
        if not (mean > 0.0).all():
            return np.full(len(weights), -np.inf), steps
        weights /= mean
        total += np.log(mean[:, 0])
        taken += 1
        if (np.mean(weights**2, axis=1) > _UNEVEN).any():
            parents = _resample(weights, draws.rng)
            walkers.r = walkers.r[parents]
            walkers.v = walkers.v[parents]
            draws.keep(parents)
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
