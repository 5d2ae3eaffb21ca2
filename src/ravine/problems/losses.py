"""Losses of linear models: values, slopes and curvature in the scores Z = X W."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, WrongType, known_name

SQUARED, LOGISTIC, MULTINOMIAL = range(3)
"""Numbers of the losses with compiled gradients."""

Rows: TypeAlias = slice | npt.NDArray[np.intp]
Targets: TypeAlias = npt.NDArray[Any]
ALL = slice(None)
"""All rows."""


class Loss(ABC):
    """A convex loss of a row's scores z (one for each output) and its target.

    ``rows`` selects the targets of the rows of ``Z``. A row of weight 2 counts as two rows.

    To add a loss, write a class like those below and add it to ``LOSSES``. It then runs everywhere,
    step by step in Python. For compiled sweeps, give it a number as ``kernel_code`` and add its
    slopes to ``ravine.engine.kernels.linear_model_gradient``.
    """

    name: str
    outputs = 1
    quadratic = False
    """Whether its Hessian in z is constant, so that the model is a sum of quadratics."""
    curvature_bound: float
    """The largest possible eigenvalue of its Hessian in z."""
    kernel_code: int | None = None
    """Its number in compiled code, None if it has no compiled gradient."""

    def __init__(self, target: npt.ArrayLike, weights: FloatArray | None = None) -> None:
        self.target = self._checked(target)
        self.weights = weights
        if weights is not None:
            self.kernel_code = None
            self.curvature_bound = self.curvature_bound * float(weights.max())

    def kernel_target(self) -> FloatArray:
        """Targets for compiled code, shape (rows, outputs)."""
        return np.asarray(self.target[:, None])

    def values(self, Z: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Loss of each row, shape (m,)."""
        return self._weighted(self._values(Z, self.target[rows]), rows)

    def slopes(self, Z: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Derivative in z of each row, shape (m, outputs)."""
        return self._weighted(self._slopes(Z, self.target[rows]), rows)

    def hessian_product(self, Z: FloatArray, S: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Hessian in z of each row times the row of ``S``, shape (m, outputs)."""
        return self._weighted(self._curvature(Z, self.target[rows, None]) * S, rows)

    def hessian_column(self, Z: FloatArray, e: int, rows: Rows = ALL) -> FloatArray:
        """Column e of the Hessian in z of each row, shape (m, outputs)."""
        return self.hessian_product(Z, np.broadcast_to(np.eye(self.outputs)[e], Z.shape), rows)

    def _weighted(self, values: FloatArray, rows: Rows) -> FloatArray:
        if self.weights is None:
            return values

        weights = self.weights[rows]
        return np.asarray((weights if values.ndim == 1 else weights[:, None]) * values)

    def _checked(self, target: npt.ArrayLike) -> Targets:
        """Check that there is one numeric target per row."""
        raw = np.asarray(target)
        if raw.dtype.kind not in "fiub":
            raise WrongType("y", "real numbers", f"values of type {raw.dtype}", "pass numbers")

        numbers = raw.astype(np.float64)
        _refuse_rows(numbers, np.isfinite(numbers), "finite", "drop that row, or fill it in")
        return numbers

    @abstractmethod
    def _values(self, Z: FloatArray, y: Targets) -> FloatArray:
        """Loss of each row without its weight."""

    @abstractmethod
    def _slopes(self, Z: FloatArray, y: Targets) -> FloatArray:
        """Slope of each row without its weight."""

    def _curvature(self, z: FloatArray, y: Targets) -> FloatArray:
        """Second derivative in the single score."""
        raise NotImplementedError


class Squared(Loss):
    """½ (z - y)²."""

    name = "squared"
    quadratic = True
    curvature_bound = 1.0
    kernel_code = SQUARED

    def _values(self, Z: FloatArray, y: Targets) -> FloatArray:
        return np.asarray(0.5 * (Z[:, 0] - y) ** 2)

    def _slopes(self, Z: FloatArray, y: Targets) -> FloatArray:
        return Z - y[:, None]

    def _curvature(self, z: FloatArray, y: Targets) -> FloatArray:
        return np.ones(z.shape)


class Logistic(Loss):
    """log(1 + exp(-s z)) with s = -1 for the first label and +1 for the second."""

    name = "logistic"
    # p (1 - p) is at most 1/4.
    curvature_bound = 0.25
    kernel_code = LOGISTIC

    def _checked(self, target: npt.ArrayLike) -> Targets:
        labels, codes = _labels(target)
        if len(labels) != 2:
            shown = f"{len(labels)} distinct labels"
            raise Refusal("y", "two labels for the logistic loss", shown, "use loss='multinomial'")

        return 2.0 * codes - 1.0

    def kernel_target(self) -> FloatArray:
        """The probability of the second label: 0 or 1."""
        return np.asarray(self.target[:, None] > 0.0, dtype=np.float64)

    def _values(self, Z: FloatArray, y: Targets) -> FloatArray:
        return np.asarray(np.logaddexp(0.0, -y * Z[:, 0]))

    def _slopes(self, Z: FloatArray, y: Targets) -> FloatArray:
        sign = y[:, None]
        return np.asarray(-sign * _sigmoid(-sign * Z))

    def _curvature(self, z: FloatArray, y: Targets) -> FloatArray:
        return np.asarray(_sigmoid(z) * _sigmoid(-z))


class Multinomial(Loss):
    """-log softmax(z)_y over all classes, without a reference class."""

    name = "multinomial"
    # diag(p) - p pᵀ has row sums of absolute values 2 p (1 - p), at most 1/2.
    curvature_bound = 0.5
    kernel_code = MULTINOMIAL

    def _checked(self, target: npt.ArrayLike) -> Targets:
        labels, codes = _labels(target)
        if len(labels) < 2:
            shown = f"only {labels[0]!r}"
            raise Refusal("y", "at least two labels", shown, "give labels of two classes")

        self.outputs = len(labels)
        return codes

    def kernel_target(self) -> FloatArray:
        """The probability of each label: 1 for the row's own, else 0."""
        return np.eye(self.outputs)[self.target]

    def _values(self, Z: FloatArray, y: Targets) -> FloatArray:
        _, total, top = _exponentials(Z)
        return np.asarray(np.log(total) + top - Z[np.arange(len(Z)), y])

    def _slopes(self, Z: FloatArray, y: Targets) -> FloatArray:
        P = _softmax(Z)
        P[np.arange(len(Z)), y] -= 1.0
        return P

    def hessian_product(self, Z: FloatArray, S: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Hessian in z of each row times the row of ``S``, shape (m, outputs)."""
        P = _softmax(Z)
        return self._weighted(P * (S - (P * S).sum(axis=1, keepdims=True)), rows)


class Poisson(Loss):
    """exp(z) - y z for a count y: the loss of a Poisson law with mean exp(z), up to a constant."""

    name = "poisson"
    # exp(z) is unbounded: no guarantee holds everywhere.
    curvature_bound = float("inf")

    def _checked(self, target: npt.ArrayLike) -> Targets:
        counts = super()._checked(target)
        rule = "zero or more for the poisson loss"
        _refuse_rows(counts, counts >= 0.0, rule, "use loss='squared'")
        return counts

    def _values(self, Z: FloatArray, y: Targets) -> FloatArray:
        return np.asarray(np.exp(Z[:, 0]) - y * Z[:, 0])

    def _slopes(self, Z: FloatArray, y: Targets) -> FloatArray:
        return np.asarray(np.exp(Z) - y[:, None])

    def _curvature(self, z: FloatArray, y: Targets) -> FloatArray:
        return np.asarray(np.exp(z))


class Huber(Loss):
    """½ r² for a residual r = z - y up to 1, |r| - ½ beyond: outliers have bounded gradients.

    The change is at one unit of the target: scale the target so that typical residuals are smaller.
    """

    name = "huber"
    curvature_bound = 1.0

    def _values(self, Z: FloatArray, y: Targets) -> FloatArray:
        size = np.abs(Z[:, 0] - y)
        return np.where(size <= 1.0, 0.5 * size**2, size - 0.5)

    def _slopes(self, Z: FloatArray, y: Targets) -> FloatArray:
        return np.clip(Z - y[:, None], -1.0, 1.0)

    def _curvature(self, z: FloatArray, y: Targets) -> FloatArray:
        return np.asarray(np.abs(z - y) <= 1.0, dtype=np.float64)


LOSSES: dict[str, type[Loss]] = {
    kind.name: kind for kind in (Squared, Logistic, Multinomial, Poisson, Huber)
}
"""All losses by name."""


def make_loss(name: str, target: npt.ArrayLike, weights: FloatArray | None = None) -> Loss:
    """Return the loss ``name`` with its target."""
    return LOSSES[known_name("loss", name, LOSSES)](target, weights)


def _labels(target: npt.ArrayLike) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.intp]]:
    raw = np.asarray(target)
    if raw.dtype.kind == "f":
        _refuse_rows(raw, np.isfinite(raw), "finite", "drop that row")

    try:
        labels, codes = np.unique(raw, return_inverse=True)
    except TypeError:
        given = f"mixed types, {raw.dtype}"
        raise WrongType("y", "labels of one type", given, "convert them first") from None

    return labels, codes.astype(np.intp)


def _refuse_rows(target: FloatArray, good: npt.NDArray[np.bool_], rule: str, remedy: str) -> None:
    """Refuse a target with an invalid row, and name the first such row."""
    if not good.all():
        row = int(np.argmin(good))
        raise Refusal("y", rule, f"{target[row]:g} in row {row}", remedy)


def _sigmoid(z: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * z)))


def _softmax(Z: FloatArray) -> FloatArray:
    E, total, _ = _exponentials(Z)
    E /= total[:, None]
    return E


def _exponentials(Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """e^(z - top) of each row, their sum, and the row's largest score, the top.

    Works column by column, and sums by a product with ones: NumPy's own reductions take four times
    as long on an axis of a few classes.
    """
    top = Z[:, 0].copy()
    for k in range(1, Z.shape[1]):
        np.maximum(top, Z[:, k], out=top)

    E = Z - top[:, None]
    np.exp(E, out=E)
    return E, E @ np.ones(Z.shape[1]), top
