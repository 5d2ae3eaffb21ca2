"""Curvature of the whole objective and of every mini-batch, at the minimiser and everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal
from ravine.curvature import Curvature
from ravine.diagnosis.measurement import hessian_products
from ravine.problems import LinearModel
from ravine.problems.extreme_eigenvalues import DENSE_LIMIT, extreme_eigenvalues, is_sparse
from ravine.theory.finite_sums.known_sum import KnownSum
from ravine.theory.finite_sums.second_moments import SecondMoments

MOMENT_DIRECTIONS = 128
"""Up to this many coordinates second moments are followed in full."""

_TERM_BYTES = 2**27
_EVERY_WORK, _SAMPLE_WORK, _LEAST_SAMPLE = 1.5e8, 5e7, 96
_PROJECTED_TOP, _PROJECTED_LOW, _PROJECTED_BATCHES = 40, 8, 12
_HEAVY_SHARE = 4
_LANCZOS_LOW, _LANCZOS_TOP = 6000, 12
_MARGIN = 1e-9


class ShuffledRows:
    """Rows of an array in another order, gathered as they are read: no copy of the data."""

    def __init__(self, X: FloatArray, order: npt.NDArray[np.intp]) -> None:
        self.rows, self.order, self.shape = X, order, X.shape

    def __getitem__(self, rows: slice) -> FloatArray:
        return np.asarray(self.rows[self.order[rows]])


@dataclass(frozen=True, eq=False)
class Survey:
    """What the batches of a linear model look like at its minimiser.

    Attributes
    ----------
    problem
        The model on the data, cut into batches.
    spectrum
        Eigenvalues of the whole Hessian at x*, ascending: all of them up to a few thousand
        coordinates, beyond that the least bound and the largest ones.
    vectors
        Their eigenvectors, or None where the least ones are unknown.
    local
        Extreme eigenvalues (mu_b, L_b) of each batch Hessian at x*, shape (n, 2).
    bounds
        Bounds (mu_b, L_b) of each batch that hold everywhere, shape (n, 2).
    gradient_sizes
        ‖∇f_b(x*)‖, shape (n,).
    moments
        Second moments of the batches, in full, of a sample, or in some directions.
    sample
        Indices of the batches in ``moments``.
    sure
        Of the sample, the first ``sure`` batches are the heaviest; the others are a random draw.
    basis
        Directions of ``moments`` as columns, shape (d, k).
    """

    problem: LinearModel
    spectrum: FloatArray
    vectors: FloatArray | None
    local: FloatArray
    bounds: FloatArray
    gradient_sizes: FloatArray
    moments: SecondMoments
    sample: npt.NDArray[np.intp]
    sure: int
    basis: FloatArray

    @property
    def curvature(self) -> Curvature:
        """Bounds mu and L of the whole objective at its minimiser."""
        return Curvature(self.spectrum[0], self.spectrum[-1])

    @property
    def certified_curvature(self) -> Curvature | None:
        """Bounds mu and L of all batches, everywhere; None where some batch is not strongly convex.

        Widened by a relative 1e-9, more than the rounding of an eigenvalue.
        """
        mu, L = float(self.bounds[:, 0].min()), float(self.bounds[:, 1].max())
        if mu <= 64 * np.finfo(float).eps * L:
            return None
        return Curvature(mu * (1.0 - _MARGIN), L * (1.0 + _MARGIN))

    @property
    def every_batch(self) -> bool:
        """Whether ``moments`` holds every batch, not a sample of them."""
        return len(self.sample) == self.problem.terms

    @property
    def every_direction(self) -> bool:
        """Whether ``moments`` holds every direction."""
        return self.moments.dimension == self.problem.dimension

    @property
    def exact(self) -> bool:
        """Whether second moments are computed, not estimated."""
        return self.every_batch and self.every_direction

    @property
    def quadratic(self) -> bool:
        """Whether the objective is quadratic, so that what holds at x* holds everywhere."""
        return self.problem.loss.name == "squared"

    @property
    def sigma(self) -> float:
        """σ = mean ‖∇f_b(x*)‖."""
        return float(self.gradient_sizes.mean())

    @property
    def interpolates(self) -> bool:
        """Whether x* minimises every batch, up to rounding."""
        scale = float(self.spectrum[-1]) * (1.0 + float(np.linalg.norm(self.problem.minimiser)))
        return self.sigma <= 1e-10 * scale

    @cached_property
    def noise(self) -> FloatArray:
        """Mean square of the batch gradients at x* along each of ``vectors``, shape (d,)."""
        assert self.vectors is not None
        total = np.zeros(self.problem.dimension)
        for b in range(self.problem.terms):
            z = self.vectors.T @ self.problem.batch_gradient(b, self.problem.minimiser)
            total += z * z / self.problem.terms
        return total

    @cached_property
    def known_sum(self) -> KnownSum:
        """The batches as theory sees them."""
        return KnownSum(
            self.moments,
            hessian_products(self.problem),
            self.problem.terms,
            self.problem.dimension,
            self.curvature,
            self.sure,
        )

    @cached_property
    def hessians(self) -> FloatArray:
        """Batch Hessians in the coordinates of ``moments``, shape (k, d, d)."""
        return self.moments.deviations + np.diag(self.moments.eigenvalues)


def survey(problem: LinearModel, columns: tuple[str, ...]) -> Survey:
    """Find the curvature of the whole and of every batch, and the moments of the batches."""
    dense = problem.dimension <= DENSE_LIMIT
    spectrum, vectors = _spectrum(problem, columns, dense)
    bounds = problem.batch_curvatures
    local = bounds if problem.loss.name == "squared" else _local(problem)
    sizes = np.array(
        [np.linalg.norm(problem.batch_gradient(b, problem.minimiser)) for b in range(problem.terms)]
    )
    basis = _basis(problem, vectors, local[:, 1], dense)
    sample, weights, sure = _sample(problem, basis.shape[1], local[:, 1])
    moments = _moments(problem, basis, sample, weights, spectrum if dense else None)
    return Survey(
        problem, spectrum, vectors if dense else None, local, bounds, sizes, moments, sample, sure,
        basis,
    )  # fmt: skip


def _spectrum(
    problem: LinearModel, columns: tuple[str, ...], dense: bool
) -> tuple[FloatArray, FloatArray]:
    if dense:
        # A quadratic has the same Hessian everywhere, and may turn out to have no minimiser.
        point = np.zeros(problem.dimension) if problem.loss.name == "squared" else None
        values, vectors = np.linalg.eigh(problem.hessian(point))
        if values[0] <= problem.dimension * np.finfo(float).eps * values[-1]:
            _refuse_singular(problem, vectors[:, 0], columns)
        if point is not None:
            _solve_quadratic(problem, values, vectors)
        return values, vectors
    if problem.l2 <= 0.0:
        rule = f"positive for {problem.dimension} coordinates"
        remedy = "the least curvature of so large a problem is only known through it"
        raise Refusal("l2", rule, "0", remedy)
    from scipy.sparse.linalg import LinearOperator, eigsh

    d = problem.dimension
    if problem.loss.name == "squared":
        _solve_by_products(problem)
    operator = LinearOperator((d, d), matvec=_whole_product(problem), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(d)
    # Close directions serve as well as exact ones; only the largest curvature has to hold.
    top = min(_LANCZOS_TOP, d - 1)
    values, vectors = eigsh(operator, k=top, which="LA", v0=start, ncv=5 * top, tol=1e-2)
    rest = operator @ vectors[:, -1] - values[-1] * vectors[:, -1]
    values[-1] += float(np.linalg.norm(rest))
    flat = problem.loss.name != "squared" or d >= _LANCZOS_LOW
    low = 0.0 if flat else extreme_eigenvalues(problem.X)[0]
    return np.concatenate([[low + problem.l2], values]), vectors


def _solve_quadratic(problem: LinearModel, values: FloatArray, vectors: FloatArray) -> None:
    """Set the minimiser of a squared loss: two passes over the data instead of Newton's search."""
    x = np.zeros(problem.dimension)
    for _ in range(2):
        x = x - vectors @ ((vectors.T @ problem.gradient(x)) / values)
    problem.minimiser = x


