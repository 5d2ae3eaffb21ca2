"""The variance of the curvature of a random mini-batch, from the curvature of its terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import Real, Refusal, broadcast, one_number, real
from ravine.curvature import Curvature

_ALMOST_FLAT = 1e-300
"""Replacement for a smallest curvature of zero, which a ``Curvature`` cannot have, in units of
L_max."""


@dataclass(frozen=True, eq=False)
class BatchNoise:
    """Variance of a batch's curvature around its mean λ: V(λ) = known + share (λ-least)(most-λ).

    A random number between ``least`` and ``most`` with mean λ has at most the variance
    (λ-least)(most-λ), attained by the two ends. The mean of b independent ones has 1/b of it.
    """

    known: Real
    share: Real
    least: Real
    most: Real

    def variance(self, eigenvalue: Real) -> Real:
        """V(λ)."""
        return self.known + self.share * (eigenvalue - self.least) * (self.most - eigenvalue)

    def in_steps(self, alpha: Real, curvature: Curvature) -> tuple[Real, ...]:
        """mu, L and the four numbers known, share, least, most, for h = alpha λ instead of λ."""
        known = alpha * (alpha * self.known)  # in this order, zero stays zero for any alpha
        scaled = (alpha * curvature.mu, alpha * curvature.L, known, self.share)
        return (*scaled, alpha * self.least, alpha * self.most)

    def shape_with(self, **named: Real) -> tuple[int, ...]:
        """The common shape of its numbers and the named ones; refuses arrays that do not fit."""
        return broadcast(
            **named, variance=self.known, batch_size=self.share, mu_min=self.least, L_max=self.most
        )


def batch_noise(
    curvature: Curvature,
    *,
    L_max: npt.ArrayLike | None = None,
    batch_size: npt.ArrayLike = 1,
    variance: npt.ArrayLike | None = None,
    mu_min: npt.ArrayLike | None = None,
    rows: npt.ArrayLike | None = None,
) -> BatchNoise:
    """Check the arguments on mini-batches; see :func:`ravine.iid_rate` for each."""
    size = check_batch_size(batch_size)
    share = _finite_population(size, rows) / size
    if variance is not None:
        if L_max is not None or mu_min is not None:
            name = "L_max" if L_max is not None else "mu_min"
            raise Refusal(name, "omitted with a known variance", "both", "drop one of them")
        single = real(
            "variance",
            variance,
            "nonnegative",
            remedy="give the variance of single terms' Hessians",
        )
        return BatchNoise(single * share, np.float64(0.0), curvature.mu, curvature.L)

    most = _largest(curvature, L_max)
    least = _least(curvature, mu_min, alone=L_max is None)
    broadcast(mu=curvature.mu, L=curvature.L, L_max=most, mu_min=least, batch_size=share)
    return BatchNoise(np.float64(0.0), share, least, most)


def check_batch_size(batch_size: npt.ArrayLike) -> Real:
    """Check a batch size; it is at least one."""
    remedy = "give the number of samples in a batch, e.g. batch_size=32"
    size = real("batch_size", batch_size, "positive", remedy=remedy)
    if np.any(size < 1.0):
        raise Refusal("batch_size", "at least 1", f"{np.min(size):g}", remedy)

    return size


def _finite_population(size: Real, rows: npt.ArrayLike | None) -> Real:
    """Factor (n - b)/(n - 1) on the variance if a batch has no term twice."""
    if rows is None:
        return np.float64(1.0)

    remedy = "give the number of samples, or omit it for draws with replacement"
    n = real("rows", rows, "positive", remedy=remedy)
    broadcast(batch_size=size, rows=n)
    if np.any(n < size):
        shown = f"rows={np.min(n):g} with batch_size={np.max(size):g}"
        raise Refusal("rows", "at least batch_size", shown, remedy)

    return (n - size) / np.maximum(n - 1.0, 1.0)


def _largest(curvature: Curvature, L_max: npt.ArrayLike | None) -> Real:
    if L_max is None:
        return curvature.L

    remedy = "give the largest curvature of a single sample, e.g. L_max=10 * L"
    most = real("L_max", L_max, "positive", remedy=remedy)
    broadcast(L=curvature.L, L_max=most)
    if np.any(most < curvature.L):
        shown = f"L_max={np.min(most):g} with L={np.max(curvature.L):g}"
        raise Refusal("L_max", "at least L", shown, "no mean exceeds its largest term")

    return most


def _least(curvature: Curvature, mu_min: npt.ArrayLike | None, *, alone: bool) -> Real:
    """The given value; else mu if nothing is given for single terms (``alone``), else zero."""
    if mu_min is None:
        return curvature.mu if alone else np.float64(0.0)

    remedy = "give the smallest curvature of a single sample; zero is allowed"
    least = real("mu_min", mu_min, "nonnegative", remedy=remedy)
    broadcast(mu=curvature.mu, mu_min=least)
    if np.any(least > curvature.mu):
        shown = f"mu_min={np.max(least):g} with mu={np.min(curvature.mu):g}"
        raise Refusal("mu_min", "at most mu", shown, "no mean lies below its least term")

    return least


@dataclass(frozen=True)
class Batches:
    """Curvature of single terms and size of the batches, as in :func:`ravine.iid_rate`."""

    L_max: float | None = None
    """Largest curvature of a single term. Default: L."""
    batch_size: float = 1.0
    """Terms averaged in a step."""
    mu_min: float | None = None
    """Smallest curvature of a single term. Default: 0 with L_max, else mu."""

    def __post_init__(self) -> None:
        for name, value in self.options().items():
            if value is not None:
                # A frozen dataclass refuses assignments.
                vars(self)[name] = one_number(name, value, remedy="call it for each in turn")

    def noise(self, curvature: Curvature) -> BatchNoise:
        """The variance of a batch's curvature that they allow."""
        return batch_noise(curvature, **self.options())

    def terms(self, curvature: Curvature) -> Curvature:
        """The bounds on the curvature of every single term, and so of every batch."""
        noise = self.noise(curvature)
        return Curvature.derived(np.maximum(noise.least, _ALMOST_FLAT * noise.most), noise.most)

    @property
    def flat_terms(self) -> bool:
        """Whether single terms may have zero curvature in some direction."""
        return self.mu_min == 0.0 or (self.mu_min is None and self.L_max is not None)

    def options(self) -> dict[str, Any]:
        """The keyword arguments for functions that need them."""
        return {"L_max": self.L_max, "batch_size": self.batch_size, "mu_min": self.mu_min}


SINGLE_TERMS = Batches()
"""Batches of one term, where each term has the curvature of the objective."""
