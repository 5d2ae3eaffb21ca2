"""Growth of one given finite sum under one given sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy.typing as npt

from ravine.arguments import Refusal, whole
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.mean_square import cyclic_growth, mean_square_growth
from ravine.theory.finite_sums.path_growth import almost_sure_growth, moment_growth
from ravine.theory.finite_sums.sense import Sense
from ravine.theory.finite_sums.terms import finite_sum, one_method

__all__ = ["Growth", "Sense", "growth"]


@dataclass(frozen=True)
class Growth:
    """Growth per step of the distance to the minimiser.

    Attributes
    ----------
    value
        Growth per step: of ‖·‖ along almost every path, of E‖·‖, or **of E‖·‖²** in mean square.
    low, high
        95 % confidence limits; equal to ``value`` when ``exact``.
    exact
        Whether the value is computed, not estimated from random paths.
    sense, sampling
        What was asked.
    """

    value: float
    low: float
    high: float
    exact: bool
    sense: Sense
    sampling: Sampling

    @property
    def rate(self) -> float:
        """Growth per step on the scale of the distance: in mean square the root of ``value``."""
        return math.sqrt(self.value) if self.sense is Sense.MEAN_SQUARE else self.value

    @property
    def diverges(self) -> bool | None:
        """Whether the growth exceeds 1; None when the confidence limits lie on both sides of 1."""
        if self.low > 1.0:
            return True
        return False if self.high <= 1.0 else None


def growth(
    hessians: npt.ArrayLike,
    method: Method,
    *,
    sampling: Sampling | str = Sampling.IID,
    sense: Sense | str = Sense.MEAN_SQUARE,
    steps: int = 2000,
    replicas: int = 32,
    population: int = 512,
    seed: int = 0,
) -> Growth:
    """Growth per step of a method on a finite sum of quadratics with a common minimiser.

    The state s = (y - x*, x - x₋) is multiplied by the block of the term that is drawn::

        A_b = [[I - alpha (1 + gamma) H_b, (beta (1 + gamma) - gamma) I], [-alpha H_b, beta I]]

    Mean square: the spectral radius of X ↦ mean_b A_b X A_bᵀ for iid sampling, of the Markov-jump
    lift X_j ↦ A_j (Σ_{i≠j} X_i) A_jᵀ / (n - 1) without immediate repeat, and of the mean over the
    orders of an epoch for reshuffling; all matrix-free. One product with the operator takes about
    2 n d³ multiplications for iid and 3 n d³ without repeat (and memory for 3 n d² numbers). An
    epoch is averaged over the multisets of visited terms, 2^n of them when all terms differ: exact
    up to 4096 of these (n = 12, or more when terms are equal), estimated as the mean is beyond.

    Almost sure: the exponential of the top Lyapunov exponent, estimated from independent paths.

    Mean: estimated from populations of weighted paths that are drawn again as their weights become
    uneven. Its bias of order 1/population is extrapolated away from two population sizes.

    For the cyclic order, taken to be the order of ``hessians``, and for equal terms all three are
    exact: the spectral radius of the product over an epoch.

    Parameters
    ----------
    hessians
        Symmetric mini-batch Hessians, shape (n, d, d); or (n, d), eigenvalues of terms that share
        eigenvectors. Every direction is then a problem of its own, and the fastest is reported.
    method
        One method; any alpha, beta, gamma.
    sampling
        One of :class:`ravine.Sampling`. Without repeat at least two terms are needed.
    sense
        ``"almost-sure"``, ``"mean"`` or ``"mean-square"``.
    steps, replicas, population, seed
        For estimates: steps of a path, independent paths (or populations), paths in a population.

    Returns
    -------
    Growth
        ``value`` with confidence limits. In mean square it is the growth of E‖·‖²; ``rate`` has
        its root.

    Notes
    -----
    An eigenvalue that is double, as at critical damping with equal terms, is found to about 1e-7.

    Examples
    --------
    >>> from ravine.curvature import Curvature
    >>> from ravine.methods import nesterov
    >>> third = [[0.05]] * 49 + [[100.0]]
    >>> method = nesterov(Curvature(0.05, 100))
    >>> found = growth(third, method, sampling="iid", sense="mean-square")
    >>> round(found.value, 9), found.exact, found.diverges
    (1.277649042, True, True)
    """
    rule, kind = Sampling.parse(sampling), Sense.parse(sense)
    terms, by = finite_sum(hessians), one_method(method)
    steps = whole("steps", steps, 1, remedy="give the steps of a path, e.g. steps=2000")
    replicas = whole("replicas", replicas, 2, remedy="an interval needs two at least")
    population = whole("population", population, 2, remedy="e.g. population=512")
    seed = whole("seed", seed, 0, remedy="give a seed, e.g. seed=0")
    if rule in (Sampling.IID_NO_REPEAT, Sampling.RESHUFFLE_NO_REPEAT) and terms.n < 2:
        raise Refusal("hessians", "two terms or more without repeat", "one", "use sampling='iid'")
    if rule is Sampling.CYCLIC or terms.counts.size == 1:
        value = cyclic_growth(terms, by) ** kind.power
        return Growth(value, value, value, True, kind, rule)
    if kind is Sense.ALMOST_SURE:
        found = almost_sure_growth(terms, by, rule, steps=steps, replicas=replicas, seed=seed)
        return Growth(*found, False, kind, rule)
    if kind is Sense.MEAN_SQUARE:
        exact = mean_square_growth(terms, by, rule)
        if exact is not None:
            return Growth(exact, exact, exact, True, kind, rule)
    found = moment_growth(
        terms,
        by,
        rule,
        kind.power,
        steps=steps,
        replicas=replicas,
        population=population,
        seed=seed,
    )
    return Growth(*found, False, kind, rule)