def _whole_product(problem: LinearModel) -> Callable[[FloatArray], FloatArray]:
    """The whole Hessian times a vector, without a copy of the rows where there is one output."""
    if problem.loss.outputs > 1 or not is_sparse(problem.X):
        return lambda v: problem.hessian_product(None, v.ravel())
    X, weights = problem.X, np.repeat(
        1.0 / (problem.terms * problem.batch_sizes), problem.batch_sizes
    )  # fmt: skip
    if problem.loss.name != "squared":
        scores = np.asarray(X @ problem.minimiser)[:, None]
        weights = weights * problem.loss.pair(scores, 0, 0)
    return lambda v: np.asarray(X.T @ (weights * (X @ v.ravel())) + problem.l2 * v.ravel())


def _solve_by_products(problem: LinearModel) -> None:
    """Set the minimiser of a squared loss by conjugate gradients, refined once."""
    from scipy.sparse.linalg import LinearOperator, cg

    d = problem.dimension
    operator = LinearOperator((d, d), matvec=_whole_product(problem), dtype=np.float64)
    x = np.zeros(d)
    for _ in range(2):
        x = x - cg(operator, problem.gradient(x), rtol=1e-8, maxiter=4000)[0]
    problem.minimiser = x


def _refuse_singular(problem: LinearModel, flat: FloatArray, columns: tuple[str, ...]) -> None:
    size = np.linalg.norm(flat.reshape(problem.features, -1), axis=1)
    involved = np.argsort(size)[::-1][:4]
    named = ", ".join(repr(columns[j]) for j in involved if size[j] > 0.1 * size.max())
    rows, d = problem.X.shape
    why = f"{rows} rows for {d} columns" if rows < d else f"columns {named} depend on each other"
    raise Refusal("l2", "positive for this data", f"{problem.l2:g}, and {why}",
                  "add some, e.g. --l2 1e-3, or drop a column")  # fmt: skip


