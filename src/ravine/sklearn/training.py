"""Training: a race of step sizes and momenta, mini-batches with momentum, then growing batches."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.recursion import held, iterate
from ravine.sklearn.objective import Objective, applied
from ravine.theory.ladder import largest_step

MOMENTA = np.array([0.0, 0.5, 0.8, 0.9])
"""Momenta of the race."""
SHARES = np.array([0.5, 0.12])
"""Step sizes of the race, as shares of the largest stable one."""
_RACED = 24
"""Steps of the race."""
_JUDGED = 2000
"""Rows on which the loss of the race is computed."""
_GROWTH = 8
"""How many times larger the batches of the pass after the race are."""
_REFRESH = 10
"""Steps between two estimates of the curvature if it is not exact."""
_ROUNDING = 1e-14
"""Relative decrease of the objective that may be a rounding error."""
_HALVINGS = 40
"""Halvings after which a step is rejected: rounding errors then exceed the decrease."""


@dataclass
class Training:
    """A trained model.

    Attributes
    ----------
    W
        Weights, shape (outputs, columns).
    lr, momentum
        The winner of the race; the step size applies to preconditioned gradients.
    curve
        The objective after each pass over the data.
    excess
        Estimated distance of the objective from its minimum.
    converged
        Whether that is within the tolerance.
    """

    W: FloatArray
    lr: float = 1.0
    momentum: float = 0.0
    curve: list[float] = field(default_factory=list)
    excess: float = np.inf
    converged: bool = False


def train(
    objective: Objective, *, tol: float, max_iter: int, batch_size: int, rng: np.random.Generator
) -> Training:
    """Minimise the objective until its excess is below ``tol`` times its value.

    The rows must be in random order.
    """
    rows = objective.Z.shape[0]
    training = Training(np.zeros(objective.shape))
    if rows >= 4 * batch_size:
        _race(objective, training, batch_size, rng)

    _whole_batches(objective, training, tol, max_iter)
    return training


def step_limits(objective: Objective, sizes: FloatArray, momenta: FloatArray) -> FloatArray:
    """The largest stable step of preconditioned mini-batches, shape (momenta, sizes).

    In preconditioned coordinates every curvature is 1. For a batch of b of n rows its variance is
    about (columns / b) (1 - b / n).
    """
    rows, columns = objective.Z.shape
    ratio = columns / sizes * (1.0 - sizes / rows)
    limits = largest_step(1.0, variance_ratio=ratio[None, :], beta=momenta[:, None])

    return np.asarray(limits)


def _race(
    objective: Objective, training: Training, batch_size: int, rng: np.random.Generator
) -> None:
    """Run all candidates on the same batches, then the best one for a pass with larger batches."""
    rows = objective.Z.shape[0]
    larger = min(_GROWTH * batch_size, max(batch_size, rows // 4))
    limits = step_limits(objective, np.array([batch_size, larger], dtype=float), MOMENTA)
    P = objective.preconditioner()
    lr = np.outer(limits[:, 0], SHARES).ravel()
    momentum = np.repeat(MOMENTA, len(SHARES))
    start = np.zeros((len(lr), *objective.shape))
    steps = min(_RACED, rows // batch_size)
    order, falling = rng.permutation(steps), 1.0 - np.arange(steps) / steps
    W = mini_batches(objective, P, start, lr, momentum, batch_size, order, falling)

    judged = slice(0, _JUDGED)
    values = objective.value(W, objective.scores(W, judged), judged)
    best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
    training.lr, training.momentum = float(lr[best]), float(momentum[best])
    chosen = slice(best, best + 1)
    lr = SHARES[[best % len(SHARES)]] * limits[best // len(SHARES), 1]
    steps = rows // larger
    order, falling = rng.permutation(steps), 1.0 - np.arange(steps) / steps
    W = mini_batches(objective, P, W[chosen], lr, momentum[chosen], larger, order, falling)[0]

    # Discard weights whose loss is not below that at the start.
    pair = np.stack([training.W, W])
    if np.diff(objective.value(pair, objective.scores(pair, judged), judged))[0] < 0.0:
        training.W = W


def mini_batches(
    objective: Objective,
    P: FloatArray,
    W: FloatArray,
    lr: FloatArray,
    momentum: FloatArray,
    batch_size: int,
    order: npt.NDArray[np.intp],
    factors: FloatArray,
) -> FloatArray:
    """Nesterov's method on the batches in this order, for several models at once.

    ``factors`` multiply the step sizes ``lr``, one for each batch.
    """

    def gradient(k: int, ahead: FloatArray) -> FloatArray:
        rows = slice(order[k] * batch_size, (order[k] + 1) * batch_size)
        return applied(P, objective.gradient(ahead, objective.scores(ahead, rows), rows))

    n = len(order)
    lr, beta = lr[:, None, None], held(momentum[:, None, None], n + 1)
    states = iterate(gradient, W, steps=n, alpha=lr, betas=beta, gammas=beta, factors=factors)

    return deque(states, maxlen=1).pop().x


def _whole_batches(objective: Objective, training: Training, tol: float, max_iter: int) -> None:
    """Train with all rows in one batch, until the excess is small.

    Each step is accepted only if the objective falls. With the exact curvature a step of length 1
    is Newton's. Otherwise momentum is used, and restarted when the objective would rise.
    """
    W = previous = training.W
    S = before = objective.scores(W)
    value = float(objective.value(W, S))
    start = float(objective.value(0.0 * W, 0.0 * S))
    training.curve.append(value)
    P = objective.preconditioner(S)
    age = 0
    lr = 1.0

    while len(training.curve) < max_iter:
        beta = 0.0 if objective.exact else age / (age + 3.0)
        ahead, seen = W + beta * (W - previous), S + beta * (S - before)
        ahead_value = float(objective.value(ahead, seen)) if beta else value

        if ahead_value > value:
            age = 0
            previous, before = W, S
            continue

        if not objective.quadratic and (objective.exact or age % _REFRESH == 0) and age:
            P = objective.preconditioner(seen)

        G = objective.gradient(ahead, seen)
        D = applied(P, G)
        fall = float((G * D).sum())
        SD = objective.scores(D)
        lr = 1.0 if objective.exact else min(1.0, 1.5 * lr)
        new = np.inf

        for _ in range(_HALVINGS):
            new = float(objective.value(ahead - lr * D, seen - lr * SD))
            if new <= ahead_value - 0.1 * lr * fall:
                break
            lr *= 0.5
        else:
            # The decrease is only rounding error.
            training.excess = 0.5 * fall
            training.converged = True
            break

        previous, before = W, S
        W, S = ahead - lr * D, seen - lr * SD
        if objective.loss == "multinomial":
            # A vector added to all classes changes only the penalty, which is smallest at mean
            # zero.
            W = W - W.mean(axis=0)
            S = S - S.mean(axis=0)

        training.excess = _excess(objective, 0.5 * fall, value - new, training)
        # Exact steps that change only rounding errors have converged.
        stalled = objective.exact and value - new <= _ROUNDING * value
        value = new
        training.curve.append(value)
        age += 1

        if stalled or (training.converged and objective.exact):
            training.converged = True
            break

        # Exact steps converge quadratically, so one more pass is worth it.
        training.converged = training.excess <= tol * max(value, 1e-9 * start)
        if training.converged and not objective.exact:
            break

    training.W = W


def _excess(objective: Objective, decrement: float, fall: float, training: Training) -> float:
    """How far the objective is above its minimum.

    With the exact curvature this is half the squared Newton decrement. Otherwise the decreases of
    the last passes are extrapolated as a geometric series.
    """
    curve = training.curve
    if objective.exact:
        return decrement
    if len(curve) < 6:
        return np.inf

    earlier = max(curve[-6] - curve[-3], 0.0)
    later = max(curve[-3] - curve[-1], fall)
    ratio = min(later / earlier, 0.999) if earlier > 0.0 else 0.0

    return max(decrement, later * ratio / (1.0 - ratio))
