"""Recommended parameters with their reason and their guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import Choice, FloatArray, Refusal, in_words, one_number, overflow_allowed
from ravine.curvature import Curvature
from ravine.digits import digits, rate_digits, safe_digits
from ravine.markup import card
from ravine.methods import Method, sgd
from ravine.sampling import Sampling
from ravine.theory.error_quantity import ErrorQuantity
from ravine.theory.finite_sums.growth import growth
from ravine.theory.finite_sums.terms import Sense
from ravine.theory.ladder.batch_noise import SINGLE_TERMS, Batches
from ravine.theory.ladder.iid import iid_noise_floor
from ravine.theory.ladder.ladder import Ladder, ladder
from ravine.theory.ladder.safety import safe_step
from ravine.theory.ladder.worst_case import Certificate, certificate, worst_case_rate
from ravine.theory.tuning.batch_gain import fastest_pair, gain_of
from ravine.theory.tuning.budget import fastest_budget
from ravine.theory.tuning.fastest import fastest_mean_square
from ravine.theory.tuning.search import least
from ravine.values import Value

_MARGIN = 1e-9
"""Relative margin of a certified rate above the exact one, unless 1 is closer."""
_INSIDE = 1.0 - 1e-6
"""Share of a limit that is safe for every mu; the limit itself is not."""
_SHORTEST = 1e-4
"""Shortest step tried, as a share of the largest that is safe for every mu."""
_ONE = 1.0 - 2.0**-52
"""A rate above this cannot be distinguished from 1."""


class Setting(Choice):
    """Assumption about the gradients."""

    ANY_SAMPLING = "any-sampling", "a finite sum, visited in any order"
    MINI_BATCHES = "mini-batches", "mini-batches of a known size, drawn independently"
    ADDITIVE_NOISE = "additive-noise", "noise that does not depend on the point, and a budget"
    FINITE_SUM = "finite-sum", "the Hessians of the mini-batches, drawn with replacement"


_OPTIONS: dict[Setting, tuple[set[str], set[str]]] = {
    Setting.ANY_SAMPLING: (set(), {"beta", "for_every_mu"}),
    Setting.MINI_BATCHES: ({"batch_size"}, {"L_max", "mu_min", "sigma2", "steps", "quantity"}),
    Setting.ADDITIVE_NOISE: ({"sigma2", "steps"}, {"quantity"}),
    Setting.FINITE_SUM: ({"hessians"}, set()),
}
"""Options that each setting needs, and further ones that it accepts; others are refused."""


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation(Value):
    """A recommended method, the reason, and what is guaranteed."""

    setting: Setting
    method: Method
    value: float
    """The number of the guarantee; ``quantity`` describes it."""
    quantity: str
    reason: str
    guarantee: str
    ladder: Ladder
    """All rungs for this method, checked before it is recommended."""
    gain: float | None = None
    """How many times fewer steps it needs than the best SGD, for mini-batches."""

    def _repr_html_(self) -> str:
        """The parameters, the reason and the guarantee, for notebooks."""
        rows = [
            ("step size", f"{float(self.method.alpha):.6g}"),
            ("momentum", f"{float(self.method.beta):.6g}"),
            (self.quantity, f"{self.value:.6g}"),
        ]
        if self.gain is not None:
            rows.append(("times fewer steps than SGD", f"{self.gain:.4g}"))

        return card(
            f"Recommended for {self.setting.sentence}",
            rows,
            sentences=[self.reason, self.guarantee],
        )


@overflow_allowed
def recommend(
    curvature: Curvature,
    *,
    setting: Setting | str | None = None,
    beta: float | None = None,
    for_every_mu: bool = False,
    sigma2: float | None = None,
    distance: float = 1.0,
    steps: int | None = None,
    hessians: npt.ArrayLike | None = None,
    batch_size: float | None = None,
    L_max: float | None = None,
    mu_min: float | None = None,
    quantity: ErrorQuantity | str | None = None,
) -> Recommendation:
    """Recommend a step size and a momentum, with the reason and the guarantee.

    Parameters
    ----------
    curvature
        Curvature of every term of the sum, or of the objective: single numbers.
    setting
        ``"any-sampling"``: a finite sum visited in any order. SGD at 2/(mu + L) is optimal; with a
        given momentum ``beta``, the step with the smallest worst-case rate. ``"mini-batches"``: the
        minimiser over alpha and beta of the guaranteed mean-square rate for batches of
        ``batch_size`` drawn independently, on every problem with this curvature of the objective
        and single terms in [``mu_min``, ``L_max``]; with ``sigma2`` and ``steps`` the minimiser of
        the error after that many steps. ``"additive-noise"``: the minimiser over alpha and beta, of
        either sign, of the worst E‖y - x*‖² after ``steps`` gradients with noise of variance
        ``sigma2``, from ``distance``. ``"finite-sum"``: the minimiser of the mean-square rate of
        the given ``hessians`` under iid sampling. Default: mini-batches with ``batch_size``, else
        any sampling.
    beta
        Momentum you want to keep, between -1 and 1; only with any sampling.
    for_every_mu
        With ``beta``: keep the step below the one that is safe for every mu, for problems with
        known L and unknown mu.
    sigma2, distance, steps
        Noise variance (zero or more), ‖x_0 - x*‖ (positive) and the budget; with additive noise
        or mini-batches.
    hessians
        Mini-batch Hessians, shape (n, d, d), or (n, d) for shared eigenvectors; only with a
        finite sum. Their eigenvalues lie in the given curvature.
    batch_size, L_max, mu_min
        Terms in a batch, and curvature of single terms as in :func:`ravine.iid_rate`; only with
        mini-batches.

    quantity
        The error to minimise for a budget of steps: ``"distance"`` for E‖y - x*‖² (the default)
        or ``"objective"`` for E f(y) - f*.

    Returns
    -------
    Recommendation
        Checked before it is returned: a certificate in exact arithmetic, the exact second moment,
        or the mean-square growth.

    Examples
    --------
    >>> advice = recommend(Curvature(1, 32), beta=0.9)
    >>> round(float(advice.method.alpha) * 32, 4), round(advice.value, 5)
    (0.0113, 0.99649)
    """
    guessed = Setting.ANY_SAMPLING if batch_size is None else Setting.MINI_BATCHES
    chosen = guessed if setting is None else Setting.parse(setting)
    batches: dict[str, Any] = {"batch_size": batch_size, "L_max": L_max, "mu_min": mu_min}
    budget = {"sigma2": sigma2, "steps": steps, "quantity": quantity}
    given = {"beta": beta, "for_every_mu": for_every_mu or None, "hessians": hessians}
    _check_options(chosen, **given, **batches, **budget)

    if chosen is Setting.ANY_SAMPLING:
        return _for_any_sampling(curvature, beta, for_every_mu)
    if chosen is Setting.FINITE_SUM:
        return _for_finite_sum(curvature, np.asarray(hessians))
    if chosen is Setting.MINI_BATCHES and not any(value is not None for value in budget.values()):
        return _for_mini_batches(curvature, Batches(**batches))

    kind = ErrorQuantity.parse(quantity or ErrorQuantity.DISTANCE, "quantity")
    if sigma2 is None or steps is None:
        missing, other = ("sigma2", "steps") if sigma2 is None else ("steps", "sigma2")
        raise Refusal(missing, f"given with {other}", "none", "add it")

    known = Batches(**batches) if chosen is Setting.MINI_BATCHES else None
    return _for_budget(curvature, known, sigma2, distance, steps, kind)


def _check_options(setting: Setting, **options: object) -> None:
    """Refuse options that the setting would ignore, and require those that it needs."""
    needed, taken = _OPTIONS[setting]
    for name, value in options.items():
        if value is None and name in needed:
            raise Refusal(name, f"given for setting {setting.value}", "none", "add it")
        if value is not None and name not in needed | taken:
            rule = f"omitted for setting {setting.value}"
            raise Refusal(name, rule, in_words(value), "drop it, or change the setting")

    if options["for_every_mu"] and options["beta"] is None:
        raise Refusal("beta", "given with for_every_mu", "none", "add a momentum")


def _for_any_sampling(
    curvature: Curvature, beta: float | None, for_every_mu: bool
) -> Recommendation:
    if beta is None:
        method = sgd(curvature)
        reason = (
            "no fixed linear method of any memory has a better worst case over all finite sums "
            "and all orders than SGD at 2/(mu + L) (docs/theory.md, The worst-case rate)"
        )
    else:
        method = _least_worst_case(curvature, beta, for_every_mu)
        which = "that is safe for every mu up to L" if for_every_mu else "for this mu and L"
        reason = (
            f"the step with the smallest worst-case rate at momentum {beta:g} {which}; SGD without "
            "momentum has a better worst case (docs/theory.md, The worst-case rate)"
        )

    rungs = ladder(curvature, method)
    proof = _certify(curvature, method, rungs.worst_case_rate)
    first, last = (safe_digits(gain, up=True) for gain in (proof.transient_gain, proof.noise_gain))
    guarantee = (
        "on every finite sum with this curvature, in every order, the error shrinks by a factor of "
        f"{rate_digits(rungs.worst_case_rate)} per step, from at most {first} times the initial "
        f"error down to at most {last} times the mean gradient norm at the minimiser"
    )

    quantity = "worst-case rate per step"

    return Recommendation(
        Setting.ANY_SAMPLING, method, rungs.worst_case_rate, quantity, reason, guarantee, rungs
    )


def _least_worst_case(curvature: Curvature, beta: float, for_every_mu: bool) -> Method:
    """The step with the smallest worst-case rate at this momentum, for this mu or for every mu."""
    momentum = one_number("beta", beta, remedy="give a momentum, e.g. beta=0.9")
    limit = float(safe_step(curvature.L, momentum))
    # Beyond 2(1+beta)/(1+2 beta) even exact gradients diverge; if that is no limit, use 4/L.
    exact = 2.0 * (1.0 + momentum) / max(1.0 + 2.0 * momentum, 0.5)
    longest = _INSIDE * limit if for_every_mu else max(exact / float(curvature.L), limit)

    def objective(log_step: FloatArray) -> FloatArray:
        return np.asarray(worst_case_rate(curvature, Method(np.exp(log_step), momentum)))

    axis = np.linspace(np.log(_SHORTEST * limit), np.log(longest), 401)
    (log_step,), _ = least(objective, [axis], precision=1e-15)
    return Method(np.exp(log_step), momentum)


def _certify(curvature: Curvature, method: Method, rate: float) -> Certificate:
    """A proof of a rate below 1, with a margin of half the distance to 1 if that is small."""
    if rate < _ONE:
        proof = certificate(curvature, method, margin=min(_MARGIN, 0.5 * (1.0 - rate)))
        if proof.rate < 1.0:
            return proof

    given = f"{float(curvature.mu)!r} with L = {float(curvature.L)!r}, and a rate of {rate!r}"
    raise Refusal("mu", "large enough against L for a proof in float64", given, "take a larger one")


def _for_mini_batches(curvature: Curvature, batches: Batches) -> Recommendation:
    batch_size = batches.batch_size
    plain, best = fastest_pair(curvature, batches)
    rungs = ladder(curvature, best.method, **batches.options())
    gain = gain_of(plain, best)
    floor = float(iid_noise_floor(curvature, best.method, **batches.options()))
    compared = (
        f"{gain:.3g} times fewer steps than the best SGD, whose rate is {rate_digits(plain.rate)}"
        if gain > 1.0
        else "momentum gains nothing at this batch size"
    )

    reason = (
        "the smallest guaranteed mean-square rate over all alpha and beta for batches of "
        f"{batch_size:g}: {compared} (docs/batch-size.md)"
    )
    guarantee = (
        f"on every problem with this curvature, for batches of {batch_size:g} drawn independently, "
        f"√E‖y - x*‖² shrinks by a factor of {rate_digits(best.rate)} per step or faster in the "
        f"long run, and E‖y - x*‖² ends at no more than {safe_digits(floor, up=True)} times the "
        "variance of a batch's gradient at the minimiser"
    )

    quantity = "guaranteed root-mean-square rate per step"

    return Recommendation(
        Setting.MINI_BATCHES, best.method, best.rate, quantity, reason, guarantee, rungs, gain
    )


def _for_budget(
    curvature: Curvature,
    batches: Batches | None,
    sigma2: float,
    distance: float,
    steps: int,
    kind: ErrorQuantity,
) -> Recommendation:
    """The smallest error after a budget, with batches or with additive noise alone."""
    best = fastest_budget(
        curvature, sigma2=sigma2, distance=distance, steps=steps, quantity=kind, batches=batches
    )
    rungs = ladder(curvature, best.method, **(batches or SINGLE_TERMS).options())
    after = f"after {steps} steps"
    reason = (
        f"the smallest worst-direction {kind.sentence} {after} over all alpha and beta, by the "
    )
    if batches is not None:
        size = f"batches of {batches.batch_size:g}"
        reason += f"exact second moments with random curvature of {size}"
        where = (
            f"for {size} drawn independently, whose Hessians share eigenvectors, in any direction "
            f"with gradient variance {sigma2:g} at the minimiser"
        )
        setting, stable = Setting.MINI_BATCHES, rungs.iid_rate < 1.0
    else:
        reason += "exact second moments"
        where = (
            "on every quadratic with this curvature, in any direction with noise variance "
            f"{sigma2:g}"
        )
        setting, stable = Setting.ADDITIVE_NOISE, rungs.spectral_radius < 1.0

    # The largest value over a fine sample of curvatures is not a bound.
    limit = f"about {digits(best.value)}"
    if best.certain:
        limit = f"at most {safe_digits(best.value, up=True)}"
    guarantee = f"{where}, {kind.sentence} is {limit} {after}"
    if not stable:
        guarantee += "; these parameters are unstable in longer runs: stop there"

    quantity = f"{kind.sentence} {after}"
    return Recommendation(setting, best.method, best.value, quantity, reason, guarantee, rungs)


def _for_finite_sum(curvature: Curvature, hessians: npt.ArrayLike) -> Recommendation:
    method, rate = fastest_mean_square(hessians)
    rungs = ladder(curvature, method)
    plain = growth(hessians, sgd(curvature), sampling=Sampling.IID, sense=Sense.MEAN_SQUARE)
    reason = (
        "the smallest mean-square rate of this sum over all alpha and beta under iid sampling; SGD "
        f"at 2/(mu + L) has {rate_digits(float(np.sqrt(plain.value)))}"
    )
    guarantee = (
        "under iid sampling of exactly these terms √E‖y - x*‖² shrinks by a factor of "
        f"{rate_digits(rate)} per step; another sampling or another sum is not covered"
    )
    quantity = "root-mean-square rate per step"
    return Recommendation(Setting.FINITE_SUM, method, rate, quantity, reason, guarantee, rungs)
