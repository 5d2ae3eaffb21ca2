"""Estimators with scikit-learn's interface."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel
from sklearn.preprocessing import label_binarize
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from ravine.arguments import FloatArray, Refusal
from ravine.sklearn.training import (
    LARGEST_BLOCK,
    Objective,
    mini_batches,
    second_moments,
    step_limits,
    train,
)

_BATCH = 32
"""Smallest default batch."""


class _Trained(BaseEstimator):  # type: ignore[misc]
    """Code shared by regression and classification: check, standardise, train."""

    _seen = 0.0
    _sums: tuple[FloatArray, FloatArray]

    def __init__(
        self,
        *,
        alpha: float = 1e-4,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        batch_size: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True

        return tags

    def _checked(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> tuple[Any, ...]:
        """Check the arguments of a fit, and return them as arrays."""
        for name, least in (("alpha", 0), ("tol", 0), ("max_iter", 1), ("batch_size", 1)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise Refusal(name, f"at least {least}", value, "give a larger one")

        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, reset=reset)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        # Of a sparse matrix, unlike an array, a power is a product of matrices.
        return sparse.csr_array(X) if sparse.issparse(X) else X, y, weights

    def _train(self, X: Any, Y: FloatArray, weights: FloatArray, loss: str) -> FloatArray:
        """Train on standardised columns; returns the weights of the original columns."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        order = rng.permutation(np.flatnonzero(weights))
        X, s = X[order], weights[order] / weights.sum()
        moments = _moments(X, s, self.fit_intercept)
        Z, penalty = self._standardised(X, *moments)
        training = train(
            Objective(Z, Y[:, order], s, penalty, loss), tol=self.tol, max_iter=self.max_iter,
            batch_size=self._batch_size(X), rng=rng,
        )  # fmt: skip

        self.lr_, self.momentum_ = training.lr, training.momentum
        self.loss_curve_ = training.curve
        self.n_iter_ = max(1, len(training.curve))
        # A later partial_fit restarts its running moments.
        self._seen = 0.0

        if not training.converged:
            what = f"the excess loss is {training.excess:.3g} after {self.n_iter_} passes"
            warnings.warn(f"{what}: raise max_iter or tol", ConvergenceWarning, stacklevel=3)

        return _original(training.W, *moments)

    def _train_more(self, X: Any, Y: FloatArray, weights: FloatArray, loss: str) -> FloatArray:
        """One pass over more rows, with the curvature of all rows so far."""
        s = weights / weights.sum()
        before, self._seen = self._seen, self._seen + X.shape[0]
        share = X.shape[0] / self._seen
        wide = X.shape[1] > LARGEST_BLOCK
        new = (np.asarray(s @ X), second_moments(X, s, diagonal=wide))
        old = self._sums if before else new
        first, second = ((1.0 - share) * a + share * b for a, b in zip(old, new, strict=True))
        self._sums = first, second
        mean, scale, gram = _running(first, second, self.fit_intercept, sparse.issparse(X))

        Z, penalty = self._standardised(X, mean, scale)
        objective = Objective(Z, Y, s, penalty, loss)
        # Add some curvature to directions with few rows so far.
        some = Z.shape[1] / self._seen
        P = objective.preconditioner(gram=gram + (some if wide else some * np.eye(len(gram))))
        size = min(X.shape[0], self._batch_size(X))
        limit = step_limits(objective, np.array([float(size)]), np.zeros(1))
        # Each batch counts by its share of all rows so far.
        self.lr_ = min(0.5 * float(limit[0, 0]), 2.0 * size / self._seen)
        self.momentum_ = 0.0
        coef = np.atleast_2d(getattr(self, "coef_", np.zeros((len(Y), X.shape[1]))))
        start = coef * scale

        if self.fit_intercept:
            intercept = getattr(self, "intercept_", np.zeros(len(Y)))
            start = np.hstack([start, intercept[:, None] + coef @ mean[:, None]])

        lr, order = np.array([self.lr_]), np.arange(X.shape[0] // size)
        W = mini_batches(objective, P, start[None], lr, np.zeros(1), size, order, falling=False)[0]
        value = float(objective.value(W, objective.scores(W)))
        self.loss_curve_ = [*getattr(self, "loss_curve_", []), value]
        self.n_iter_ = len(self.loss_curve_)

        return _original(W, mean, scale)

    def _batch_size(self, X: Any) -> int:
        return self.batch_size or max(_BATCH, X.shape[1] // 2)

    def _standardised(self, X: Any, mean: FloatArray, scale: FloatArray) -> tuple[Any, FloatArray]:
        """Scale columns to mean 0 and variance 1, add a column of ones, and set the penalties.

        Sparse columns keep their mean: the intercept compensates for it.
        """
        columns = X.shape[1]
        penalty = np.full(columns + bool(self.fit_intercept), float(self.alpha))
        penalty[columns:] = 0.0

        if sparse.issparse(X):
            ones = np.ones((X.shape[0], len(penalty) - columns))
            Z = sparse.hstack([X @ sparse.diags_array(1.0 / scale), sparse.csr_array(ones)])
            return sparse.csr_array(Z), penalty

        Z = np.ones((X.shape[0], len(penalty)))
        Z[:, :columns] = (X - mean) / scale
        return Z, penalty


def _moments(X: Any, s: FloatArray, centred: bool) -> tuple[FloatArray, FloatArray]:
    """The offset and the scale of each column."""
    mean = np.asarray(s @ X) if centred else np.zeros(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        variance = s @ X**2 - mean**2 if sparse.issparse(X) else s @ (X - mean) ** 2

    if not np.isfinite(variance).all():
        column = int(np.flatnonzero(~np.isfinite(variance))[0])
        raise Refusal("X", "below 1e150", f"larger values in column {column}", "rescale it")

    scale = _scale(np.sqrt(np.maximum(variance, 0.0)), np.abs(mean))
    return (np.zeros_like(mean) if sparse.issparse(X) else mean), scale


def _scale(deviation: FloatArray, size: FloatArray) -> FloatArray:
    """Scales of the columns: the standard deviation, or the size of a constant column."""
    # The standard deviation of a constant column is a rounding error.
    constant = deviation <= 1e-12 * size
    return np.where(constant, np.where(size > 0.0, size, 1.0), deviation)


def _running(
    mean: FloatArray, second: FloatArray, centred: bool, is_sparse: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shift and scale of the columns, and their curvature once standardised.

    ``second`` are second moments, or their diagonal.
    """
    whole = second.ndim == 2
    squares = np.diag(second) if whole else second
    deviation = np.sqrt(np.maximum(squares - mean**2 * centred, 0.0))
    scale = _scale(deviation, np.sqrt(squares))
    shift = np.zeros_like(mean) if is_sparse or not centred else mean

    # E[(x - shift)(x - shift)ᵀ], with a shift of zero or the mean, and beside it E[x - shift] for
    # the column of ones.
    outer = np.outer if whole else np.multiply
    gram = (second - outer(shift, mean)) / outer(scale, scale)

    if centred and whole:
        cross = ((mean - shift) / scale)[:, None]
        gram = np.block([[gram, cross], [cross.T, np.ones((1, 1))]])
    elif centred:
        gram = np.append(gram, 1.0)

    return shift, scale, gram


def _original(W: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Weights of the original columns, the intercept last."""
    coef = W[:, : len(scale)] / scale
    intercept = W[:, len(scale) :].sum(axis=1, keepdims=True)

    return np.hstack([coef, intercept - coef @ mean[:, None]])


class SGDRegressor(RegressorMixin, _Trained, LinearModel):  # type: ignore[misc]
    """Linear regression with l2 penalty, by mini-batch SGD that needs no learning rate.

    Minimises mean((y - X w - b)^2) / 2 + alpha |w|^2 / 2 for columns of variance 1.

    Parameters
    ----------
    alpha
        Weight of the l2 penalty, zero or more.
    fit_intercept
        Whether the model has an intercept.
    tol
        The fit stops when the excess loss is below ``tol`` times the loss.
    max_iter
        Maximum number of passes over the data.
    batch_size
        Rows of the smallest batches. Default: 32, or half the number of columns if that is larger.
    random_state
        Seed of the order of the rows.

    Attributes
    ----------
    coef_, intercept_
        Weights of the original columns.
    lr_, momentum_
        Step size (in preconditioned coordinates) and momentum that won the race.
    n_iter_, loss_curve_
        Passes over the data, and the objective after each.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(10, 2) ** 2
    >>> model = SGDRegressor(alpha=0.0).fit(X, X @ [3.0, -1.0] + 2.0)
    >>> model.coef_.round(6).tolist(), round(float(model.intercept_[0]), 6)
    ([3.0, -1.0], 2.0)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from the beginning."""
        X, y, weights = self._checked(X, y, sample_weight, reset=True)
        s = weights / weights.sum()
        y = np.asarray(y, dtype=np.float64)
        # Scaling the target to size 1 keeps the numbers in range; the minimiser scales with it.
        middle = float(s @ y) if self.fit_intercept else 0.0
        size = float(np.sqrt(s @ (y - middle) ** 2)) or 1.0
        W = size * self._train(X, (y - middle)[None, :] / size, weights, "squared")
        self.loss_curve_ = [size**2 * value for value in self.loss_curve_]
        self.coef_, self.intercept_ = W[0, :-1], W[0, -1:] + middle

        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on more rows, in one pass."""
        X, y, weights = self._checked(X, y, sample_weight, reset=not hasattr(self, "coef_"))
        W = self._train_more(X, np.asarray(y, dtype=np.float64)[None, :], weights, "squared")
        self.coef_, self.intercept_ = W[0, :-1], W[0, -1:]

        return self


class SGDClassifier(LinearClassifierMixin, _Trained):  # type: ignore[misc]
    """Logistic regression with l2 penalty, by mini-batch SGD that needs no learning rate.

    Minimises the mean log loss, multinomial for three classes or more, plus alpha |w|^2 / 2 for
    columns of variance 1. Parameters and attributes are those of :class:`SGDRegressor`, and
    ``classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> SGDClassifier().fit(X, ["no", "no", "yes", "yes"]).predict([[0.4], [2.9]]).tolist()
    ['no', 'yes']
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from the beginning."""
        X, y, weights = self._checked(X, y, sample_weight, reset=True)
        check_classification_targets(y)
        self.classes_ = _two_or_more("y", y[weights > 0], "give rows of another class")
        W = self._train(X, self._indicators(y), weights, self._loss)
        self.coef_, self.intercept_ = W[:, :-1], W[:, -1]

        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train on more rows, in one pass; the first call needs all ``classes``."""
        fresh = not hasattr(self, "classes_")
        if fresh and classes is None:
            raise Refusal("classes", "given in the first call", None, "list all classes")

        X, y, weights = self._checked(X, y, sample_weight, reset=fresh)
        if fresh:
            self.classes_ = _two_or_more("classes", classes, "list all classes")

        W = self._train_more(X, self._indicators(y), weights, self._loss)
        self.coef_, self.intercept_ = W[:, :-1], W[:, -1]

        return self

    @property
    def _loss(self) -> str:
        return "logistic" if len(self.classes_) == 2 else "multinomial"

    def _indicators(self, y: Any) -> FloatArray:
        """Ones in the output of each row's class."""
        return np.asarray(label_binarize(y, classes=self.classes_).T, dtype=np.float64)

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class."""
        scores = self.decision_function(X)
        # With two classes, the score of the first is zero.
        S = scores if scores.ndim == 2 else np.stack([0.0 * scores, scores], axis=1)
        return np.asarray(softmax(S, axis=1))


def _two_or_more(name: str, labels: Any, remedy: str) -> Any:
    """The distinct labels, in order."""
    different = np.unique(labels)
    if len(different) < 2:
        what = f"one class, {different[0]!r}" if len(different) else "no class"
        raise Refusal(name, "of two classes or more", what, remedy)

    return different