def _local(problem: LinearModel) -> FloatArray:
    """Extreme eigenvalues of every batch Hessian at the minimiser."""
    if problem.dimension <= MOMENT_DIRECTIONS:
        spectra = [np.linalg.eigvalsh(problem.batch_hessian(b)) for b in range(problem.terms)]
        return np.array([[values[0], values[-1]] for values in spectra])
    w = problem.minimiser.reshape(problem.features, -1)
    out = np.full((problem.terms, 2), problem.l2)
    for b in range(problem.terms):
        if problem.loss.outputs == 1:
            block = problem.X[problem._rows(b)]
            bend = problem.loss.pair(np.asarray(block @ w), 0, 0) / block.shape[0]
            out[b] = np.array(extreme_eigenvalues(block, bend)) + problem.l2
        else:
            out[b, 1] = _top_of_batch(problem, b)[0]
    return out


def _top_of_batch(problem: LinearModel, b: int) -> tuple[float, FloatArray]:
    from scipy.sparse.linalg import LinearOperator, eigsh

    d = problem.dimension
    operator = LinearOperator((d, d), lambda v: problem.hessian_product(b, v.ravel()))
    start = np.random.default_rng(b).standard_normal(d)
    values, vectors = eigsh(operator, k=1, which="LA", v0=start, ncv=16, tol=1e-4)
    return float(values[0]), vectors[:, 0]


def _basis(
    problem: LinearModel, vectors: FloatArray, heaviness: FloatArray, dense: bool
) -> FloatArray:
    """All directions, or those of the largest curvature, of the heaviest batches and the least."""
    if problem.dimension <= MOMENT_DIRECTIONS:
        return vectors
    parts = [vectors[:, -_PROJECTED_TOP:]]
    if dense:
        parts.append(vectors[:, :_PROJECTED_LOW])
    heavy = np.argsort(heaviness)[::-1][:_PROJECTED_BATCHES]
    parts.append(np.stack([_top_of_batch(problem, int(b))[1] for b in heavy], axis=1))
    together = np.concatenate(parts, axis=1)
    Q, R = np.linalg.qr(together)
    return np.asarray(Q[:, np.abs(np.diag(R)) > 1e-6])


