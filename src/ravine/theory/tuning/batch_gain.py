"""The fastest parameters that are certain at a batch size, and what a larger batch buys."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, tanh
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, one_number, overflow_allowed, real
from ravine.curvature import Curvature
from ravine.methods import Method, nesterov
from ravine.theory.ladder.batch_noise import batch_noise
from ravine.theory.ladder.iid import iid_rate, smallest_stable_batch
from ravine.theory.ladder.mean_square_kernel import largest_growth
from ravine.theory.tuning import search
from ravine.values import Value

_SHORTEST = 1e-3
"""Shortest step tried, as a share of the best step of SGD at this batch size."""
_LONGEST = 4.0
"""Longest alpha L tried: beyond it no momentum between -1 and 1 is stable."""
BATCH_SIZES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)
"""Batch sizes of a table unless others are given."""


@dataclass(frozen=True)
class Tuned:
    """A method with the least guaranteed mean-square rate at a batch size."""

    method: Method
    rate: float
    """Factor per step of √E‖y - x*‖² in the worst case."""

    @property
    def steps_per_digit(self) -> float:
        """Steps that take √E‖y - x*‖² down to a tenth."""
        return float(np.log(0.1) / np.log(self.rate)) if self.rate > 0.0 else 0.0


def fastest_sgd(curvature: Curvature, options: dict[str, Any]) -> Tuned:
    """The step of SGD with the least guaranteed mean-square rate, in closed form.

    In a direction λ the squared rate is 1 - 2 alpha λ + alpha² S with S = λ² + V(λ). It is convex
    in λ, so mu and L decide: the best alpha is the minimum of one of the two parabolas, or
    where they cross.
    """
    mu, L = _single(curvature)
    whole = Curvature(mu, L)
    noise = batch_noise(whole, **options)
    flat = mu * mu + float(noise.variance(np.float64(mu)))
    steep = L * L + float(noise.variance(np.float64(L)))
    steps = [mu / flat, L / steep]
    if steep > flat:
        steps.append(2.0 * (L - mu) / (steep - flat))

    worst = [max(1.0 - a * (2.0 * mu - a * flat), 1.0 - a * (2.0 * L - a * steep)) for a in steps]
    method = Method(steps[int(np.argmin(worst))])
    return Tuned(method, float(iid_rate(whole, method, **options)))


def fastest_pair(curvature: Curvature, options: dict[str, Any]) -> tuple[Tuned, Tuned]:
    """The fastest SGD and the fastest Nesterov parameters."""
    mu, L = _single(curvature)
    whole = Curvature(mu, L)
    plain = fastest_sgd(whole, options)

    noise = batch_noise(whole, **options)
    known, share, least, most = (
        float(v) for v in (noise.known, noise.share, noise.least, noise.most)
    )

    # The logarithm of the number of steps, on a grid and at one point.
    def on_grid(log_step: FloatArray, s: FloatArray) -> FloatArray:
        rate = iid_rate(whole, Method(np.exp(log_step), np.tanh(s)), **options)
        with np.errstate(all="ignore"):
            return np.asarray(-np.log(-np.log(rate)))

    def at(log_step: float, s: float) -> float:
        a = exp(log_step)
        beta = tanh(s)
        rate = largest_growth(a * mu, a * L, a * a * known, share, a * least, a * most, beta, beta)
        return -log(-log(rate)) if 0.0 < rate < 1.0 else inf if rate > 0.0 else -inf

    # beta = tanh s: 1 - beta is about 2 exp(-2s), and no good momentum is nearer to 1 than 1/(4√Q).
    last = 0.5 * np.log(8.0 * np.sqrt(L / mu)) + 0.5
    shortest = np.log(_SHORTEST * float(plain.method.alpha))
    axes = [np.linspace(shortest, np.log(_LONGEST / L), 65), np.linspace(-1.0, last, 65)]
    log_step, s = search.least(on_grid, axes, at=at, starts=2).point
    method = Method(np.exp(log_step), np.tanh(s))
    rate = float(iid_rate(whole, method, **options))
    # Where momentum gains nothing the search ends beside beta = 0, within its last digits.
    return plain, plain if plain.rate <= rate * (1.0 + 1e-9) else Tuned(method, rate)


def _single(curvature: Curvature) -> tuple[float, float]:
    remedy = "give one curvature with scalar mu and L"
    mu = one_number("mu", curvature.mu, remedy=remedy)
    L = one_number("L", curvature.L, remedy=remedy)
    return mu, L


@dataclass(frozen=True, eq=False, repr=False)
class BatchGain(Value):
    """What a larger batch buys: the best of SGD and of momentum at every batch size."""

    curvature: Curvature
    L_max: float
    mu_min: float
    batch_sizes: tuple[float, ...]
    sgd: tuple[Tuned, ...]
    """The fastest SGD at each batch size."""
    momentum: tuple[Tuned, ...]
    """The fastest Nesterov parameters at each batch size."""
    critical: float
    """The critical batch size of the standard Nesterov parameters of the whole objective."""

    @property
    def gain(self) -> FloatArray:
        """How many times fewer steps momentum needs than SGD, at each batch size."""
        return np.array(
            [
                np.log(fast.rate) / np.log(plain.rate)
                for fast, plain in zip(self.momentum, self.sgd, strict=True)
            ]
        )

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        gain = self.gain
        useful = [b for b, g in zip(self.batch_sizes, gain, strict=True) if g >= NOTICEABLE]
        last = self.batch_sizes[-1]
        share = f"L_max/L = {self.L_max / float(self.curvature.L):g}"
        where = f"With Q = {float(self.curvature.Q):g} and {share}"
        if not useful:
            return f"{where} momentum gains nothing over SGD up to batches of {last:g}."

        before = [b for b in self.batch_sizes if b < useful[0]]
        nothing = f"nothing up to batches of {before[-1]:g}, " if before else ""
        ends = dict.fromkeys((useful[0], last))
        gains = [f"{gain[self.batch_sizes.index(b)]:.2g} times at {b:g}" for b in ends]

        return (
            f"{where} momentum gains {nothing}{' and '.join(gains)}; the standard Nesterov "
            f"parameters are safe in mean square only for batches larger than {self.critical:.4g}."
        )


NOTICEABLE = 1.05
"""A gain of less than a twentieth is called nothing."""


@overflow_allowed
def batch_gain(
    curvature: Curvature,
    *,
    L_max: float | None = None,
    batch_sizes: npt.ArrayLike = BATCH_SIZES,
    mu_min: float | None = None,
) -> BatchGain:
    """How much momentum can gain over SGD at each batch size, whatever the problem.

    For every batch size the least guaranteed mean-square rate of SGD, over its step, and of
    Nesterov's method, over its step and momentum. Their logarithms count steps: the gain is how
    many times fewer momentum needs.

    Parameters
    ----------
    curvature
        Curvature of the whole objective: single numbers.
    L_max, mu_min
        Largest and least curvature of a single term, as in :func:`ravine.iid_rate`.
    batch_sizes
        Batch sizes, at least 1, in ascending order.

    Examples
    --------
    >>> result = batch_gain(Curvature(1, 100), L_max=1000, batch_sizes=[1, 100, 10_000])
    >>> result.gain.round(1).tolist()
    [1.0, 2.4, 5.7]
    """
    mu, L = _single(curvature)
    whole = Curvature(mu, L)
    one_number("L_max", L if L_max is None else L_max, remedy="call it for each in turn")
    one_number("mu_min", mu if mu_min is None else mu_min, remedy="call it for each in turn")
    sizes = np.atleast_1d(real("batch_sizes", batch_sizes, "positive", remedy="e.g. [1, 10, 100]"))
    if sizes.ndim != 1:
        shown = f"an array of shape {sizes.shape}"
        raise Refusal("batch_sizes", "a number or a list", shown, "e.g. [1, 10, 100]")

    noise = batch_noise(whole, L_max=L_max, mu_min=mu_min)
    plain = []
    fast = []
    for size in np.sort(sizes).tolist():
        options: dict[str, Any] = {"batch_size": size, "L_max": L_max, "mu_min": mu_min}
        slow, quick = fastest_pair(whole, options)
        if slow.rate >= 1.0:
            given = f"{mu:g} with L = {L:g}, where the best rate rounds to 1"
            raise Refusal("mu", "large enough against L for float64", given, "take a larger one")
        plain.append(slow)
        fast.append(quick)

    limit = smallest_stable_batch(whole, nesterov(whole), L_max=L_max, mu_min=mu_min)

    return BatchGain(
        curvature=whole,
        L_max=float(noise.most),
        mu_min=float(noise.least),
        batch_sizes=tuple(np.sort(sizes).tolist()),
        sgd=tuple(plain),
        momentum=tuple(fast),
        critical=float(limit),
    )
