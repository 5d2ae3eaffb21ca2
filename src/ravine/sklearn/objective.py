"""The mean loss of a linear model with l2 penalty: values, gradients, curvature."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, log_softmax, softmax

from ravine.arguments import FloatArray
from ravine.problems.spectrum import is_sparse, weighted_gram

LARGEST_BLOCK = 500
"""Largest curvature matrix that is inverted; for wider data only the diagonal is used."""
_JOINT = 200
"""Weights of a multinomial model whose full curvature is used, instead of one block per class."""
_RIDGE = 1e-12
"""Share of the mean curvature that is added, so that it is invertible for dependent columns."""


class Objective:
    """F(W) = sum_i s_i loss(W z_i, y_i) + sum_j penalty_j W_j^2 / 2.

    The row weights s add up to 1. Weights W have shape (..., outputs, columns); the leading axes
    run several models at once. ``loss`` is "squared", "logistic" (one output) or "multinomial"
    (one output per class).
    """

    def __init__(
        self, Z: Any, Y: FloatArray, weights: FloatArray, penalty: FloatArray, loss: str
    ) -> None:
        self.Z = Z
        self.Y = Y
        self.weights = weights
        self.penalty = penalty
        self.loss = loss
        self.quadratic = loss == "squared"
        outputs, columns = self.shape = (len(Y), Z.shape[1])
        self.joint = loss == "multinomial" and outputs * columns <= _JOINT
        # Whether the preconditioner is the inverse curvature: steps of length 1 are Newton's.
        self.exact = columns <= LARGEST_BLOCK and (outputs == 1 or self.joint)
        self.diagonal = columns > LARGEST_BLOCK

    def scores(self, W: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """W z of the rows, shape (..., outputs, rows)."""
        flat = W.reshape(-1, W.shape[-1])
        part = self.Z[rows]
        values = np.asarray((part @ flat.T).T if is_sparse(part) else flat @ part.T)

        return values.reshape(*W.shape[:-1], values.shape[-1])

    def value(self, W: FloatArray, S: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """F at W, given the scores of the rows; on some rows with their weights scaled up."""
        Y = self.Y[:, rows]
        s = self.weights[rows]
        if self.loss == "squared":
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
        flat = R.reshape(-1, R.shape[-1])
        part = self.Z[rows]
        values = np.asarray((part.T @ flat.T).T if is_sparse(part) else flat @ part)

        return values.reshape(W.shape) + self.penalty * W

    def _predicted(self, S: FloatArray) -> FloatArray:
        if self.loss == "squared":
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
        return np.asarray(s @ (Z.multiply(Z) if is_sparse(Z) else Z**2)).ravel()

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
