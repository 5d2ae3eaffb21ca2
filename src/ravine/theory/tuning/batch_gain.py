"""The fastest safe parameters at a batch size, and the gain of larger batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, overflow_allowed, real
from ravine.curvature import Curvature
from ravine.methods import Method, nesterov
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.ladder.iid import iid_rate, smallest_stable_batch
from ravine.theory.ladder.mean_square_kernel import compiled_growth
from ravine.theory.tuning.search import Tuned, least, slowness
from ravine.values import Value

_SHORTEST = 1e-3
"""Shortest step tried, as a share of the best step of SGD at this batch size."""
_LONGEST = 4.0
"""Longest alpha L tried; no momentum between -1 and 1 is stable beyond it."""
_ROUNDING = 2.0**-49
"""Error of a rate next to 1."""
_NEAREST = 1.0 - 2.0**-48
"""Rates above this have lost all but one digit of their distance from 1."""
ONE_CURVATURE = "give one curvature with scalar mu and L"
"""Remedy where arrays are given."""
BATCH_SIZES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)
"""Default batch sizes of a table."""


def fastest_sgd(curvature: Curvature, batches: Batches) -> Tuned:
    """The step of SGD with the smallest guaranteed mean-square rate, in closed form.

    In a direction λ the squared rate is 1 - 2 alpha λ + alpha² S with S = λ² + V(λ). It is convex
    in λ, so mu and L decide: the best alpha is the minimum of one of the two parabolas, or their
    crossing.
    """
    mu, L = curvature.single(ONE_CURVATURE)
    noise = batches.noise(curvature)
    flat = mu * mu + float(noise.variance(np.float64(mu)))
    steep = L * L + float(noise.variance(np.float64(L)))
    steps = [mu / flat, L / steep]
    if steep > flat:
        steps.append(2.0 * (L - mu) / (steep - flat))

    worst = [max(1.0 - a * (2.0 * mu - a * flat), 1.0 - a * (2.0 * L - a * steep)) for a in steps]
    method = Method(steps[int(np.argmin(worst))])
    return Tuned(method, float(iid_rate(curvature, method, **batches.options())))


def fastest_pair(curvature: Curvature, batches: Batches) -> tuple[Tuned, Tuned]:
    """The fastest SGD and the fastest Nesterov parameters."""
    return fastest_of("sgd", curvature, batches), fastest_of("nesterov", curvature, batches)


def fastest_of(kind: str, curvature: Curvature, batches: Batches) -> Tuned:
    """The parameters of a kind of method with the smallest guaranteed mean-square rate.

    The kind is ``"sgd"``, ``"nesterov"``, ``"heavy-ball"``, ``"qhm"`` or ``"family"``.
    """
    return _fastest(kind, *curvature.single(ONE_CURVATURE), batches)


@lru_cache(maxsize=256)
def _fastest(kind: str, mu: float, L: float, batches: Batches) -> Tuned:
    """The same, cached: a table and the three batch sizes need the same ones."""
    whole = Curvature(mu, L)
    plain = fastest_sgd(whole, batches)
    if plain.rate > _NEAREST:
        given = f"{mu:g} with L = {L:g}, where the best rate rounds to 1"
        raise Refusal("mu", "large enough against L for float64", given, "take a larger one")
    if kind == "sgd":
        return plain

    make, counts = _KINDS[kind]
    noise = batches.noise(whole)
    growth = compiled_growth()

    def objective(*point: Any) -> Any:
        """The logarithm of the number of steps, for a grid or for one point."""
        alpha, beta, gamma = make(*point)
        return slowness(growth(*noise.in_steps(alpha, whole), beta, gamma))

    # 1 - beta is about 2 exp(-2s), and no good momentum is nearer to 1 than 1/(4√Q).
    last = 0.5 * np.log(8.0 * np.sqrt(L / mu)) + 0.5
    # QHM's step is in units of its averaged gradient, up to 1/(1 - beta) times longer.
    longest = np.log(_LONGEST / L) + (2.0 * last if kind == "qhm" else 0.0)
    first = np.log(_SHORTEST * float(plain.method.alpha))
    box = [np.linspace(first, longest, counts[0]), np.linspace(-1.0, last, counts[1])]
    box += [np.linspace(-0.9, 2.0, count) for count in counts[2:]]
    best = least(objective, box, at=objective, starts=2, rate=lambda v: np.exp(-np.exp(-v)))
    method = Method(*make(*best.point))
    fast = Tuned(method, float(iid_rate(whole, method, **batches.options())))
    # If momentum gains nothing, the search ends at beta = 0 up to its last digits.
    nothing = 1.0 + 1e-9 + _ROUNDING / (1.0 - plain.rate)
    return plain if gain_of(plain, fast) <= nothing else fast


def _qhm(log_step: Any, s: Any) -> tuple[Any, Any, Any]:
    """QHM with nu = 0.7."""
    fresh = 1.0 - np.tanh(s)
    return np.exp(log_step) * fresh, np.tanh(s), 0.3 * np.tanh(s) / fresh


_KINDS: dict[str, tuple[Callable[..., tuple[Any, Any, Any]], tuple[int, ...]]] = {
    "nesterov": (lambda x, s: (np.exp(x), np.tanh(s), np.tanh(s)), (65, 65)),
    "heavy-ball": (lambda x, s: (np.exp(x), np.tanh(s), 0.0), (49, 49)),
    "qhm": (_qhm, (49, 49)),
    "family": (lambda x, s, g: (np.exp(x), np.tanh(s), g), (25, 25, 13)),
}
"""Conversion of (log alpha, artanh beta, ...) to (alpha, beta, gamma), and points along each
axis."""


def gain_of(plain: Tuned, fast: Tuned) -> float:
    """How many times fewer steps the second needs; 1 if both need only one step."""
    if fast.rate == plain.rate:
        return 1.0

    with np.errstate(divide="ignore"):
        return float(np.log(fast.rate) / np.log(plain.rate))


@dataclass(frozen=True, eq=False, repr=False)
class BatchGain(Value):
    """The benefit of larger batches: the best SGD and the best momentum at every batch size."""

    curvature: Curvature
    L_max: float
    mu_min: float
    batch_sizes: tuple[float, ...]
    sgd: tuple[Tuned, ...]
    """The fastest SGD at each batch size."""
    momentum: tuple[Tuned, ...]
    """The fastest Nesterov parameters at each batch size."""
    critical: float
    """The smallest stable batch of the standard Nesterov parameters of the whole objective."""

    @property
    def gain(self) -> FloatArray:
        """How many times fewer steps momentum needs than SGD, at each batch size."""
        return np.array([gain_of(*pair) for pair in zip(self.sgd, self.momentum, strict=True)])

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
            f"parameters are stable in mean square only for batches above {self.critical:.4g}."
        )


NOTICEABLE = 1.05
"""Whether a gain is below a twentieth and counts as nothing."""


@overflow_allowed
def batch_gain(
    curvature: Curvature,
    *,
    L_max: float | None = None,
    batch_sizes: npt.ArrayLike = BATCH_SIZES,
    mu_min: float | None = None,
) -> BatchGain:
    """Compute how much momentum can gain over SGD at each batch size, on every problem.

    For every batch size: the smallest guaranteed mean-square rate of SGD over its step, and of
    Nesterov's method over its step and momentum. The ratio of their logarithms is the gain: how
    many times fewer steps momentum needs.

    Parameters
    ----------
    curvature
        Curvature of the whole objective: single numbers.
    L_max, mu_min
        Largest and smallest curvature of a single term, as in :func:`ravine.iid_rate`.
    batch_sizes
        Batch sizes, at least 1, in ascending order.

    Examples
    --------
    >>> result = batch_gain(Curvature(1, 100), L_max=1000, batch_sizes=[1, 100, 10_000])
    >>> result.gain.round(1).tolist()
    [1.0, 2.4, 5.7]
    """
    whole = Curvature(*curvature.single(ONE_CURVATURE))
    terms = Batches(L_max, mu_min=mu_min)
    sizes = np.atleast_1d(real("batch_sizes", batch_sizes, "positive", remedy="e.g. [1, 10, 100]"))
    if sizes.ndim != 1:
        shown = f"an array of shape {sizes.shape}"
        raise Refusal("batch_sizes", "a number or a list", shown, "e.g. [1, 10, 100]")

    ascending = tuple(np.sort(sizes).tolist())
    pairs = [fastest_pair(whole, replace(terms, batch_size=size)) for size in ascending]
    noise = terms.noise(whole)
    return BatchGain(
        curvature=whole,
        L_max=float(noise.most),
        mu_min=float(noise.least),
        batch_sizes=ascending,
        sgd=tuple(plain for plain, _ in pairs),
        momentum=tuple(fast for _, fast in pairs),
        critical=float(smallest_stable_batch(whole, nesterov(whole), L_max=L_max, mu_min=mu_min)),
    )
