"""Growth along simulated paths of a finite sum, almost sure or of a moment, with an interval."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.methods import LinearMethod, Method
from ravine.sampling import Sampling
from ravine.theory.blocks import state_space, system
from ravine.theory.finite_sums.rules import Draws
from ravine.theory.finite_sums.terms import Interval, Terms, exactly, largest, means_and_half_widths

AnyMethod: TypeAlias = Method | LinearMethod
Indices = npt.NDArray[np.intp]

_ROUNDING = 64.0 * np.finfo(np.float64).eps
"""Relative size of the rounding error of an exact zero."""
_GATHER = 1 << 22
"""Maximum number of entries for separate Hessians per path, 32 MB."""
_BURN = 0.1
"""Share of the steps to skip at the beginning, while the direction settles."""
_UNEVEN = 2.0
"""Mean square of the weights (of mean one) at which paths are resampled."""


class Plan(NamedTuple):
    """Size of a simulation: skipped and counted steps, independent paths, populations."""

    burn: int
    steps: int
    replicas: int
    population: int
    seed: int

    @classmethod
    def of(
        cls, terms: Terms, sampling: Sampling, steps: int, replicas: int, population: int, seed: int
    ) -> Plan:
        """Whole epochs if the rule has epochs, after a skipped tenth of the steps."""
        epoch = terms.n if sampling.traits.by_epoch else 1
        whole, burn = (epoch * math.ceil(part * steps / epoch) for part in (1.0, _BURN))
        return cls(burn, whole, replicas, population, seed)


class _Paths:
    """States of many random paths, (memory, paths, blocks, k), normalised after every step.

    They start at rest, because a random velocity would take 1/(1 - beta) steps to fade. In a sum
    with shared eigenvectors, every direction is a block with its own norm.
    """

    def __init__(
        self, terms: Terms, method: AnyMethod, sampling: Sampling, count: int,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.order = terms.order
        self.hessians = terms.blocks
        self.A, self.B, self.C = state_space(method)
        self.draws = Draws(terms.n, sampling, count, rng)
        largest = np.sqrt((self.hessians**2).sum(axis=3)).max(axis=(0, 2))
        # A norm above this after the step is not a rounding error of an exact zero.
        feedback = np.linalg.norm(self.B) * np.linalg.norm(self.C)
        self.floor = _ROUNDING * (np.linalg.norm(self.A) + feedback * largest)
        rest = np.ones(method.memory) if isinstance(method, LinearMethod) else self.C
        start = rng.standard_normal((count, *self.hessians.shape[1:3]))
        self.state: FloatArray = np.multiply.outer(rest, start)
        self._normalise(0.0)

    def step(self) -> FloatArray:
        """Take one step on every path; return the factors, (paths, blocks), of the norms."""
        shape = self.state.shape
        flat = self.state.reshape(len(self.A), -1)
        gradient = self._gradient(self.order[self.draws.next()], (self.C @ flat).reshape(shape[1:]))
        self.state = (self.A @ flat + self.B[:, None] * gradient.ravel()).reshape(shape)
        return self._normalise(self.floor)

    def _gradient(self, b: Indices, y: FloatArray) -> FloatArray:
        H = self.hessians
        if y.size * H.shape[-1] <= _GATHER:
            return np.asarray(np.einsum("pgij,pgj->pgi", H[b], y))

        out = np.empty_like(y)
        for term in np.unique(b):
            rows = b == term
            out[rows] = np.einsum("gij,pgj->pgi", H[term], y[rows], optimize=True)

        return out

    def _normalise(self, floor: FloatArray | float) -> FloatArray:
        """Divide by the norm and return it, zero where it is at most ``floor``."""
        norm = np.sqrt((self.state**2).sum(axis=0).sum(axis=-1))
        norm = np.where(norm <= floor, 0.0, norm)
        self.state = self.state / np.where(norm > 0.0, norm, np.inf)[:, :, None]
        return norm

    def keep(self, parents: Indices) -> None:
        """Replace the paths by copies of ``parents``, which continue independently."""
        self.state = self.state[:, parents]
        self.draws.keep(parents)


def almost_sure_growth(terms: Terms, method: AnyMethod, sampling: Sampling, plan: Plan) -> Interval:
    """Exponential of the top Lyapunov exponent, with 95 % limits from independent replicas.

    If some path reaches zero exactly in a direction, the growth is 0, because almost every path
    does so at some time. If the product of two consecutive blocks is zero, this is known in
    advance.
    """
    paths = _Paths(terms, method, sampling, plan.replicas, np.random.default_rng(plan.seed))
    total = np.zeros(paths.state.shape[1:3])
    with np.errstate(divide="ignore"):
        for k in range(plan.burn + plan.steps):
            logs = np.log(paths.step())
            # A path at zero stays there.
            if k >= plan.burn or np.isneginf(logs).any():
                total += logs

    if terms.shared:
        ends = [annihilated(terms, method, sampling, i) for i in range(terms.hessians.shape[1])]
        total[:, ends] = -np.inf

    return _growth_interval(total / plan.steps)


def annihilated(terms: Terms, method: AnyMethod, sampling: Sampling, direction: int) -> bool:
    """Whether two blocks that may follow each other have the product zero."""
    lam = terms.hessians[:, direction]
    A = system(lam[:, None, None], method)
    size = np.linalg.norm(A, axis=(1, 2))
    singular = np.flatnonzero(np.abs(np.linalg.det(A)) <= _ROUNDING * size ** A.shape[-1])
    A, size = A[singular], size[singular]
    product = np.linalg.norm(A[:, None] @ A[None, :], axis=(2, 3))
    zero = product <= _ROUNDING * size[:, None] * size[None, :]
    if not sampling.traits.may_repeat:
        alone = (lam[terms.order] == lam[singular, None]).sum(axis=1) < 2
        zero[np.diag(alone)] = False

    return bool(zero.any())


def moment_growth(
    terms: Terms, method: AnyMethod, sampling: Sampling, power: int, plan: Plan
) -> Interval:
    """Growth of E‖s‖^power, with 95 % limits from independent populations of paths.

    Paths have the weight ‖s‖^power. When the weights of a population become uneven, paths are
    resampled in proportion to them, so that the paths that dominate the moment are followed.
    Populations of half the size show the bias of order 1/population, which is removed.
    """
    if terms.shared:
        return largest(
            moment_growth(alone, method, sampling, power, plan) for alone in terms.directions()
        )

    rates = []
    for stream, size in enumerate((plan.population, plan.population // 2)):
        rng = np.random.default_rng([plan.seed, stream])
        paths = _Paths(terms, method, sampling, plan.replicas * size, rng)
        weights = np.ones((plan.replicas, size))
        before = _follow(paths, weights, power, plan.burn)
        counted = _follow(paths, weights, power, plan.steps)
        if np.isneginf(before + counted).any():
            return exactly(0.0)
        rates.append(counted / plan.steps)

    return _growth_interval((2.0 * rates[0] - rates[1])[:, None])


def _follow(paths: _Paths, weights: FloatArray, power: int, steps: int) -> FloatArray:
    """Simulate weighted populations (rows); return the growth of their log moments."""
    total = np.zeros(len(weights))
    for _ in range(steps):
        weights *= paths.step().reshape(weights.shape) ** power
        mean = weights.mean(axis=1, keepdims=True)
        if not (mean > 0.0).all():
            return np.full(len(weights), -np.inf)
        weights /= mean
        total += np.log(mean[:, 0])
        if (np.mean(weights**2, axis=1) > _UNEVEN).any():
            paths.keep(_resample(weights, paths.draws.rng))
            weights[:] = 1.0

    return total


def _resample(weights: FloatArray, rng: np.random.Generator) -> Indices:
    """Systematic resampling within every row, in proportion to weights of mean one."""
    replicas, population = weights.shape
    cumulative = np.cumsum(weights, axis=1)
    cumulative *= population / cumulative[:, -1:]
    offset = population * np.arange(replicas)[:, None]
    marks = np.arange(population) + rng.random((replicas, 1))
    chosen = np.searchsorted((cumulative + offset).ravel(), (marks + offset).ravel(), side="right")
    return np.asarray(np.minimum(chosen, weights.size - 1), dtype=np.intp)


def _growth_interval(logs: FloatArray) -> Interval:
    """Growth of the fastest direction, with Student's 95 % limits over the replicas (rows)."""
    alive = np.isfinite(logs).all(axis=0)
    if not alive.any():
        return exactly(0.0)

    mean, half = means_and_half_widths(logs[:, alive])
    limits = Interval(mean.max(), (mean - half).max(), (mean + half).max())
    return Interval(*(math.exp(limit) for limit in limits))
