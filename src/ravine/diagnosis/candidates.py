"""Which methods are judged: the user's, the usual ones, and those tuned to the batches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.diagnosis.batches import Survey
from ravine.methods import Method, nesterov, sgd
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.ladder.certificate import Certificate, certificate
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.safety import safe_step
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.theory.tuning.fastest import fastest_budget, fastest_on, fastest_step_on

PYTORCH_STEP, PYTORCH_MOMENTUM = 0.01, 0.9
_TUNING_DIRECTIONS = 20
_SAFE_MOMENTA = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_SAFE_FRACTIONS = (0.5, 0.7, 0.9, 0.98)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method to be judged on the data.

    Attributes
    ----------
    key
        ``"yours"``, ``"nesterov"``, ``"pytorch"``, ``"sgd"``, ``"tuned-sgd"``, ``"certified"``,
        ``"fastest"`` or ``"budget"``.
    name
        What it is called in reports.
    method
        Its parameters.
    reason
        Where they come from.
    recommended
        Whether it is ravine's.
    certificate
        The proof that it converges in every order of the batches, where there is one.
    """

    key: str
    name: str
    method: Method
    reason: str
    recommended: bool = False
    certificate: Certificate | None = None


def candidates(
    survey: Survey, start: FloatArray, *, yours: Method | None, steps: int
) -> list[Candidate]:
    """The user's method if given, the usual ones, and ravine's recommendations."""
    whole = survey.curvature
    found = [] if yours is None else [Candidate("yours", "yours", yours, "as given")]
    lr = PYTORCH_STEP if yours is None else float(yours.alpha)
    found += [
        Candidate("nesterov", "usual Nesterov", nesterov(whole),
                  "1/L and (√Q-1)/(√Q+1) of the whole objective"),
        Candidate("pytorch", f"lr {lr:g}, 0.9", Method(lr, PYTORCH_MOMENTUM),
                  "common in PyTorch scripts"),
        Candidate("sgd", "SGD, 2/(mu+L)", sgd(whole), "best fixed step for exact gradients"),
    ]  # fmt: skip
    if yours is not None and float(yours.beta) == PYTORCH_MOMENTUM and yours.is_nesterov:
        found = [c for c in found if c.key != "pytorch"]
    tuning = tuning_moments(survey.moments)
    plain = stabilised(survey.moments, fastest_step_on(tuning).method)
    found.append(
        Candidate("tuned-sgd", "SGD, best step", plain, "least mean-square rate without momentum")
    )
    found.append(_certified(survey, tuning))
    fastest = stabilised(survey.moments, tuned(tuning, plain))
    found.append(
        Candidate("fastest", "fastest", fastest, "least mean-square rate on these batches", True)
    )
    if not survey.interpolates:
        found.append(_for_budget(survey, start, steps))
    return found


def tuning_moments(moments: SecondMoments) -> SecondMoments:
    """The directions that decide: most disagreement, largest and least curvature."""
    d = moments.dimension
    if d <= _TUNING_DIRECTIONS:
        return moments
    spread = np.diag(moments.sandwich(np.eye(d)))
    least_first = np.argsort(moments.eigenvalues)
    picked = [*np.argsort(spread)[::-1][:10], *least_first[::-1][:6], *least_first[:4]]
    return moments.restricted(np.unique(np.array(picked, dtype=np.intp)))


def speed(moments: SecondMoments, alpha: float, beta: float) -> float:
    """Logarithm of the growth of E‖s‖², negative if it falls: what tuning minimises."""
    value = moments.growth(Method(alpha, beta), tolerance=1e-3)
    return math.log(value) if 0.0 < value < math.inf else math.inf


def tuned(moments: SecondMoments, plain: Method) -> Method:
    """Step and momentum whose mean-square rate is least, as a user types them."""
    best = fastest_on(moments, plain=plain).method
    return typed(float(best.alpha), float(best.beta))


def stabilised(moments: SecondMoments, method: Method) -> Method:
    """The method, its step shortened until it is stable on all directions."""
    for _ in range(40):
        if moments.is_stable(method):
            return method
        steady = float(spectral_radius(_whole(moments), method)) < 1.0
        # At small steps the strain is proportional to the step.
        factor = 0.9 / moments.strain(method) if steady else 0.5
        step = float(np.clip(factor, 0.1, 0.9)) * float(method.alpha)
        method = typed(step, float(method.beta))
    return method


def _whole(moments: SecondMoments) -> Curvature:
    return Curvature(moments.eigenvalues.min(), moments.eigenvalues.max())


def _certified(survey: Survey, tuning: SecondMoments) -> Candidate:
    """Of the parameters that are certain in every order, the fastest on these batches."""
    proven = survey.certified_curvature
    L = float(survey.bounds[:, 1].max()) * (1.0 + 1e-9)
    options = [
        Method(fraction * float(safe_step(L, beta)), beta)
        for beta in _SAFE_MOMENTA
        for fraction in _SAFE_FRACTIONS
    ]
    if proven is not None:
        options.append(sgd(proven))
    best = min(options, key=lambda m: speed(tuning, float(m.alpha), float(m.beta)))
    best = typed(float(best.alpha), float(best.beta))
    if proven is not None and float(worst_case_rate(proven, best)) < 1.0:
        proof = _proof(proven, best)
        if proof is not None:
            reason = "converges in every order of the batches; of those, the fastest here"
            return Candidate("certified", "certified", best, reason, True, proof)
    reason = "safe in every order; no certificate, as some batch is flat somewhere"
    return Candidate("safe", "safe step", best, reason, True)


def _proof(curvature: Curvature, method: Method) -> Certificate | None:
    proof = certificate(curvature, method)
    return proof if proof.rate < 1.0 and proof.verify() else None


def _for_budget(survey: Survey, start: FloatArray, steps: int) -> Candidate:
    """Least error after the budget of steps, with the gradients' spread at x* as additive noise."""
    moments = survey.moments
    away = survey.basis.T @ (start - survey.problem.minimiser)
    noise = moments.weights @ moments.gradients**2
    with np.errstate(over="ignore"):
        found = fastest_budget(moments.eigenvalues, sigma2=noise, start=away, steps=steps)
    method = typed(float(found.method.alpha), float(found.method.beta))
    method = stabilised(moments, method)
    reason = f"least error after {steps} steps, speed against noise"
    return Candidate("budget", "for the budget", method, reason, True)


def typed(alpha: float, beta: float) -> Method:
    """Parameters as a user types them, with four digits; the step is rounded down."""
    digits = 3 - math.floor(math.log10(alpha)) if alpha > 0.0 else 3
    return Method(math.floor(alpha * 10.0**digits) / 10.0**digits, round(beta, 4))
