"""A league table: named methods with their published and with their best parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine.arguments import FloatArray, overflow_allowed
from ravine.catalogue import CATALOGUE
from ravine.curvature import Curvature
from ravine.methods import LinearMethod, Method
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.ladder.iid import iid_noise_floor, iid_rate, smallest_stable_batch
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.theory.tuning.batch_gain import fastest_of
from ravine.theory.tuning.search import least, slowness
from ravine.values import Value

AnyMethod = Method | LinearMethod

_TUNED_AS = {
    "sgd": "sgd", "gradient-descent": "sgd", "rmsprop": "sgd",
    "heavy-ball": "heavy-ball", "robust-heavy-ball": "heavy-ball", "adam": "heavy-ball",
    "nesterov": "nesterov", "robust-accelerated": "nesterov",
    "qhm": "qhm",
}  # fmt: skip
"""The kind of tuning for each method. Others of memory 2 are tuned as the whole family, those with
longer memories only in their step."""


@dataclass(frozen=True, eq=False, repr=False)
class Standing(Value):
    """Rates and noise of one method at given parameters."""

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
        """Steps to a tenth of the root-mean-square error, at least 1; inf where it may diverge."""
        if self.iid >= 1.0:
            return float("inf")

        return max(1.0, float(np.log(0.1) / np.log(self.iid))) if self.iid > 0.0 else 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Entry(Value):
    """A row of the league table."""

    name: str
    title: str
    published: Standing
    tuned: Standing
    """Standing with the parameters of smallest guaranteed mean-square rate at this batch size."""


@overflow_allowed
def league(
    curvature: Curvature,
    *,
    L_max: float | None = None,
    batch_size: float = 1.0,
    mu_min: float | None = None,
) -> tuple[Entry, ...]:
    """Rank the catalogue for one curvature and batch size; the fastest tuned method comes first.

    Methods with several gradients per step or with changing parameters are not included: for them,
    one dimension is not the worst case (docs/theory.md, Any memory).

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
    batches = Batches(L_max, batch_size, mu_min)
    entries = []
    for name, entry in CATALOGUE.items():
        published = entry(curvature, L_max=batches.L_max, batch_size=batches.batch_size)
        if isinstance(published, LinearMethod) and published.memory > 2:
            tuned: AnyMethod = _best_scale(curvature, published, batches)
        else:
            tuned = fastest_of(_TUNED_AS.get(name, "family"), curvature, batches).method
        standings = (standing(curvature, one, batches) for one in (published, tuned))
        entries.append(Entry(name, entry.title, *standings))

    return tuple(sorted(entries, key=lambda one: (one.tuned.iid, one.published.iid)))


def standing(curvature: Curvature, method: AnyMethod, batches: Batches) -> Standing:
    """Every number of one method."""
    limit = smallest_stable_batch(curvature, method, L_max=batches.L_max, mu_min=batches.mu_min)
    return Standing(
        method=method,
        exact=float(spectral_radius(curvature, method)),
        iid=float(iid_rate(curvature, method, **batches.options())),
        worst=float(worst_case_rate(batches.terms(curvature), method)),
        stable_batch=float(limit),
        floor=float(iid_noise_floor(curvature, method, **batches.options())),
    )


def _best_scale(curvature: Curvature, method: LinearMethod, batches: Batches) -> LinearMethod:
    """The method with all its steps multiplied by the best factor."""

    def objective(log_factor: FloatArray) -> FloatArray:
        scaled = (method.scaled(np.exp(x)) for x in log_factor)
        return slowness(np.array([iid_rate(curvature, one, **batches.options()) for one in scaled]))

    axis = np.linspace(np.log(1e-4), np.log(4.0), 33)
    (log_factor,) = least(objective, [axis], starts=1, precision=1e-6).point
    return method.scaled(float(np.exp(log_factor)))
