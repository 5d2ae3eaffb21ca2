"""Random least squares with a prescribed condition number, whole or in mini-batches."""

from __future__ import annotations

import numpy as np

from ravine.arguments import (
    FloatArray,
    Refusal,
    one_number,
    overflow_allowed,
    refuse_too_large,
    seed_number,
    whole,
)
from ravine.curvature import Curvature
from ravine.problems.orthogonal import random_orthogonal
from ravine.problems.quadratic import Quadratic
from ravine.problems.quadratic_sum import QuadraticSum
from ravine.problems.worst_case import condition_number


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
        Everything random follows from it.

    Examples
    --------
    >>> problem = least_squares(Q=8)
    >>> problem.dimension, [round(float(v), 9) for v in problem.eigenvalues[[0, -1]]]
    (10, [1.0, 8.0])
    """
    ratio = condition_number(Q)
    rows, columns = _shape(samples, features)
    low, spread = _scales(mu, noise)
    rng = _generator(seed)
    eigenvalues = np.concatenate(([1.0], np.sort(ratio ** rng.uniform(size=columns - 2)), [ratio]))
    A = _design(rng, rows, low * eigenvalues)
    place = rng.standard_normal(columns)
    residual = rng.standard_normal(rows) * spread
    # Only the part outside the range of A leaves x* where it is.
    residual -= A @ np.linalg.lstsq(A, residual)[0]

    return Quadratic(
        A.T @ A / rows,
        place,
        minimum=float(residual @ residual) / (2 * rows),
        curvature=Curvature(low, ratio * low),
        start=np.zeros(columns),
        name="least_squares",
        parameters={
            "samples": rows,
            "features": columns,
            "Q": ratio,
            "noise": spread,
            "mu": low,
            "seed": seed,
        },
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
    and targets A_b x_true + noise · N(0, I): f_b(x) = ‖A_b x - b_b‖² / (2 m). The batches
    agree on the truth but for the noise; ``noise=0`` makes them interpolate.

    Parameters
    ----------
    samples, features, batches
        ``batches`` divides ``samples`` into parts of at least ``features`` >= 2 rows.
    Q, noise, mu, seed
        As in ``least_squares``; mu and Q mu are the extreme eigenvalues of every batch.

    Examples
    --------
    >>> problem = partitioned_least_squares(Q=16)
    >>> problem.terms, problem.dimension, problem.interpolates
    (50, 2, False)
    """
    ratio = condition_number(Q)
    rows, columns = _shape(samples, features)
    parts = whole("batches", batches, 1, remedy="give a number of mini-batches, e.g. 50")
    m = rows // parts
    if m * parts != rows or m < columns:
        rule = f"a divisor of {rows} that leaves at least {columns} rows a batch"
        raise Refusal("batches", rule, parts, "choose another number of batches")

    low, spread = _scales(mu, noise)
    rng = _generator(seed)
    truth = rng.standard_normal(columns)
    hessians = []
    places = []
    floors = []
    for _ in range(parts):
        eigenvalues = np.concatenate(([1.0], ratio ** rng.uniform(size=columns - 2), [ratio]))
        A = _design(rng, m, low * eigenvalues)
        residual = spread * rng.standard_normal(m)
        shift = np.linalg.lstsq(A, residual)[0]
        places.append(truth + shift)
        residual -= A @ shift
        floors.append(float(residual @ residual) / (2 * m))
        hessians.append(A.T @ A / m)

    return _sum_with_floors(
        np.stack(hessians),
        np.stack(places),
        np.asarray(floors),
        Curvature(low, ratio * low),
        {
            "samples": rows,
            "features": columns,
            "batches": parts,
            "Q": ratio,
            "noise": spread,
            "mu": low,
            "seed": seed,
        },
    )


def _sum_with_floors(
    hessians: FloatArray,
    places: FloatArray,
    floors: FloatArray,
    curvature: Curvature,
    parameters: dict[str, object],
) -> QuadraticSum:
    linear = np.einsum("nij,nj->ni", hessians, places)
    agreed = bool((places == places[0]).all())
    minimiser = places[0] if agreed else np.linalg.solve(hessians.mean(axis=0), linear.mean(axis=0))
    away = minimiser - places
    gradients = np.einsum("nij,nj->ni", hessians, away)
    gradients -= gradients.mean(axis=0)

    return QuadraticSum(
        hessians,
        minimiser=minimiser,
        gradients=gradients,
        values=0.5 * np.einsum("ni,ni->n", gradients, away) + floors,
        curvature=curvature,
        start=np.zeros(len(minimiser)),
        name="partitioned_least_squares",
        parameters=parameters,
    )


def _design(rng: np.random.Generator, rows: int, eigenvalues: FloatArray) -> FloatArray:
    columns = len(eigenvalues)
    P = random_orthogonal(rng, rows, columns)
    V = random_orthogonal(rng, columns, columns)
    return np.asarray((P * np.sqrt(rows * eigenvalues)) @ V.T)


def _shape(samples: int, features: int) -> tuple[int, int]:
    columns = whole("features", features, 2, remedy="give a number of features, e.g. 10")
    rows = whole("samples", samples, columns, remedy="give at least as many samples as features")
    # A, its orthogonal factor and the copies that the factorisation makes.
    refuse_too_large("samples", 40 * rows * columns, f"{rows} x {columns}", "take fewer")
    return rows, columns


def _scales(mu: float, noise: float) -> tuple[float, float]:
    low = one_number("mu", mu, "positive", remedy="give the smallest curvature, e.g. mu=1")
    spread = one_number("noise", noise, "nonnegative", remedy="give a standard deviation, e.g. 1")
    return low, spread


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed_number("seed", seed))
