"""The losses of linear models: values, slopes and curvature in the scores Z = X W."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, WrongType

SQUARED, LOGISTIC, MULTINOMIAL = range(3)
"""The numbers by which compiled code knows the losses that it has gradients of."""

ALL = slice(None)
"""All rows."""


class Loss(Protocol):
    """A convex loss of a row's scores z (one for each output) and its target.

    ``rows`` are those of the targets that belong to the rows of ``Z``.

    To add one, write a class like those below and enter it in ``LOSSES``. It then runs everywhere,
    step by step in Python. For compiled sweeps give it a number as ``kernel_code``, and teach
    ``ravine.engine.kernels.linear_model_gradient`` its slopes.
    """

    name: str
    outputs: int
    quadratic: bool
    """Whether its Hessian in z is the same everywhere: then the model is a sum of quadratics."""
    curvature_bound: float
    """The largest eigenvalue that its Hessian in z can have."""
    kernel_code: int | None
    """Its number in compiled code, None where it has no compiled gradient."""

    def __init__(self, target: npt.ArrayLike) -> None:
        """Take one target a row, or refuse them."""

    def kernel_target(self) -> FloatArray:
        """What compiled code compares the scores with, shape (rows, outputs)."""

    def values(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Loss of each row, shape (m,)."""

    def slopes(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Derivative in z of each row, shape (m, outputs)."""

    def curve(self, Z: FloatArray, S: FloatArray, rows: slice = ALL) -> FloatArray:
        """Hessian in z of each row times the row of ``S``, shape (m, outputs)."""

    def pair(self, Z: FloatArray, c: int, e: int, rows: slice = ALL) -> FloatArray:
        """Entry (c, e) of the Hessian in z of each row, shape (m,)."""


class Squared:
    """½ (z - y)²."""

    name = "squared"
    outputs = 1
    quadratic = True
    curvature_bound = 1.0
    kernel_code: int | None = SQUARED

    def __init__(self, target: npt.ArrayLike) -> None:
        raw = np.asarray(target)
        if raw.dtype.kind not in "fiub":
            raise WrongType("y", "real numbers", f"values of type {raw.dtype}", "pass numbers")

        self.target = raw.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(self.target))
        if bad.size:
            shown = f"{self.target[bad[0]]} in row {bad[0]}"
            raise Refusal("y", "finite", shown, "drop that row, or fill it in")

    def kernel_target(self) -> FloatArray:
        """The numbers to be met."""
        return self.target[:, None]

    def values(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Loss of each row."""
        return np.asarray(0.5 * (Z[:, 0] - self.target[rows]) ** 2)

    def slopes(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Derivative in z of each row."""
        return Z - self.target[rows, None]

    def curve(self, Z: FloatArray, S: FloatArray, rows: slice = ALL) -> FloatArray:
        """Hessian in z of each row times the row of ``S``."""
        return S

    def pair(self, Z: FloatArray, c: int, e: int, rows: slice = ALL) -> FloatArray:
        """Entry (c, e) of the Hessian in z of each row."""
        return np.ones(len(Z))


class Logistic:
    """log(1 + exp(-s z)) with s = -1 for the first label and +1 for the second."""

    name = "logistic"
    outputs = 1
    quadratic = False
    # p (1 - p) is at most 1/4.
    curvature_bound = 0.25
    kernel_code: int | None = LOGISTIC

    def __init__(self, target: npt.ArrayLike) -> None:
        labels, codes = _labels(target)
        if len(labels) != 2:
            shown = f"{len(labels)} distinct labels"
            raise Refusal("y", "two labels for the logistic loss", shown, "use loss='multinomial'")

        self.sign = 2.0 * codes - 1.0

    def kernel_target(self) -> FloatArray:
        """The probability of the second label: 0 or 1."""
        return np.asarray(self.sign[:, None] > 0.0, dtype=np.float64)

    def values(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Loss of each row."""
        return np.asarray(np.logaddexp(0.0, -self.sign[rows] * Z[:, 0]))

    def slopes(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Derivative in z of each row."""
        sign = self.sign[rows, None]
        return np.asarray(-sign * _sigmoid(-sign * Z))

    def curve(self, Z: FloatArray, S: FloatArray, rows: slice = ALL) -> FloatArray:
        """Hessian in z of each row times the row of ``S``."""
        return np.asarray(_sigmoid(Z) * _sigmoid(-Z) * S)

    def pair(self, Z: FloatArray, c: int, e: int, rows: slice = ALL) -> FloatArray:
        """Entry (c, e) of the Hessian in z of each row."""
        return np.asarray(_sigmoid(Z[:, 0]) * _sigmoid(-Z[:, 0]))


class Multinomial:
    """-log softmax(z)_y over all classes, without a reference class."""

    name = "multinomial"
    quadratic = False
    # diag(p) - p pᵀ has row sums of absolute values 2 p (1 - p), at most 1/2.
    curvature_bound = 0.5
    kernel_code: int | None = MULTINOMIAL

    def __init__(self, target: npt.ArrayLike) -> None:
        labels, self.codes = _labels(target)
        if len(labels) < 2:
            raise Refusal(
                "y", "at least two labels", f"only {labels[0]!r}", "nothing to tell apart"
            )

        self.outputs = len(labels)

    def kernel_target(self) -> FloatArray:
        """The probability of each label: 1 for the row's own, else 0."""
        return np.eye(self.outputs)[self.codes]

    def values(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Loss of each row."""
        _, total, top = _exponentials(Z)
        return np.asarray(np.log(total) + top - Z[np.arange(len(Z)), self.codes[rows]])

    def slopes(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Derivative in z of each row."""
        P = _softmax(Z)
        P[np.arange(len(Z)), self.codes[rows]] -= 1.0
        return P

    def curve(self, Z: FloatArray, S: FloatArray, rows: slice = ALL) -> FloatArray:
        """Hessian in z of each row times the row of ``S``."""
        P = _softmax(Z)
        return np.asarray(P * (S - (P * S).sum(axis=1, keepdims=True)))

    def pair(self, Z: FloatArray, c: int, e: int, rows: slice = ALL) -> FloatArray:
        """Entry (c, e) of the Hessian in z of each row."""
        P = _softmax(Z)
        return np.asarray(P[:, c] * (float(c == e) - P[:, e]))


class Poisson:
    """exp(z) - y z of a count y: what a Poisson law of mean exp(z) loses, up to a constant."""

    name = "poisson"
    outputs = 1
    quadratic = False
    # exp(z) has no bound: nothing is certain everywhere.
    curvature_bound = float("inf")
    kernel_code: int | None = None

    def __init__(self, target: npt.ArrayLike) -> None:
        self.target = Squared(target).target
        if (self.target < 0.0).any():
            row = int(np.flatnonzero(self.target < 0.0)[0])
            given = f"{self.target[row]:g} in row {row}"
            raise Refusal("y", "zero or more for the poisson loss", given, "use loss='squared'")

    def kernel_target(self) -> FloatArray:
        """The counts to be met."""
        return self.target[:, None]

    def values(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Loss of each row."""
        return np.asarray(np.exp(Z[:, 0]) - self.target[rows] * Z[:, 0])

    def slopes(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Derivative in z of each row."""
        return np.asarray(np.exp(Z) - self.target[rows, None])

    def curve(self, Z: FloatArray, S: FloatArray, rows: slice = ALL) -> FloatArray:
        """Hessian in z of each row times the row of ``S``."""
        return np.asarray(np.exp(Z) * S)

    def pair(self, Z: FloatArray, c: int, e: int, rows: slice = ALL) -> FloatArray:
        """Entry (c, e) of the Hessian in z of each row."""
        return np.asarray(np.exp(Z[:, 0]))


class Huber:
    """½ r² of a residual r = z - y up to 1, |r| - ½ beyond: the gradient of an outlier is bounded.

    The corner is at one unit of the target: scale the target so that usual residuals are smaller.
    """

    name = "huber"
    outputs = 1
    quadratic = False
    curvature_bound = 1.0
    kernel_code: int | None = None

    def __init__(self, target: npt.ArrayLike) -> None:
        self.target = Squared(target).target

    def kernel_target(self) -> FloatArray:
        """The numbers to be met."""
        return self.target[:, None]

    def values(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Loss of each row."""
        size = np.abs(Z[:, 0] - self.target[rows])
        return np.where(size <= 1.0, 0.5 * size**2, size - 0.5)

    def slopes(self, Z: FloatArray, rows: slice) -> FloatArray:
        """Derivative in z of each row."""
        return np.clip(Z - self.target[rows, None], -1.0, 1.0)

    def curve(self, Z: FloatArray, S: FloatArray, rows: slice = ALL) -> FloatArray:
        """Hessian in z of each row times the row of ``S``."""
        return np.asarray((np.abs(Z - self.target[rows, None]) <= 1.0) * S)

    def pair(self, Z: FloatArray, c: int, e: int, rows: slice = ALL) -> FloatArray:
        """Entry (c, e) of the Hessian in z of each row."""
        return np.asarray(np.abs(Z[:, 0] - self.target[rows]) <= 1.0, dtype=np.float64)


LOSSES: dict[str, type[Loss]] = {
    kind.name: kind for kind in (Squared, Logistic, Multinomial, Poisson, Huber)
}
"""All losses by name."""


def make_loss(name: str, target: npt.ArrayLike) -> Loss:
    """The loss called ``name``, with its target."""
    if name not in LOSSES:
        raise Refusal("loss", f"one of {', '.join(LOSSES)}", repr(name), "pick one")

    return LOSSES[name](target)


def _labels(target: npt.ArrayLike) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.intp]]:
    raw = np.asarray(target)
    if raw.dtype.kind == "f" and not np.isfinite(raw).all():
        row = int(np.flatnonzero(~np.isfinite(raw))[0])
        raise Refusal("y", "finite", f"{raw[row]} in row {row}", "drop that row")

    try:
        labels, codes = np.unique(raw, return_inverse=True)
    except TypeError:
        raise WrongType(
            "y", "labels of one type", f"mixed types, {raw.dtype}", "convert them first"
        ) from None

    return labels, codes.astype(np.intp)


def _sigmoid(z: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * z)))


def _softmax(Z: FloatArray) -> FloatArray:
    E, total, _ = _exponentials(Z)
    E /= total[:, None]
    return E


def _exponentials(Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The e^(z - top) of each row, their sum, and its largest score, the top.

    Column by column and as a product with ones: a few classes are too short an axis for NumPy's own
    reductions, which take four times as long.
    """
    top = Z[:, 0].copy()
    for k in range(1, Z.shape[1]):
        np.maximum(top, Z[:, k], out=top)

    E = Z - top[:, None]
    np.exp(E, out=E)
    return E, E @ np.ones(Z.shape[1]), top
