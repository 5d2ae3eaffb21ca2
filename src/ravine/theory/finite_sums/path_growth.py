"""Growth along simulated paths of a finite sum: almost sure, or of a moment, with an interval."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.sampling import Sampling
from ravine.theory.finite_sums.terms import Scalars, Terms, blocks

Indices = npt.NDArray[np.intp]

_ROUNDING = 64.0 * np.finfo(np.float64).eps
_GATHER = 1 << 22


class Draws:
    """The next term of many independent walkers under one sampling rule."""

    def __init__(self, n: int, sampling: Sampling, walkers: int, rng: np.random.Generator) -> None:
        self.n, self.sampling, self.rng = n, sampling, rng
        self.last = np.full(walkers, -1, dtype=np.intp)
        self.orders = np.tile(np.arange(n, dtype=np.intp), (walkers, 1))
        self.position = 0

    def next(self) -> Indices:
        """Draw one term for every walker."""
        walkers = self.last.size
        if self.sampling is Sampling.IID:
            self.last = self.rng.integers(self.n, size=walkers)
        elif self.sampling is Sampling.IID_NO_REPEAT:
            fresh = self.last[0] < 0
            jump = self.rng.integers(0 if fresh else 1, self.n, size=walkers)
            self.last = (np.maximum(self.last, 0) + jump) % self.n
        else:
            if self.position == 0:
                self._begin_epoch()
            self.last = self.orders[:, self.position].copy()
            self.position = (self.position + 1) % self.n
        return self.last

    def _begin_epoch(self) -> None:
        self.orders = self.rng.permuted(self.orders, axis=1)
        if self.sampling is Sampling.RESHUFFLE_NO_REPEAT:
            while (again := np.flatnonzero(self.orders[:, 0] == self.last)).size:
                self.orders[again] = self.rng.permuted(self.orders[again], axis=1)

    def keep(self, parents: Indices) -> None:
        """Replace walkers by copies of ``parents``, each free to go on in its own way."""
        self.last = self.last[parents]
        if self.sampling in (Sampling.RESHUFFLE, Sampling.RESHUFFLE_NO_REPEAT):
            self.orders = self.orders[parents]
            if self.position:
                rest = self.rng.permuted(self.orders[:, self.position :], axis=1)
                self.orders[:, self.position :] = rest


class Walkers:
    """States (r, v) of many walkers, of length one after every step.

    In a sum with shared eigenvectors every direction is normalised by itself.
    """

    def __init__(self, terms: Terms, by: Scalars, walkers: int, rng: np.random.Generator) -> None:
        self.by, self.hessians, self.order = by, terms.hessians, terms.order
        d = terms.hessians.shape[-1]
        self.r, self.v = rng.standard_normal((2, walkers, d))
        self.shared = terms.shared
        square = (
            terms.hessians**2
            if terms.shared
            else (terms.hessians**2).sum(axis=2).max(axis=1, keepdims=True)
        )
        # Above this, a norm after the step is more than the rounding of an exact zero.
        self.floor = _ROUNDING * (1.0 + abs(by.beta) + by.alpha * np.sqrt(square))
        self.scale()

    def _pull(self, b: Indices) -> FloatArray:
        if self.shared:
            return np.asarray(self.hessians[b] * self.r)
        if self.r.size * self.r.shape[1] <= _GATHER:
            return np.asarray((self.hessians[b] @ self.r[..., None])[..., 0])
        out: FloatArray = np.empty(self.r.shape)
        for term in np.unique(b):
            rows = b == term
            out[rows] = self.r[rows] @ self.hessians[term]
        return out

    def step(self, drawn: Indices) -> FloatArray:
        """Move with the drawn terms; return the factors by which the norms changed."""
        b = self.order[drawn]
        by, g = self.by, 1.0 + self.by.gamma
        push = by.alpha * self._pull(b)
        self.r, self.v = self.r + by.c * self.v - g * push, by.beta * self.v - push
        return self.scale(self.floor[b])

    def scale(self, floor: FloatArray | float = 0.0) -> FloatArray:
        """Divide by the norm and return it, zero where it is at most ``floor``."""
        square = self.r**2 + self.v**2
        norm = np.sqrt(square if self.shared else square.sum(axis=1, keepdims=True))
        norm = np.where(norm <= floor, 0.0, norm)
        divisor = np.where(norm > 0.0, norm, np.inf)
        self.r, self.v = self.r / divisor, self.v / divisor
        return norm


def almost_sure_growth(
    terms: Terms, by: Scalars, sampling: Sampling, *, steps: int, replicas: int, seed: int
) -> tuple[float, float, float]:
    """Exponential of the top Lyapunov exponent: value and 95 % limits from independent replicas.

    The first tenth of the steps is left out. A direction in which some path ends at zero exactly
    has growth 0, as almost every path then does so sooner or later; where two consecutive blocks
    can do that, it is known beforehand.
    """
    rng = np.random.default_rng(seed)
    draws, walkers = Draws(terms.n, sampling, replicas, rng), Walkers(terms, by, replicas, rng)
    epoch = terms.n if sampling in (Sampling.RESHUFFLE, Sampling.RESHUFFLE_NO_REPEAT) else 1
    burn, steps = (epoch * math.ceil(k / epoch) for k in (0.1 * steps, steps))
    total = np.zeros_like(walkers.scale())
    with np.errstate(divide="ignore"):
        for k in range(burn + steps):
            norm = np.log(walkers.step(draws.next()))
            if k >= burn or np.isneginf(norm).any():
                total += norm
    if terms.shared:
        total[:, [annihilated(terms, by, sampling, i) for i in range(total.shape[1])]] = -np.inf
    return _interval(total / steps)


def annihilated(terms: Terms, by: Scalars, sampling: Sampling, direction: int) -> bool:
    """Whether two blocks that the sampling lets follow each other multiply to zero."""
    lam = terms.hessians[:, direction]
    determinant = by.beta - by.alpha * lam * by.gamma
    singular = np.flatnonzero(np.abs(determinant) <= _ROUNDING * (1.0 + np.abs(by.beta)))
    A = blocks(lam[singular, None, None], by)
    size = np.linalg.norm(A, axis=(1, 2))
    product = np.linalg.norm(A[:, None] @ A[None, :], axis=(2, 3))
    zero = product <= _ROUNDING * size[:, None] * size[None, :]
    if sampling in (Sampling.IID_NO_REPEAT, Sampling.RESHUFFLE_NO_REPEAT):
        alone = (lam[terms.order] == lam[singular, None]).sum(axis=1) < 2
        zero[np.diag(alone)] = False
    return bool(zero.any())


def moment_growth(
    terms: Terms,
    by: Scalars,
    sampling: Sampling,
    power: int,
    *,
    steps: int,
    replicas: int,
    population: int,
    seed: int,
) -> tuple[float, float, float]:
    """Growth of E‖s‖^power: value and 95 % limits from independent populations of walkers.

    Walkers carry the weight ‖s‖^power; when the weights of a population become uneven, walkers are
    drawn again in proportion to them, so that the paths that make the moment are the ones followed.
    The bias of order 1/population is removed with populations of half the size.
    """
    if terms.shared:
        found = [
            moment_growth(
                one,
                by,
                sampling,
                power,
                steps=steps,
                replicas=replicas,
                population=population,
                seed=seed,
            )
            for one in terms.directions()
        ]
        return (max(f[0] for f in found), max(f[1] for f in found), max(f[2] for f in found))
    epoch = terms.n if sampling in (Sampling.RESHUFFLE, Sampling.RESHUFFLE_NO_REPEAT) else 1
    burn, steps = (epoch * math.ceil(k / epoch) for k in (0.1 * steps, steps))
    logs = []
    for size, stream in zip((population, population // 2), (0, 1), strict=True):
        rng = np.random.default_rng([seed, stream])
        draws = Draws(terms.n, sampling, replicas * size, rng)
        walkers = Walkers(terms, by, replicas * size, rng)
        weights = np.ones((replicas, size))
        settled = _follow(walkers, draws, weights, power, burn)
        counted = _follow(walkers, draws, weights, power, steps)
        if np.isneginf(settled + counted).any():
            return (0.0, 0.0, 0.0)
        logs.append(counted)
    return _interval((2.0 * logs[0] - logs[1])[:, None] / steps)


def _follow(
    walkers: Walkers, draws: Draws, weights: FloatArray, power: int, steps: int
) -> FloatArray:
    """Move weighted populations (rows); return the growth of the logarithm of their moments."""
    total = np.zeros(len(weights))
    for _ in range(steps):
        weights *= walkers.step(draws.next()).reshape(weights.shape) ** power
        mean = weights.mean(axis=1, keepdims=True)
        if not (mean > 0.0).all():
            return np.full(len(weights), -np.inf)
        weights /= mean
        total += np.log(mean[:, 0])
        if (np.mean(weights**2, axis=1) > 2.0).any():
            parents = _resample(weights, draws.rng)
            walkers.r, walkers.v = walkers.r[parents], walkers.v[parents]
            draws.keep(parents)
            weights[:] = 1.0
    return total


def _resample(weights: FloatArray, rng: np.random.Generator) -> Indices:
    """Systematic draw within every row, in proportion to weights of mean one."""
    replicas, population = weights.shape
    cumulative = np.cumsum(weights, axis=1)
    cumulative *= population / cumulative[:, -1:]
    offset = population * np.arange(replicas)[:, None]
    marks = np.arange(population) + rng.random((replicas, 1))
    found = np.searchsorted((cumulative + offset).ravel(), (marks + offset).ravel(), side="right")
    return np.asarray(np.minimum(found, weights.size - 1), dtype=np.intp)


def _interval(logs: FloatArray) -> tuple[float, float, float]:
    """Growth of the fastest direction, with Student's 95 % limits over the replicas (rows)."""
    from scipy.special import stdtrit

    alive = np.isfinite(logs).all(axis=0)
    if not alive.any():
        return (0.0, 0.0, 0.0)
    kept = logs[:, alive]
    mean = kept.mean(axis=0)
    error = kept.std(axis=0, ddof=1) / math.sqrt(len(kept))
    reach = float(stdtrit(len(kept) - 1, 0.975)) * error
    low, high = (mean - reach).max(), (mean + reach).max()
    return (math.exp(mean.max()), math.exp(low), math.exp(high))
