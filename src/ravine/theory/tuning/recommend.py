"""Parameters with the reason for them and the guarantee they carry."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ravine.arguments import Refusal, one_number
from ravine.curvature import Curvature
from ravine.methods import Method, sgd
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth import growth
from ravine.theory.finite_sums.sense import Sense
from ravine.theory.ladder.certificate import certificate
from ravine.theory.ladder.ladder import Ladder, ladder
from ravine.theory.ladder.safety import safe_step
from ravine.theory.noise.moments import second_moment
from ravine.theory.tuning.fastest import fastest_budget, fastest_mean_square


class Setting(StrEnum):
    """What is known of the gradients."""

    ANY_SAMPLING = "any-sampling"
    ADDITIVE_NOISE = "additive-noise"
    FINITE_SUM = "finite-sum"


@dataclass(frozen=True, eq=False)
class Recommendation:
    """A method, why it is the best there is in its setting, and what is certain about it."""

    setting: Setting
    method: Method
    value: float
    """The number that the guarantee is about; ``quantity`` says what it is."""
    quantity: str
    reason: str
    guarantee: str
    ladder: Ladder
    """Every rung for this method, climbed before it was recommended."""


def recommend(
    curvature: Curvature,
    *,
    setting: Setting | str = Setting.ANY_SAMPLING,
    beta: float | None = None,
    sigma2: float | None = None,
    distance: float = 1.0,
    steps: int | None = None,
    hessians: npt.ArrayLike | None = None,
) -> Recommendation:
    """Recommend a step size and a momentum, with the reason and the guarantee.

    Parameters
    ----------
    curvature
        Curvature of every term of the sum, or of the objective: single numbers.
    setting
        ``"any-sampling"``: a finite sum visited in any order. SGD at 2/(mu + L) is the best there
        is (T6); with a wished-for momentum ``beta``, T7's largest safe step.
        ``"additive-noise"``: the minimiser over alpha and beta, of either sign, of the worst
        E‖y - x*‖² after ``steps`` gradients with noise of variance ``sigma2``, from ``distance``.
        ``"finite-sum"``: the minimiser of the mean-square rate of the given ``hessians`` under
        iid sampling.
    beta
        Momentum you want to keep, between -1 and 1; only with any sampling.
    sigma2, distance, steps
        Noise variance (zero or more), ‖x_0 - x*‖ (positive) and the budget; only with additive
        noise.
    hessians
        Mini-batch Hessians, shape (n, d, d), or (n, d) for shared eigenvectors; only with a
        finite sum. Their eigenvalues lie in the given curvature.

    Returns
    -------
    Recommendation
        Checked before it is returned: a certificate in exact arithmetic, the exact second moment,
        or the mean-square growth.

    Examples
    --------
    >>> advice = recommend(Curvature(1, 32), beta=0.9)
    >>> round(float(advice.method.alpha) * 32, 5), advice.value < 1
    (0.01163, True)
    """
    try:
        chosen = Setting(setting)
    except ValueError:
        names = ", ".join(member.value for member in Setting)
        rule = f"one of {names}"
        raise Refusal("setting", rule, repr(setting), "pick one") from None
    _check_options(chosen, beta=beta, sigma2=sigma2, steps=steps, hessians=hessians)
    if chosen is Setting.ANY_SAMPLING:
        return _for_any_sampling(curvature, beta)
    if chosen is Setting.ADDITIVE_NOISE:
        assert sigma2 is not None
        assert steps is not None
        return _for_additive_noise(curvature, sigma2, distance, steps)
    assert hessians is not None
    return _for_finite_sum(curvature, hessians)


def _check_options(setting: Setting, **options: object) -> None:
    """Refuse options that the setting would ignore, and ask for those it needs."""
    needed = {
        Setting.ANY_SAMPLING: set(),
        Setting.ADDITIVE_NOISE: {"sigma2", "steps"},
        Setting.FINITE_SUM: {"hessians"},
    }[setting]
    allowed = needed | ({"beta"} if setting is Setting.ANY_SAMPLING else set())
    for name, value in options.items():
        if value is None and name in needed:
            raise ValueError(f"{name} must be given for setting {setting.value}, got none: add it")
        if value is not None and name not in allowed:
            raise ValueError(
                f"{name} must be left out for setting {setting.value}, got one: drop it, "
                "or change the setting"
            )


def _for_any_sampling(curvature: Curvature, beta: float | None) -> Recommendation:
    if beta is None:
        method = sgd(curvature)
        reason = (
            "no fixed linear method of any memory has a better worst case over all finite sums "
            "and all orders than SGD at 2/(mu + L) (T6)"
        )
    else:
        method = Method(safe_step(curvature.L, beta), beta)
        reason = (
            f"the largest step that is safe at momentum {beta:g} for every mu up to L (T7); "
            "SGD without momentum has the better worst case (T6)"
        )
    rungs = ladder(curvature, method)
    proof = certificate(curvature, method)
    if not proof.rate < 1.0:
        raise ArithmeticError(
            f"the rate {proof.rate!r} of alpha={float(method.alpha)!r} cannot be told from 1: "
            "mu is too small against L for float64"
        )
    guarantee = (
        f"on every finite sum with this curvature, in every order, the error shrinks by "
        f"a factor {rungs.worst_case_rate:.6g} a step, from at most {proof.transient_gain:.4g} "
        f"times its start, to at most {proof.noise_gain:.4g} times the mean gradient norm at the "
        "minimiser"
    )
    quantity = "worst-case rate a step"
    setting = Setting.ANY_SAMPLING
    return Recommendation(
        setting, method, rungs.worst_case_rate, quantity, reason, guarantee, rungs
    )


def _for_additive_noise(
    curvature: Curvature, sigma2: float, distance: float, steps: int
) -> Recommendation:
    start = one_number("distance", distance, "positive", remedy="give ‖x_0 - x*‖, e.g. 1.0")
    method, value = fastest_budget(curvature, sigma2=sigma2, start=start, steps=steps)
    rungs = ladder(curvature, method)
    spectrum = np.linspace(float(curvature.mu), float(curvature.L), 17)
    path = second_moment(spectrum, method, sigma2=sigma2, start=start, steps=steps)
    reason = (
        f"the least worst-direction E‖y - x*‖² after {steps} gradients over all alpha and beta, "
        "by the exact second moments"
    )
    guarantee = (
        f"on every quadratic with this curvature and noise variance {sigma2:g} in the direction "
        f"counted, E‖y - x*‖² is at most {value:.6g} after {steps} gradients"
    )
    if rungs.spectral_radius >= 1.0:
        guarantee += "; these parameters are not stable: stop there"
    _confirm(float(path[-1].max()), value)
    quantity = f"E‖y - x*‖² after {steps} gradients"
    setting = Setting.ADDITIVE_NOISE
    return Recommendation(setting, method, value, quantity, reason, guarantee, rungs)


def _confirm(seen: float, claimed: float) -> None:
    """The independent recursion must not exceed the minimiser's own value."""
    if seen > claimed * (1.0 + 1e-6):
        raise ArithmeticError(f"exact moments give {seen!r}, above the claimed {claimed!r}")


def _for_finite_sum(curvature: Curvature, hessians: npt.ArrayLike) -> Recommendation:
    method, rate = fastest_mean_square(hessians)
    rungs = ladder(curvature, method)
    seen = growth(hessians, method, sampling=Sampling.IID, sense=Sense.MEAN_SQUARE)
    _confirm(float(np.sqrt(seen.value)), rate)
    plain = growth(hessians, sgd(curvature), sampling=Sampling.IID, sense=Sense.MEAN_SQUARE)
    reason = (
        "the least mean-square rate of this sum over all alpha and beta under iid sampling; "
        f"SGD at 2/(mu + L) has {float(np.sqrt(plain.value)):.6g}"
    )
    guarantee = (
        f"under iid sampling of exactly these terms √E‖y - x*‖² shrinks by a factor {rate:.6g} "
        "a step; another sampling or another sum is not covered"
    )
    quantity = "root-mean-square rate a step"
    return Recommendation(Setting.FINITE_SUM, method, rate, quantity, reason, guarantee, rungs)
