"""Any loss with a weight for each row."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.problems.losses import ALL, Loss


class WeightedLoss:
    """w_r loss(z_r, y_r): a row of weight 2 counts as two rows do.

    Parameters
    ----------
    loss
        The loss with its target.
    weights
        w_r of each row, zero or more, shape (rows,).

    Examples
    --------
    >>> from ravine.problems.losses import Squared
    >>> WeightedLoss(Squared([1.0, 3.0]), np.array([1.0, 2.0])).values(np.zeros((2, 1)))
    array([0.5, 9. ])
    """

    kernel_code: int | None = None

    def __init__(self, loss: Loss, weights: FloatArray) -> None:
        self.plain = loss
        self.weights = weights
        self.name = loss.name
        self.outputs = loss.outputs
        self.quadratic = loss.quadratic
        self.curvature_bound = loss.curvature_bound * float(weights.max())

    def kernel_target(self) -> FloatArray:
        """What the plain loss compares the scores with."""
        return self.plain.kernel_target()

    def values(self, Z: FloatArray, rows: slice = ALL) -> FloatArray:
        """Loss of each row."""
        return np.asarray(self.weights[rows] * self.plain.values(Z, rows))

    def slopes(self, Z: FloatArray, rows: slice = ALL) -> FloatArray:
        """Derivative in z of each row."""
        return np.asarray(self.weights[rows, None] * self.plain.slopes(Z, rows))

    def curve(self, Z: FloatArray, S: FloatArray, rows: slice = ALL) -> FloatArray:
        """Hessian in z of each row times the row of ``S``."""
        return np.asarray(self.weights[rows, None] * self.plain.curve(Z, S, rows))

    def pair(self, Z: FloatArray, c: int, e: int, rows: slice = ALL) -> FloatArray:
        """Entry (c, e) of the Hessian in z of each row."""
        return np.asarray(self.weights[rows] * self.plain.pair(Z, c, e, rows))
