"""Problems on a table of data: a linear model of a user's rows, and random rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    FloatArray,
    Refusal,
    WrongType,
    needed,
    one_number,
    overflow_allowed,
    refuse_too_large,
    seed_number,
    whole,
)
from ravine.curvature import Curvature
from ravine.problems.examples import condition_number
from ravine.problems.linear_model import LinearModel
from ravine.problems.losses import Loss, make_loss
from ravine.problems.quadratics import Quadratic, QuadraticSum
from ravine.problems.spectrum import is_sparse


@overflow_allowed
def from_data(
    X: Any,
    y: npt.ArrayLike,
    *,
    loss: str = "squared",
    l2: float = 0.0,
    batch_size: int | None = None,
    shuffle: int | None = None,
) -> LinearModel:
    """A regularised linear model on data, split into mini-batches.

    f is the mean over batches of (1/m) Σ loss(x_rᵀ W, y_r) + l2/2 ‖W‖². It has no intercept: append
    a column of ones to get one.

    Parameters
    ----------
    X
        Data of shape (rows, features): an array, or a scipy sparse matrix, which stays sparse.
    y
        One target for each row: numbers for the squared loss, labels of any type otherwise.
    loss
        One of ``ravine.problems.losses.LOSSES``: "squared" is ½ (z - y)²; "logistic" takes two
        labels; "multinomial" two or more.
    l2
        Weight of the regulariser, zero or more; positive for the logistic losses, which are not
        strongly convex without it.
    batch_size
        Rows per batch, at least 1. Default: all rows.
    shuffle
        Seed of a random order of the rows before they are split. None keeps the given order.

    Returns
    -------
    LinearModel
        Curvature and minimiser are computed on first use: exactly up to a few thousand features,
        beyond that by Lanczos and conjugate gradients, without forming a Hessian.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]
    >>> problem = from_data(X, [1.0, 3.0, 5.0, 7.0], batch_size=2)
    >>> problem.minimiser.round(12).tolist(), problem.terms, problem.interpolates
    ([1.0, 2.0], 2, True)
    """
    table = _table(X)
    rows = table.shape[0]
    target = np.asarray(y)
    if target.shape != (rows,):
        shown = f"an array of shape {target.shape}"
        raise Refusal("y", f"of shape ({rows},)", shown, "one target for each row")

    size = rows if batch_size is None else batch_size
    size = whole("batch_size", size, 1, remedy="e.g. 32", maximum=rows)
    if shuffle is not None:
        order = np.random.default_rng(seed_number("shuffle", shuffle)).permutation(rows)
        table = table[order]
        target = target[order]

    chosen = make_loss(loss, target)
    parameters = {
        "rows": rows,
        "features": table.shape[1],
        "loss": chosen.name,
        "l2": checked_l2(l2, chosen),
        "batch_size": size,
        "shuffle": "none" if shuffle is None else shuffle,
    }
    return LinearModel(
        table, chosen, l2=parameters["l2"], batch_size=size, name="from_data", parameters=parameters
    )


def checked_l2(l2: float, loss: Loss) -> float:
    """The weight of the regulariser; positive if the loss has no minimum without it."""
    weight = one_number("l2", l2, "nonnegative", remedy="give a weight, e.g. l2=1e-3")
    if weight == 0.0 and not loss.quadratic:
        raise Refusal("l2", f"positive for the {loss.name} loss", "0", "add some, e.g. l2=1e-3")

    return weight


def _table(X: Any) -> Any:
    """Return ``X`` as a finite float64 table, CSR if sparse; copied only if necessary."""
    if is_sparse(X):
        table = X.tocsr().astype(np.float64, copy=False)
    else:
        raw = np.asarray(X)
        if raw.dtype.kind not in "fiub":
            shown = f"values of type {raw.dtype}"
            raise WrongType("X", "a table of real numbers", shown, "encode the text")
        if raw.dtype != np.float64 or not raw.flags.c_contiguous:  # then it is copied
            refuse_too_large("X", 8.0 * raw.size, f"the shape {raw.shape}", "take fewer rows")
        table = np.ascontiguousarray(raw, dtype=np.float64)

    if table.ndim != 2 or 0 in table.shape:
        shown = f"an array of shape {table.shape}"
        raise Refusal("X", "a table with rows and columns", shown, "one row for each sample")

    entries = table.tocoo() if is_sparse(X) else None
    bad = ~np.isfinite(table if entries is None else entries.data)
    if bad.any():
        first = np.argwhere(bad)[0]
        row, column = first if entries is None else (entries.row[first[0]], entries.col[first[0]])
        shown = f"{table[row, column]} in row {row}, column {column}"
        raise Refusal("X", "finite", shown, "drop that row, or fill it in")

    return table


@overflow_allowed
def least_squares(
    samples: int = 500,
    features: int = 10,
    *,
    Q: float,
    noise: float = 1.0,
    mu: float = 1.0,
    seed: int = 0,
) -> Quadratic:
    """Random least squares f(x) = ‖A x - b‖² / (2 samples) with condition number exactly Q.

    After Lenard and Minkoff (1984): A = √samples · P D Vᵀ with P and V products of random
    Householder reflections and prescribed singular values D. The Hessian V D² Vᵀ has extreme
    eigenvalues mu and Q mu, the others log-uniform between them.

    Parameters
    ----------
    samples, features
        Shape of A; samples >= features >= 2.
    Q
        Condition number of the Hessian, more than 1.
    noise
        Standard deviation of the residuals b - A x*, zero or more.
    mu
        Smallest eigenvalue of the Hessian, positive.
    seed
        Seed of all random numbers.

    Examples
    --------
    >>> problem = least_squares(Q=8)
    >>> problem.dimension, [round(float(v), 9) for v in problem.eigenvalues[[0, -1]]]
    (10, [1.0, 8.0])
    """
    made = _checked(samples, features, Q, noise, mu, seed)
    rng = np.random.default_rng(made["seed"])
    inner = np.sort(made["Q"] ** rng.uniform(size=made["features"] - 2))
    A = _design(rng, made["samples"], made, inner)
    place = rng.standard_normal(made["features"])
    residual = rng.standard_normal(made["samples"]) * made["noise"]
    # Only the part outside the range of A leaves x* unchanged.
    residual -= A @ np.linalg.lstsq(A, residual)[0]

    return Quadratic(
        A.T @ A / len(A),
        place,
        minimum=float(residual @ residual) / (2 * len(A)),
        curvature=Curvature(made["mu"], made["Q"] * made["mu"]),
        start=np.zeros(len(place)),
        name="least_squares",
        parameters=made,
    )


@overflow_allowed
def partitioned_least_squares(
    samples: int = 25000,
    features: int = 2,
    batches: int = 50,
    *,
    Q: float,
    noise: float = 1.0,
    mu: float = 1.0,
    seed: int = 0,
) -> QuadraticSum:
    """Least squares whose mini-batches each have condition number exactly Q, and the same mu, L.

    Batch b holds m = samples / batches rows A_b = √m · P_b D V_bᵀ with its own random P_b, V_b,
    and targets A_b x_true + noise · N(0, I): f_b(x) = ‖A_b x - b_b‖² / (2 m). Without
    noise (``noise=0``) all batches have the same minimiser.

    Parameters
    ----------
    samples, features, batches
        ``batches`` divides ``samples`` into parts of at least ``features`` rows; features >= 2.
    Q, noise, mu, seed
        As in ``least_squares``; mu and Q mu are the extreme eigenvalues of every batch.

    Examples
    --------
    >>> problem = partitioned_least_squares(Q=16)
    >>> problem.terms, problem.dimension, problem.interpolates
    (50, 2, False)
    """
    made = _checked(samples, features, Q, noise, mu, seed)
    parts = whole("batches", batches, 1, remedy="give a number of mini-batches, e.g. 50")
    columns = made["features"]
    m = made["samples"] // parts
    if m * parts != made["samples"] or m < columns:
        rule = f"a divisor of {made['samples']} that leaves at least {columns} rows in a batch"
        raise Refusal("batches", rule, parts, "choose another number of batches")

    rng = np.random.default_rng(made["seed"])
    truth = rng.standard_normal(columns)
    hessians = np.empty((parts, columns, columns))
    places = np.empty((parts, columns))
    least = np.empty(parts)
    for b in range(parts):
        A = _design(rng, m, made, made["Q"] ** rng.uniform(size=columns - 2))
        residual = made["noise"] * rng.standard_normal(m)
        shift = np.linalg.lstsq(A, residual)[0]
        residual -= A @ shift
        places[b] = truth + shift
        least[b] = residual @ residual / (2 * m)
        hessians[b] = A.T @ A / m

    return QuadraticSum(
        hessians,
        minimisers=places,
        values=least,
        curvature=Curvature(made["mu"], made["Q"] * made["mu"]),
        start=np.zeros(columns),
        name="partitioned_least_squares",
        parameters={**made, "batches": parts},
    )


def _checked(
    samples: int, features: int, Q: float, noise: float, mu: float, seed: int
) -> dict[str, Any]:
    """Check the parameters of random least squares; return them by name."""
    columns = whole("features", features, 2, remedy="give a number of features, e.g. 10")
    rows = whole("samples", samples, columns, remedy="give at least as many samples as features")
    # A, its orthogonal factor, and the copies of the factorisation.
    refuse_too_large("samples", 40 * rows * columns, f"{rows} x {columns}", "take fewer")
    return {
        "samples": rows,
        "features": columns,
        "Q": condition_number(Q),
        "noise": one_number("noise", noise, "nonnegative", remedy="give a size, e.g. 1"),
        "mu": one_number("mu", mu, "positive", remedy="give the smallest curvature, e.g. mu=1"),
        "seed": seed_number("seed", seed),
    }


def _design(
    rng: np.random.Generator, rows: int, made: dict[str, Any], inner: FloatArray
) -> FloatArray:
    """A such that AᵀA / rows has the eigenvalues mu, mu times ``inner``, and Q mu."""
    eigenvalues = made["mu"] * np.concatenate(([1.0], inner, [made["Q"]]))
    columns = len(eigenvalues)
    P = random_orthogonal(rng, rows, columns)
    V = random_orthogonal(rng, columns, columns)
    return np.asarray((P * np.sqrt(rows * eigenvalues)) @ V.T)


@overflow_allowed
def multinomial_logistic(
    samples: int = 100,
    features: int = 10,
    classes: int = 5,
    informative: int = 5,
    *,
    separation: float = 1.0,
    l2: float = 0.01,
    batch_size: int | None = None,
    seed: int = 0,
) -> LinearModel:
    """Multinomial logistic regression on random data, one cluster for each class.

    The data come from scikit-learn's ``make_classification``; features that are not informative
    are noise. f(W) = mean -log softmax(x_rᵀ W)_{y_r} + l2/2 ‖W‖² with W of shape
    (features, classes), starting at zero. ``curvature`` holds everywhere: mu = l2 and
    L = l2 + λ_max(XᵀX / m)/2; ``curvature_along(points)`` gives the curvature along a run.

    Parameters
    ----------
    samples, features, classes, informative
        Shape of the data; informative <= features, and 2^informative >= classes.
    separation
        Distance of the cluster centres, positive.
    l2
        Weight of the regulariser, positive.
    batch_size
        Rows per mini-batch. Default: all rows.
    seed
        Of the data.

    Examples
    --------
    >>> problem = multinomial_logistic(separation=1.0, l2=0.05)
    >>> problem.dimension, problem.terms, float(problem.curvature.mu)
    (50, 1, 0.05)
    """
    made: dict[str, Any] = {
        "samples": whole("samples", samples, 2, remedy="e.g. 100"),
        "features": whole("features", features, 1, remedy="e.g. 10"),
        "classes": whole("classes", classes, 2, remedy="e.g. 5"),
        "informative": whole("informative", informative, 1, remedy="e.g. 5"),
        "separation": one_number("separation", separation, "positive", remedy="e.g. 1"),
    }
    rows, columns, kinds, telling, distance = made.values()
    origin = seed_number("seed", seed)
    if telling > columns or 2**telling < kinds:
        rule = f"at most {columns} and at least log2 of the {kinds} classes"
        raise Refusal("informative", rule, telling, "give each class a corner")

    # Rows, their temporary copies, and the scores of each class.
    refuse_too_large("samples", 40 * rows * (columns + kinds), f"{rows} x {columns}", "take fewer")
    # scikit-learn itself accepts seeds of 32 bits only.
    bits = origin if origin < 2**32 else np.random.MT19937(origin)
    X, y = needed("sklearn.datasets").make_classification(
        n_samples=rows,
        n_features=columns,
        n_informative=telling,
        n_redundant=0,
        n_classes=kinds,
        n_clusters_per_class=1,
        class_sep=distance,
        random_state=np.random.RandomState(bits),
    )

    problem = from_data(X, y, loss="multinomial", l2=l2, batch_size=batch_size)
    problem.name = "multinomial_logistic"
    size = problem.parameters["batch_size"]
    problem.parameters = {**made, "l2": problem.l2, "batch_size": size, "seed": seed}
    # Fails now if the classes are too far apart for this l2: float64 cannot hold the minimiser.
    problem.minimiser  # noqa: B018

    return problem


def random_orthogonal(rng: np.random.Generator, rows: int, columns: int) -> FloatArray:
    """First ``columns`` columns of a Haar-distributed orthogonal matrix of ``rows`` rows.

    The product of ``columns`` Householder reflections whose vectors are Gaussian (Stewart 1980).
    """
    product = np.eye(rows, columns)
    for k in range(columns - 1, -1, -1):
        draw = rng.standard_normal(rows - k)
        sign = 1.0 if draw[0] >= 0 else -1.0
        # The sign of the pivot makes the distribution uniform and avoids cancellation.
        normal = draw.copy()
        normal[0] += sign * np.linalg.norm(draw)
        block = product[k:, k:]
        block -= np.outer(normal, normal @ block) * (2.0 / (normal @ normal))
        block[:, 0] *= -sign

    return product
