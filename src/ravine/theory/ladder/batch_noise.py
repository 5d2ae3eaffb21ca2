"""The variance of the curvature of a random mini-batch, from the curvature of its terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ravine.arguments import Real, Refusal, broadcast, in_words, one_number, real
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

    @property
    def named(self) -> dict[str, Real]:
        """Its numbers by the arguments that decide them."""
        names = ("variance", "batch_size", "mu_min", "L_max")
        return dict(zip(names, (self.known, self.share, self.least, self.most), strict=True))

    def shape_with(self, **named: Real) -> tuple[int, ...]:
        """The common shape of its numbers and the named ones; refuses shapes that do not fit."""
        return broadcast(**named, **self.named)


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
    share = 1.0 / size
    if rows is not None:  # a batch has no term twice
        remedy = "give the number of samples, or omit it for draws with replacement"
        n = real("rows", rows, "positive", remedy=remedy)
        _check_order("least", remedy, rows=n, batch_size=size)
        share = (n - size) / np.maximum(n - 1.0, 1.0) / size

    if variance is not None:
        refuse_options("with a known variance", "drop one of them", L_max=L_max, mu_min=mu_min)
        remedy = "give the variance of single terms' Hessians"
        single = real("variance", variance, "nonnegative", remedy=remedy)
        return BatchNoise(single * share, np.float64(0.0), curvature.mu, curvature.L)

    most, least = curvature.L, curvature.mu if L_max is None else np.float64(0.0)
    if L_max is not None:
        remedy = "give the largest curvature of a single sample, e.g. L_max=10 * L"
        most = real("L_max", L_max, "positive", remedy=remedy)
        _check_order("least", "no mean exceeds its largest term", L_max=most, L=curvature.L)
    if mu_min is not None:
        remedy = "give the smallest curvature of a single sample; zero is allowed"
        least = real("mu_min", mu_min, "nonnegative", remedy=remedy)
        _check_order("most", "no mean lies below its least term", mu_min=least, mu=curvature.mu)

    broadcast(mu=curvature.mu, L=curvature.L, L_max=most, mu_min=least, batch_size=share)
    return BatchNoise(np.float64(0.0), share, least, most)


def _check_order(bound: Literal["least", "most"], remedy: str, **pair: Real) -> None:
    """Refuse a number that is not at least, or at most, the other one of the pair."""
    broadcast(**pair)
    (name, value), (other, limit) = pair.items()
    sign = 1.0 if bound == "least" else -1.0
    if np.any(sign * value < sign * limit):
        worst, strictest = sign * np.min(sign * value), sign * np.max(sign * limit)
        shown = f"{name}={worst:g} with {other}={strictest:g}"
        raise Refusal(name, f"at {bound} {other}", shown, remedy)


def refuse_options(rule: str, remedy: str, **options: object) -> None:
    """Refuse options that do not go together with others."""
    for name, value in options.items():
        if value is not None:
            raise Refusal(name, f"omitted {rule}", in_words(value), remedy)


def check_batch_size(batch_size: npt.ArrayLike) -> Real:
    """Check a batch size; it is at least one."""
    remedy = "give the number of samples in a batch, e.g. batch_size=32"
    size = real("batch_size", batch_size, "positive", remedy=remedy)
    if np.any(size < 1.0):
        raise Refusal("batch_size", "at least 1", f"{np.min(size):g}", remedy)

    return size


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
