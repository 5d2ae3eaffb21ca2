"""A league table: named methods at their published and at their best parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine.arguments import FloatArray, overflow_allowed
from ravine.catalogue import CATALOGUE
from ravine.curvature import Curvature
from ravine.linear_method import LinearMethod
from ravine.methods import Method, quasi_hyperbolic
from ravine.theory.ladder.batches import Batches
from ravine.theory.ladder.iid import iid_noise_floor, iid_rate, smallest_stable_batch
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.theory.tuning.batch_gain import fastest_pair, fastest_sgd
from ravine.theory.tuning.search import least
from ravine.values import Value

AnyMethod = Method | LinearMethod

_TUNED_AS = {
    "sgd": "sgd", "gradient-descent": "sgd", "rmsprop": "sgd",
    "heavy-ball": "heavy-ball", "robust-heavy-ball": "heavy-ball", "adam": "heavy-ball",
    "nesterov": "nesterov", "robust-accelerated": "nesterov",
    "qhm": "qhm",
}  # fmt: skip
"""Which parameters of a method are tuned; others of memory 2 as the whole family, longer memories
by their step alone."""


@dataclass(frozen=True, eq=False, repr=False)
class Standing(Value):
    """What one method does with some parameters."""

    method: AnyMethod
    exact: float
    """Rate per step with exact gradients."""
    iid: float
    """Worst root-mean-square rate with independent batches."""
    worst: float
    """Worst rate over every finite sum in any order."""
    stable_batch: float
    """Smallest batch that is stable in mean square."""
    floor: float
    """Worst stationary E‖y - x*‖² per unit of the variance of a batch's gradient."""

    @property
    def steps_per_digit(self) -> float:
        """Steps to a tenth of the root-mean-square error; infinite where it may diverge."""
        return float(np.log(0.1) / np.log(self.iid)) if 0.0 < self.iid < 1.0 else float("inf")


@dataclass(frozen=True, eq=False, repr=False)
class Entry(Value):
    """One line of the league table."""

    name: str
    title: str
    published: Standing
    tuned: Standing
    """With the least guaranteed mean-square rate at this batch size."""


@overflow_allowed
def league(
    curvature: Curvature,
    *,
    L_max: float | None = None,
    batch_size: float = 1.0,
    mu_min: float | None = None,
) -> tuple[Entry, ...]:
    """Rank the catalogue for one curvature and batch size, the fastest when tuned first.

    Parameters
    ----------
    curvature, L_max, batch_size, mu_min
        Single values, as in :func:`ravine.iid_rate`.

    Examples
    --------
    >>> table = league(Curvature(1, 20), L_max=100, batch_size=30)
    >>> len(table) == len(CATALOGUE)
    True
    """
    options: dict[str, Any] = {"L_max": L_max, "batch_size": batch_size, "mu_min": mu_min}
    best: dict[str, AnyMethod] = {}
    entries = []
    for name, entry in CATALOGUE.items():
        published = entry(curvature, L_max=L_max, batch_size=batch_size)
        kind = _TUNED_AS.get(name, "family")
        if isinstance(published, LinearMethod) and published.memory > 2:
            tuned: AnyMethod = _best_scale(curvature, published, options)
        else:
            if kind not in best:
                best[kind] = fastest_of(kind, curvature, options)
            tuned = best[kind]
        standings = (standing(curvature, one, options) for one in (published, tuned))
        entries.append(Entry(name, entry.title, *standings))

    return tuple(sorted(entries, key=lambda one: (one.tuned.iid, one.published.iid)))


def standing(curvature: Curvature, method: AnyMethod, options: dict[str, Any]) -> Standing:
    """Every number of one method."""
    single = {"L_max": options["L_max"], "mu_min": options["mu_min"]}
    terms = Batches(**single).terms(curvature)
    return Standing(
        method=method,
        exact=float(spectral_radius(curvature, method)),
        iid=float(iid_rate(curvature, method, **options)),
        worst=float(worst_case_rate(terms, method)),
        stable_batch=float(smallest_stable_batch(curvature, method, **single)),
        floor=float(iid_noise_floor(curvature, method, **options)),
    )


def fastest_of(kind: str, curvature: Curvature, options: dict[str, Any]) -> Method:
    """The parameters of a kind of method with the least guaranteed mean-square rate."""
    plain = fastest_sgd(curvature, options)
    if kind == "sgd":
        return plain.method
    if kind == "nesterov":
        return fastest_pair(curvature, options)[1].method

    make, axes = _PLANES[kind]
    L, Q = float(curvature.L), float(curvature.Q)
    last = 0.5 * np.log(8.0 * np.sqrt(Q)) + 0.5
    first = np.log(1e-3 * float(plain.method.alpha))
    # QHM's step is in units of its averaged gradient, up to 1/(1 - beta) times longer.
    longest = np.log(4.0 / L) + (2.0 * last if kind == "qhm" else 0.0)
    box = [np.linspace(first, longest, axes[0]), np.linspace(-1.0, last, axes[1])]
    box += [np.linspace(-0.9, 2.0, n) for n in axes[2:]]

    def slowness(*point: FloatArray) -> FloatArray:
        rate = iid_rate(curvature, make(*point), **options)
        with np.errstate(all="ignore"):
            return np.asarray(-np.log(-np.log(rate)))

    best = make(*least(slowness, box, starts=3, precision=1e-8).point)
    return best if iid_rate(curvature, best, **options) < plain.rate else plain.method


_PLANES: dict[str, tuple[Callable[..., Method], tuple[int, ...]]] = {
    "heavy-ball": (lambda x, s: Method(np.exp(x), np.tanh(s), 0.0 * np.asarray(s)), (49, 49)),
    "qhm": (lambda x, s: quasi_hyperbolic(np.exp(x), np.tanh(s), 0.7), (49, 49)),
    "family": (lambda x, s, g: Method(np.exp(x), np.tanh(s), g), (25, 25, 13)),
}
"""How a point of the search becomes a method, and how many points the grid has along each axis."""


def _best_scale(
    curvature: Curvature, method: LinearMethod, options: dict[str, Any]
) -> LinearMethod:
    """The method with all its steps multiplied by the best factor."""

    def slowness(log_factor: FloatArray) -> FloatArray:
        rates = np.array(
            [float(iid_rate(curvature, method.scaled(np.exp(x)), **options)) for x in log_factor]
        )
        with np.errstate(all="ignore"):
            return np.asarray(-np.log(-np.log(rates)))

    axis = np.linspace(np.log(1e-4), np.log(4.0), 33)
    return method.scaled(float(np.exp(least(slowness, [axis], starts=1, precision=1e-6).point[0])))
