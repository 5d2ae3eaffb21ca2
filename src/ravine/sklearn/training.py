"""Training: a race of step sizes and momenta, mini-batches with momentum, then growing batches."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, log_softmax, softmax

from ravine.arguments import FloatArray
from ravine.engine.recursion import held, iterate
from ravine.problems.spectrum import weighted_gram
from ravine.theory.ladder import largest_step

LARGEST_BLOCK = 500
"""Largest curvature matrix that is inverted; for wider data only the diagonal is used."""
_JOINT = 200
"""Weights of a multinomial model whose full curvature is used, instead of one block per class."""
_RIDGE = 1e-12
"""Share of the mean curvature that is added, so that it is invertible for dependent columns."""
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


@dataclass(eq=False)
class Objective:
    """F(W) = sum_i s_i loss(W z_i, y_i) + sum_j penalty_j W_j^2 / 2.

    The row weights s add up to 1. Weights W have shape (..., outputs, columns); the leading axes
    run several models at once. ``loss`` is "squared", "logistic" (one output) or "multinomial"
    (one output per class).
    """

    Z: Any
    Y: FloatArray
    weights: FloatArray
    penalty: FloatArray
    loss: str

    def __post_init__(self) -> None:
        self.quadratic = self.loss == "squared"
        outputs, columns = self.shape = (len(self.Y), self.Z.shape[1])
        self.joint = self.loss == "multinomial" and outputs * columns <= _JOINT
        # Whether the preconditioner is the inverse curvature: steps of length 1 are Newton's.
        self.exact = columns <= LARGEST_BLOCK and (outputs == 1 or self.joint)
        self.diagonal = columns > LARGEST_BLOCK

    def scores(self, W: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """W z of the rows, shape (..., outputs, rows)."""
        values = np.asarray(W.reshape(-1, W.shape[-1]) @ self.Z[rows].T)
        return values.reshape(*W.shape[:-1], values.shape[-1])

    def value(self, W: FloatArray, S: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """F at W, given the scores of the rows; on some rows with their weights scaled up."""
        Y = self.Y[:, rows]
        s = self.weights[rows]
        if self.quadratic:
            losses = 0.5 * ((S - Y) ** 2)[..., 0, :]
        elif self.loss == "logistic":
            losses = (np.logaddexp(0.0, S) - Y * S)[..., 0, :]
        else:
            losses = -(Y * log_softmax(S, axis=-2)).sum(axis=-2)

        return np.asarray(losses @ (s / s.sum()) + 0.5 * (self.penalty * W**2).sum(axis=(-2, -1)))

    def gradient(self, W: FloatArray, S: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """The gradient of :meth:`value`, in the shape of W."""
        s = self.weights[rows]
        R = (self._predicted(S) - self.Y[:, rows]) * (s / s.sum())
        values = np.asarray(R.reshape(-1, R.shape[-1]) @ self.Z[rows])

        return values.reshape(W.shape) + self.penalty * W

    def _predicted(self, S: FloatArray) -> FloatArray:
        if self.quadratic:
            return S

        return np.asarray(expit(S) if self.loss == "logistic" else softmax(S, axis=-2))

    def preconditioner(
        self, S: FloatArray | None = None, *, gram: FloatArray | None = None
    ) -> FloatArray:
        """The inverse of the curvature at scores S, or of its upper bound if S is None.

        The bound is a multiple of ``gram``, by default the second moments of the columns.

        Shape (blocks, m, m) with one block for all weights or one for each output; for wide data
        the inverse diagonal, shape (outputs, columns).
        """
        if S is None or self.quadratic:
            # One bound serves all outputs.
            most = 1.0 if self.quadratic else 0.25 if self.loss == "logistic" else 0.5
            inverse = self._inverse(most * (self._gram(self.weights) if gram is None else gram))
            return np.broadcast_to(inverse, (len(self.Y), *inverse.shape))

        p = self._predicted(S)
        if self.joint:
            return self._joint(p)

        return np.stack([self._inverse(self._gram(self.weights * q * (1.0 - q))) for q in p])

    def _inverse(self, H: FloatArray) -> FloatArray:
        """The inverse of a curvature of one output with its penalty, or of its diagonal."""
        if not self.diagonal:
            return _inverse(H + np.diag(self.penalty))

        diagonal = H + self.penalty
        return np.asarray(1.0 / np.maximum(diagonal, 1e-6 * diagonal.max()))

    def _joint(self, p: FloatArray) -> FloatArray:
        """The inverse of the whole curvature of a small multinomial model."""
        outputs, columns = self.shape
        H = np.zeros((outputs, columns, outputs, columns))
        for k in range(outputs):
            for j in range(k, outputs):
                block = self._gram(self.weights * p[k] * ((j == k) - p[j]))
                H[k, :, j] = H[j, :, k] = block

        size = outputs * columns
        return _inverse(H.reshape(size, size) + np.diag(np.tile(self.penalty, outputs)))[None]

    def _gram(self, s: FloatArray) -> FloatArray:
        return second_moments(self.Z, s, diagonal=self.diagonal)


def second_moments(Z: Any, s: FloatArray, *, diagonal: bool) -> FloatArray:
    """sum_i s_i z_i z_i^T, or its diagonal."""
    if diagonal:
        return np.asarray(s @ Z**2)

    return weighted_gram(Z, s)


def _inverse(H: FloatArray) -> FloatArray:
    ridge = _RIDGE * max(float(np.trace(H)) / len(H), 1e-300)
    regular = H + ridge * np.eye(len(H))
    try:
        return np.asarray(cho_solve(cho_factor(regular), np.eye(len(H))))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(regular, hermitian=True, rcond=1e-14))


def applied(P: FloatArray, G: FloatArray) -> FloatArray:
    """P times a gradient of shape (..., outputs, columns)."""
    if P.ndim == 2:
        return P * G

    blocks = G.reshape(*G.shape[:-2], len(P), -1, 1)
    return np.asarray((P @ blocks).reshape(G.shape))


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

    return np.asarray(largest_step(1.0, variance_ratio=ratio[None, :], beta=momenta[:, None]))


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
    order = rng.permutation(min(_RACED, rows // batch_size))
    W = mini_batches(objective, P, start, lr, momentum, batch_size, order)

    judged = slice(0, _JUDGED)
    values = objective.value(W, objective.scores(W, judged), judged)
    best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
    training.lr, training.momentum = float(lr[best]), float(momentum[best])
    chosen = slice(best, best + 1)
    lr = SHARES[[best % len(SHARES)]] * limits[best // len(SHARES), 1]
    order = rng.permutation(rows // larger)
    W = mini_batches(objective, P, W[chosen], lr, momentum[chosen], larger, order)[0]

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
    *,
    falling: bool = True,
) -> FloatArray:
    """Nesterov's method on the batches in this order, for several models at once.

    The step sizes are ``lr``, or fall linearly from there to zero.
    """

    def gradient(k: int, ahead: FloatArray) -> FloatArray:
        rows = slice(order[k] * batch_size, (order[k] + 1) * batch_size)
        return applied(P, objective.gradient(ahead, objective.scores(ahead, rows), rows))

    n = len(order)
    lr, beta = lr[:, None, None], held(momentum[:, None, None], n + 1)
    factors = 1.0 - np.arange(n) / n if falling else None
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
        close = done = training.excess <= tol * max(new, 1e-9 * start)
        if objective.exact:
            # They converge quadratically, so one more pass is worth it, until only rounding errors
            # change.
            done = training.converged or value - new <= _ROUNDING * value

        value = new
        training.curve.append(value)
        training.converged = close or done
        age += 1
        if done:
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