def _sample(
    problem: LinearModel, directions: int, heaviness: FloatArray
) -> tuple[npt.NDArray[np.intp], FloatArray, int]:
    """Every batch where they fit; otherwise the heaviest, and a random draw of the others.

    Their weights in the mean go with them. Heavy batches are drawn more often, and weigh less:
    what a batch adds to a second moment goes with the square of its curvature.
    """
    n, d = problem.terms, directions
    room = int(max(_SAMPLE_WORK / d**3, _LEAST_SAMPLE))
    if n <= room or (n * d**3 <= _EVERY_WORK and 8 * n * d * d <= _TERM_BYTES):
        return np.arange(n), np.full(n, 1.0 / n), n
    sure = max(1, room // _HEAVY_SHARE)
    order = np.argsort(heaviness)[::-1]
    rest, k = order[sure:], room - sure
    chance = 0.5 / len(rest) + 0.5 * heaviness[rest] ** 2 / float(np.sum(heaviness[rest] ** 2))
    drawn = np.random.default_rng(0).choice(len(rest), k, p=chance / chance.sum())
    weights = np.concatenate([np.full(sure, 1.0), 1.0 / (k * chance[drawn])]) / n
    return np.concatenate([order[:sure], rest[drawn]]).astype(np.intp), weights, sure


def _moments(
    problem: LinearModel,
    basis: FloatArray,
    sample: npt.NDArray[np.intp],
    weights: FloatArray,
    spectrum: FloatArray | None,
) -> SecondMoments:
    n, k = problem.terms, basis.shape[1]
    whole = k == problem.dimension and spectrum is not None
    H = np.empty((len(sample), k, k))
    z = np.empty((len(sample), k))
    for i, b in enumerate(sample):
        H[i] = _batch_in_basis(problem, int(b), basis)
        z[i] = basis.T @ problem.batch_gradient(int(b), problem.minimiser)
    if whole:
        assert spectrum is not None
        return _with_mean(H, np.diag(spectrum), weights, z)
    if len(sample) == n:
        mean = H.mean(axis=0)
    else:
        columns = [problem.hessian_product(None, basis[:, j]) for j in range(k)]
        mean = basis.T @ np.stack(columns, axis=1)
    values, turn = np.linalg.eigh(0.5 * (mean + mean.T))
    basis[:] = basis @ turn
    return _with_mean(turn.T @ H @ turn, np.diag(values), weights, z @ turn)


def _with_mean(
    H: FloatArray, mean: FloatArray, weights: FloatArray, z: FloatArray
) -> SecondMoments:
    H -= mean
    H = 0.5 * (H + np.swapaxes(H, 1, 2))
    return SecondMoments(np.diag(mean).copy(), H, weights, z)


def _batch_in_basis(problem: LinearModel, b: int, basis: FloatArray) -> FloatArray:
    """basisᵀ H_b basis at the minimiser, without the d×d Hessian."""
    block = problem.X[problem._rows(b)]
    w = problem.minimiser.reshape(problem.features, -1)
    k, outputs = basis.shape[1], problem.loss.outputs
    # (features, outputs, k) so that one product serves all outputs.
    folded = basis.reshape(problem.features, outputs * k)
    along = np.asarray(block @ folded).reshape(-1, outputs, k)
    scores = np.asarray(block @ w)
    curved: Any = along
    if outputs > 1:
        columns = [problem.loss.curve(scores, along[:, :, j]) for j in range(k)]
        curved = np.stack(columns, axis=2)
    else:
        curved = problem.loss.pair(scores, 0, 0)[:, None, None] * along
    flat = along.reshape(-1, k)
    gram = flat.T @ curved.reshape(-1, k) / block.shape[0]
    gram[np.diag_indices(k)] += problem.l2
    return np.asarray(gram)
