"""Growth of a given finite sum under a given sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ravine.arguments import Refusal, overflow_allowed, seed_number, whole
from ravine.markup import card
from ravine.methods import LinearMethod, Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.mean_square import cyclic_growth, mean_square_growth
from ravine.theory.finite_sums.paths import Plan, almost_sure_growth, moment_growth
from ravine.theory.finite_sums.terms import (
    Interval,
    Sense,
    exactly,
    finite_sum,
    largest,
    one_method,
)


@dataclass(frozen=True)
class Growth:
    """Growth per step of the distance to the minimiser.

    Attributes
    ----------
    value
        Growth per step: of ‖·‖ along almost every path, of E‖·‖, or **of E‖·‖²** in mean square.
    low, high
        Limits: equal to ``value`` if ``exact``; proven if a computation ended before it converged;
        with 95 % confidence if paths were simulated.
    exact
        Whether the value is computed and converged, not estimated from random paths.
    sense, sampling
        The sense of growth, and the sampling.
    decided
        False if paths were shorter than the memory 1/(1 - rate) of the method: they show only the
        transient, not the long run.
    note
        A remark on how the value was obtained; empty if there is none.
    """

    value: float
    low: float
    high: float
    exact: bool
    sense: Sense
    sampling: Sampling
    decided: bool = True
    note: str = ""

    @property
    def rate(self) -> float:
        """Growth per step of the distance: in mean square, the root of ``value``."""
        return math.sqrt(self.value) if self.sense is Sense.MEAN_SQUARE else self.value

    @property
    def diverges(self) -> bool | None:
        """Whether the growth exceeds 1; None if the limits are on both sides, or undecided."""
        if not self.decided:
            return None
        if self.low > 1.0:
            return True

        return False if self.high <= 1.0 else None

    def _repr_html_(self) -> str:
        """The growth with its limits and its setting, for notebooks."""
        words = {True: "diverges", False: "converges", None: "too close to call"}[self.diverges]
        known = "computed" if self.exact else "estimated from random paths"
        rows = [
            (f"growth per step, {self.sense.value}", f"{self.value:.8g}", known),
            ("limits", f"{self.low:.6g} to {self.high:.6g}", "" if self.exact else "95 %"),
            ("rate of the distance", f"{self.rate:.8g}", words),
            ("order of the terms", self.sampling.value, self.sampling.sentence),
        ]
        notes = [self.note] if self.note else []
        return card("Growth on a finite sum", rows, sentences=notes)


@overflow_allowed
def growth(
    hessians: npt.ArrayLike,
    method: Method | LinearMethod,
    *,
    sampling: Sampling | str = Sampling.IID,
    sense: Sense | str = Sense.MEAN_SQUARE,
    steps: int = 2000,
    replicas: int = 32,
    population: int = 512,
    seed: int = 0,
) -> Growth:
    """Growth per step of a method on a finite sum of quadratics with a common minimiser.

    The state s = (y - x*, x - x₋) is multiplied by the block of the drawn term::

        A_b = [[I - alpha (1 + gamma) H_b, (beta (1 + gamma) - gamma) I], [-alpha H_b, beta I]]

    Mean square: the spectral radius of X ↦ mean_b A_b X A_bᵀ for iid sampling, of the Markov-jump
    lift X_j ↦ A_j (Σ_{i≠j} X_i) A_jᵀ / (n - 1) without immediate repeats, and of the mean over the
    orders of an epoch for reshuffling. For independent draws it is solved in the eigenvectors of
    the mean Hessian, whose slow part is inverted exactly, so that a growth close to 1 is no
    problem. The others use ARPACK, or the matrix if it is small. An epoch is averaged over the
    multisets of visited terms, 2^n if all terms differ: exactly up to 4096 of them (n = 12, or more
    if some terms are equal), and estimated beyond, like the mean.

    Almost sure: the exponential of the top Lyapunov exponent, estimated from independent paths.

    Mean: estimated from populations of weighted paths, which are resampled when their weights
    become uneven; extrapolation from two population sizes removes the bias of order 1/population.

    For the cyclic order (the order of ``hessians``) and for equal terms, all three are exact: the
    spectral radius of the product over an epoch.

    Parameters
    ----------
    hessians
        Symmetric mini-batch Hessians, shape (n, d, d); or (n, d), eigenvalues of terms that share
        eigenvectors. Then each direction is a separate problem, and the largest growth is returned.
    method
        One method; any alpha, beta, gamma. Or a ``LinearMethod`` of any memory, with its own state
        instead of s. Methods with several gradients per step or changing parameters can be
        simulated (:func:`ravine.run`).
    sampling
        One of :class:`ravine.Sampling`. Sampling without repeat needs at least two terms.
    sense
        ``"almost-sure"``, ``"mean"`` or ``"mean-square"``.
    steps, replicas, population, seed
        For estimates: steps of a path, independent paths (or populations), paths in a population.

    Returns
    -------
    Growth
        ``value`` with confidence limits. In mean square it is the growth of E‖·‖²; ``rate`` is its
        root.

    Notes
    -----
    A double eigenvalue, as at critical damping with equal terms, is accurate to about 1e-7.

    Examples
    --------
    >>> from ravine.curvature import Curvature
    >>> from ravine.methods import nesterov
    >>> third = [[0.05]] * 49 + [[100.0]]
    >>> method = nesterov(Curvature(0.05, 100))
    >>> answer = growth(third, method, sampling="iid", sense="mean-square")
    >>> round(answer.value, 9), answer.exact, answer.diverges
    (1.277649042, True, True)
    """
    rule = Sampling.parse(sampling)
    kind = Sense.parse(sense)
    terms = finite_sum(hessians)
    one = method if isinstance(method, LinearMethod) else one_method(method)
    steps = whole("steps", steps, 1, remedy="give the steps of a path, e.g. steps=2000")
    replicas = whole("replicas", replicas, 2, remedy="an interval needs two at least")
    population = whole("population", population, 2, remedy="e.g. population=512")
    seed = seed_number("seed", seed)
    if not rule.traits.may_repeat and terms.n < 2:
        raise Refusal("hessians", "two terms or more without repeats", "one", "use sampling='iid'")

    computed = None
    if not rule.traits.random or terms.counts.size == 1:
        computed = exactly(cyclic_growth(terms, one) ** kind.power)
    elif kind is Sense.MEAN_SQUARE:
        computed = mean_square_growth(terms, one, rule)
    if computed is not None:
        note = "" if computed.exact else "ended before it had settled; the limits hold"
        return Growth(*computed, computed.exact, kind, rule, note=note)

    plan = Plan.of(terms, rule, steps, replicas, population, seed)
    if kind is Sense.ALMOST_SURE:
        seen = almost_sure_growth(terms, one, rule, plan)
    else:
        seen = moment_growth(terms, one, rule, kind.power, plan)

    mean = np.tensordot(terms.weights, terms.hessians, axes=1)
    mean_rate = cyclic_growth(finite_sum(mean[None]), one)
    # A method with rate ρ forgets its start within 1/|1 - ρ| steps. Before that, a path shows only
    # transients, which may grow even if the method converges. The path must be long enough for the
    # rate with exact gradients and for the estimated rate.
    distance = min(abs(1.0 - mean_rate), abs(1.0 - seen.value ** (1.0 / kind.power)))
    decided = plan.steps * distance >= 1.0
    note = ""
    if not decided:
        memory = 1.0 / distance if distance > 0.0 else math.inf
        note = f"undecided: {plan.steps} steps are fewer than the memory of {memory:.3g}"

    estimate = Growth(*seen, False, kind, rule, decided, note)
    if rule.traits.independent and kind is not Sense.ALMOST_SURE:
        # For independent draws E s follows the mean block, and ‖E s‖ <= E‖s‖ <= √E‖s‖² (Jensen).
        least = exactly(mean_rate**kind.power)
        return _raised(estimate, least, "raised to the rate with exact gradients")

    return estimate


def _raised(growth: Growth, least: Interval, note: str) -> Growth:
    """Raise a growth to a known lower bound, with a note if its value changes."""
    raised = largest([Interval(growth.value, growth.low, growth.high), least])
    words = _and(growth.note, note) if growth.value < least.value else growth.note
    return replace(growth, value=raised.value, low=raised.low, high=raised.high, note=words)


def consistent(square: Growth, sure: Growth) -> tuple[Growth, Growth]:
    """Make the growth in mean square and along paths consistent.

    Along almost every path, growth is at most the root of the mean-square growth (Jensen). An exact
    number is kept, and an estimate is moved to its limit; of two estimates, the mean square is
    raised to that of the paths. ``note`` describes the change.

    Examples
    --------
    >>> rule = Sampling.IID
    >>> square = Growth(0.81, 0.81, 0.81, True, Sense.MEAN_SQUARE, rule)
    >>> paths = Growth(0.92, 0.9, 0.94, False, Sense.ALMOST_SURE, rule)
    >>> consistent(square, paths)[1].high
    0.9
    """
    if sure.decided and not square.exact:
        # Paths show growth that the estimate of the mean square may have missed.
        seen = Interval(sure.value**2, sure.low**2, sure.high**2)
        square = _raised(square, seen, "raised to what paths show")

    top = math.sqrt(square.high) if square.decided else math.inf
    # If the paths are undecided, the estimate is the better guess.
    value = min(sure.value, top, square.rate)
    note = sure.note
    if value < sure.value:
        note = _and(note, "reduced to the root of the mean-square growth")

    lowered = replace(
        sure,
        value=value,
        low=min(sure.low, value),
        high=min(sure.high, top),
        # If the mean square falls, so does almost every path, however short the runs were.
        decided=sure.decided or top <= 1.0,
        note=note,
    )
    return square, lowered


def _and(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
