"""Finite sums of quadratics in bulk: tiles of a sweep, and ensembles of trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, WrongType
from ravine.engine.draws.index_sampling import TOGETHER, new_draws, rule_number
from ravine.engine.draws.random import LANES
from ravine.engine.kernels.blocks import on_all_threads, padded, paged, run_blocks
from ravine.engine.kernels.compiled import announced_compilation
from ravine.engine.kernels.finite_sum_kernel import (
    FiniteSumPlan,
    FiniteSumTrajectories,
    driver,
    kind_of,
)
from ravine.engine.kernels.finite_sum_lanes import (
    CHUNK,
    ROWS,
    FiniteSumBlock,
    FiniteSumTerms,
    StepRules,
)
from ravine.engine.kernels.linear_model_gradient import new_data, scratch_sizes
from ravine.engine.measures import Records, divergence_limit, fields_of, new_setting, vanished
from ravine.engine.restart import restart_rule
from ravine.engine.schedule import momenta
from ravine.engine.spec import Spec, spec_of_method
from ravine.methods import Method
from ravine.problems import LinearModel, Problem, Quadratic, QuadraticSum
from ravine.sampling import Sampling

_MOST_FEATURES = 32
"""Maximum number of features for which Hessians of mini-batches (d² numbers) are faster than
rows."""
_ROUNDING = {"float64": 1e-24, "float32": 1e-12}
"""Rounding of squared errors in units of ‖x*‖²: a few units in the last place of x*, squared."""


def is_quadratic_sum(spec: Spec) -> bool:
    """Whether terms are Hessians: for linear models with few features, or without sampling."""
    problem = spec.problem
    if not isinstance(problem, LinearModel):
        return isinstance(problem, Quadratic | QuadraticSum)

    few = problem.dimension <= _MOST_FEATURES or not spec.sampled
    return problem.loss.quadratic and few


def sum_terms(
    problem: Problem, sampling: Sampling | None, dtype: npt.DTypeLike = np.float64
) -> tuple[FiniteSumTerms, FloatArray]:
    """Lay out the terms of a problem, and return the basis (d, d) of their coordinates.

    Without sampling, the whole objective is the only term.
    """
    d = problem.dimension
    if sampling is None:
        hessians = problem.hessian()[None]
        slopes = np.zeros((1, d))
    else:
        hessians = problem.batch_hessians()
        slopes = problem.batch_gradients()

    shared = None
    if isinstance(problem, QuadraticSum) and sampling is not None:
        shared = problem.shared_eigenvectors
    elif len(hessians) == 1:
        values, vectors = np.linalg.eigh(hessians[0])
        shared = vectors, values[None, :]

    basis = np.eye(d)
    rows = hessians.reshape(len(hessians), d * d).T
    if shared is not None:
        basis, rows = shared[0], shared[1].T
        slopes = slopes @ basis

    curvatures = np.ascontiguousarray(rows, dtype=dtype)
    columns = np.ascontiguousarray(slopes.T, dtype=dtype)
    same, lone = _structure(curvatures)
    terms = FiniteSumTerms(
        curvatures=curvatures,
        slopes=columns if slopes.any() else columns[:0],
        mean=curvatures.mean(axis=1),
        same=same,
        lone=lone,
        shared=shared is not None,
        minimiser=np.zeros(d, dtype),
    )

    return terms, np.ascontiguousarray(basis, dtype=np.float64)


def _structure(
    rows: npt.NDArray[np.floating[Any]],
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Which rows are constant, and the index of the one different entry in a row, or -1."""
    n = rows.shape[1]
    same = (rows == rows[:, :1]).all(axis=1)
    lone = np.full(len(rows), -1, np.int64)
    if n > 2:
        middle = np.sort(rows, axis=1)[:, n // 2]
        differs = rows != middle[:, None]
        alone = differs.sum(axis=1) == 1
        lone[alone] = differs[alone].argmax(axis=1)

    return same, lone


class Sum(NamedTuple):
    """A sweep over a finite sum in the layout of the kernels, shared by all trajectories."""

    terms: Any  # FiniteSumTerms or LinearModelData
    rules: StepRules
    plan: FiniteSumPlan
    force: float  # size of noise and of the terms' own gradients, per alpha
    dtype: str  # of the state
    sizes: tuple[int, int, int] = (0, 0, 0)  # what the gradients of linear models need

    def new_block(self) -> FiniteSumBlock:
        """Allocate the state of a block."""
        d = self.plan.start.size
        rules = self.rules
        noisy = d if rules.sigma > 0.0 else 0
        words, order, picks = new_draws(rules.sampling, rules.terms, rules.batch)
        return FiniteSumBlock(
            workspace=paged(d * ROWS * LANES, self.dtype),
            each=paged(4 * LANES, rules.momentum.dtype),
            words=words,
            order=order,
            picks=picks,
            drawn=paged(TOGETHER * LANES, np.uint32),
            noise_words=paged(4 * noisy * LANES, np.uint32),
            normals=paged(2 * noisy * LANES, np.float32),
            scores=paged(self.sizes[0] * LANES, self.dtype),
            weights=np.zeros(self.sizes[1]),
            flat=paged(self.sizes[2] * LANES, self.dtype),
            errors=paged(CHUNK * LANES, rules.momentum.dtype),
        )


def new_sum(spec: Spec) -> Sum:
    """Lay out the data that all trajectories of a sweep share."""
    if not is_quadratic_sum(spec):
        return _new_model(spec)

    dtype = np.dtype(spec.dtype)
    terms, basis = sum_terms(spec.problem, spec.sampling, dtype)
    rules = _new_rules(spec, terms.curvatures.shape[1], dtype)
    start = (basis.T @ (spec.start - spec.problem.minimiser)).astype(dtype)
    noisy = spec.sigma2 > 0.0 or len(terms.slopes) > 0
    tiny = vanished(dtype)
    setting = new_setting(spec.steps, start, noisy, tiny, _samples(spec, CHUNK))
    rest = 0.0 if noisy else tiny
    plan = FiniteSumPlan(start, np.uint64(spec.seed), setting, rest, CHUNK, basis)
    force = float(np.sqrt(spec.sigma2 * start.size + (terms.slopes**2).sum(axis=0).mean()))
    return Sum(terms, rules, plan, force, spec.dtype)


def _new_model(spec: Spec) -> Sum:
    """The same for a linear model, whose state is x, and whose lanes diverge at any step."""
    problem = spec.problem
    best = problem.minimiser
    data = new_data(problem, spec.sampled)
    rules = _new_rules(spec, problem.terms if spec.sampled else 1, np.dtype(np.float64))
    noisy = spec.sigma2 > 0.0 or (spec.sampled and not problem.interpolates)
    # The state is x, not x - x*, so errors do not fall below the rounding of x*.
    tiny = max(vanished(spec.dtype), _ROUNDING[spec.dtype] * float(best @ best))
    setting = new_setting(spec.steps, spec.start - best, noisy, tiny, _samples(spec, 1))
    start = np.ascontiguousarray(spec.start)
    plan = FiniteSumPlan(start, np.uint64(spec.seed), setting, 0.0, 1, np.empty((0, 0)))
    force = rules.sigma * float(np.sqrt(problem.dimension))
    if spec.sampled:
        force += problem.mean_gradient_norm

    return Sum(data, rules, plan, force, spec.dtype, scratch_sizes(data))


def _new_rules(spec: Spec, terms: int, dtype: np.dtype[Any]) -> StepRules:
    """Collect the parts of a step."""
    kind, period = restart_rule(spec.restart)
    momentum = momenta(spec.schedule, spec.steps)
    # Nesterov's method looks ahead with its momentum, others with a constant gamma.
    look = momentum if spec.gammas is None else momenta(None, spec.steps)
    return StepRules(
        terms=terms,
        sampling=rule_number(spec.sampling if terms > 1 else None),
        batch=spec.batch,
        restart=kind,
        period=period,
        sigma=float(np.sqrt(spec.sigma2)),
        steady=momentum.steady,
        momentum=np.stack([*momentum, *look]).astype(dtype),
    )


def _samples(spec: Spec, chunk: int) -> int:
    """Number of sup-norms: one after each chunk of the second half, if they are measured."""
    ends = np.minimum(np.arange(chunk, spec.steps + chunk, chunk), spec.steps)
    return int((2 * ends > spec.steps).sum()) if "floor_sup" in spec.measures else 0


def new_trajectories(spec: Spec, given: Sum, first: int, last: int) -> FiniteSumTrajectories:
    """Values that differ between trajectories, for pixels first..last-1, in whole blocks."""
    fill = padded((last - first) * spec.repeats, LANES)
    pixels, repeats = first + fill // spec.repeats, fill % spec.repeats
    own = np.stack(spec.parameters(pixels))
    limit = divergence_limit(np.sqrt(given.plan.setting.start_square) + own[0] * given.force)
    identity = spec.identities(pixels, repeats)
    return FiniteSumTrajectories(own.astype(given.rules.momentum.dtype), limit, identity)


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a finite sum; see ``engine.device``."""
    given = new_sum(spec)
    lanes = new_trajectories(spec, given, first, last)
    drive = driver(*kind_of(given.terms, given.rules), 1)
    setting = given.plan.setting
    visits = setting.edges[-1:].copy()
    nowhere = np.empty((0, 0, 0))

    def run_block(state: FiniteSumBlock, records: Records, block: int) -> None:
        drive(*given[:3], lanes, state, records, visits, nowhere, block)

    out = run_blocks(setting, len(lanes.limit) // LANES, LANES, given.new_block, run_block)
    return fields_of(out[: (last - first) * spec.repeats], spec.repeats)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Errors of many trajectories of one method, after some of their steps.

    Attributes
    ----------
    steps
        Numbers of steps after which the errors were computed, shape (visits,).
    errors
        y - x*, in the coordinates of the problem, shape (visits, trajectories, d).
    """

    steps: npt.NDArray[np.int64]
    errors: FloatArray

    @property
    def norms(self) -> FloatArray:
        """‖y - x*‖, shape (visits, trajectories)."""
        return np.asarray(np.linalg.norm(self.errors, axis=-1))


def ensemble(
    problem: QuadraticSum | Quadratic,
    method: Method,
    visits: npt.ArrayLike,
    *,
    trajectories: int,
    **options: Any,
) -> Ensemble:
    """Run many trajectories of one method on a sum of quadratics; return y - x* after some steps.

    Trajectory t has the same draws as ``run(..., trajectory=t)`` with the same seed.

    Parameters
    ----------
    problem
        A quadratic, or a finite sum of them.
    method
        One method: alpha, beta and gamma are single numbers.
    visits
        Increasing numbers of steps after which errors are stored; the last ends the run.
    trajectories
        Number of trajectories, at least 1.
    options
        sampling, batch, restart, schedule, sigma2, seed and start as in ``ravine.engine.run.run``.

    Examples
    --------
    >>> from ravine import nesterov
    >>> from ravine.problems import counterexample
    >>> problem = counterexample(mu=0.05, L=100, n=50)
    >>> many = ensemble(problem, nesterov(problem.curvature), [0, 50, 100],
    ...                 trajectories=1000, sampling="cyclic")
    >>> many.errors.shape
    (3, 1000, 3)
    """
    if not isinstance(problem, QuadraticSum | Quadratic):
        shown = type(problem).__name__
        raise WrongType("problem", "made of quadratics", shown, "use run or sweep")

    at = np.asarray(visits, dtype=np.int64)
    steps = max(1, int(at[-1]))
    spec = spec_of_method(problem, method, count=trajectories, steps=steps, **options)
    laid_out = new_sum(spec)
    lanes = new_trajectories(spec, laid_out, 0, trajectories)
    drive = driver(*kind_of(laid_out.terms, laid_out.rules), 0)
    out = np.empty((len(at), problem.dimension, len(lanes.limit)))
    none = np.empty(0)
    records = Records(np.empty((0, 0)), none, np.empty(0, np.int64), none)

    def go(first: int, last: int) -> None:
        state = laid_out.new_block()
        for block in range(first, last):
            drive(*laid_out[:3], lanes, state, records, at, out, block)

    with announced_compilation():
        on_all_threads(go, len(lanes.limit) // LANES)

    errors = np.einsum("ij,vjt->vti", laid_out.plan.basis, out[:, :, :trajectories], optimize=True)
    return Ensemble(at, errors)
