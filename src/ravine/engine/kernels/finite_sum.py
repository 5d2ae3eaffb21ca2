"""Finite sums of quadratics in bulk: tiles of a sweep, and ensembles of trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, WrongType, real, whole
from ravine.engine.draws.index_sampling import LANES, rule_number
from ravine.engine.kernels.blocks import on_all_threads, padded, run_blocks
from ravine.engine.kernels.compiled import announced_compilation
from ravine.engine.kernels.finite_sum_kernel import (
    FiniteSumPlan,
    FiniteSumTrajectories,
    driver_for,
)
from ravine.engine.kernels.finite_sum_lanes import (
    CHUNK,
    FiniteSumBlock,
    FiniteSumTerms,
    StepRules,
    new_block,
)
from ravine.engine.kernels.linear_model_gradient import LinearModelData, new_data, scratch_sizes
from ravine.engine.measures import (
    Records,
    Setting,
    bin_edges,
    divergence_limit,
    fields_of,
    vanished,
)
from ravine.engine.restart import Restart, restart_rule
from ravine.engine.schedule import Schedule, momenta
from ravine.engine.spec import Spec, checked_spec, one_method
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

    if shared is not None:
        basis = shared[0]
        rows = shared[1].T
        slopes = slopes @ basis
    else:
        basis = np.eye(d)
        rows = hessians.reshape(len(hessians), d * d).T

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
    setting: Setting
    force: float  # size of noise and of the terms' own gradients, per alpha


def new_sum(spec: Spec) -> Sum:
    """Lay out the data that all trajectories of a sweep share."""
    if not is_quadratic_sum(spec):
        return _new_model(spec)

    dtype = np.dtype(spec.dtype)
    terms, basis = sum_terms(spec.problem, spec.sampling, dtype)
    rules = _new_rules(spec, terms.curvatures.shape[1], dtype)
    start = (basis.T @ (spec.start - spec.problem.minimiser)).astype(dtype)
    noisy = spec.sigma2 > 0.0 or len(terms.slopes) > 0
    setting = _new_setting(spec, start, noisy, vanished(dtype), CHUNK)
    rest = 0.0 if noisy else setting.tiny
    plan = _new_plan(spec, start, rest, CHUNK, basis)
    force = float(np.sqrt(spec.sigma2 * start.size + (terms.slopes**2).sum(axis=0).mean()))
    return Sum(terms, rules, plan, setting, force)


def _new_model(spec: Spec) -> Sum:
    """The same for a linear model, whose state is x, and whose lanes diverge at any step."""
    problem = spec.problem
    best = problem.minimiser
    data = new_data(problem, spec.sampled)
    rules = _new_rules(spec, problem.terms if spec.sampled else 1, np.dtype(np.float64))
    noisy = spec.sigma2 > 0.0 or (spec.sampled and not problem.interpolates)
    # The state is x, not x - x*, so errors do not fall below the rounding of x*.
    tiny = max(vanished(spec.dtype), _ROUNDING[spec.dtype] * float(best @ best))
    setting = _new_setting(spec, spec.start - best, noisy, tiny, 1)
    plan = _new_plan(spec, np.ascontiguousarray(spec.start), 0.0, 1, np.empty((0, 0)))
    force = rules.sigma * float(np.sqrt(problem.dimension))
    if spec.sampled:
        force += problem.mean_gradient_norm

    return Sum(data, rules, plan, setting, force)


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


def _new_setting(spec: Spec, error: Any, noisy: bool, tiny: float, chunk: int) -> Setting:
    """Input of the measures: ``error`` is that of the start."""
    # The sup-norm is computed after each chunk of the second half.
    ends = np.minimum(np.arange(chunk, spec.steps + chunk, chunk), spec.steps)
    late = int((2 * ends > spec.steps).sum())
    samples = late if "floor_sup" in spec.measures else 0
    start_square = float((error.astype(np.float64) ** 2).sum())
    return Setting(bin_edges(spec.steps), start_square, noisy, tiny, samples)


def _new_plan(
    spec: Spec, start: npt.NDArray[Any], rest: float, chunk: int, basis: FloatArray
) -> FiniteSumPlan:
    return FiniteSumPlan(
        start=start,
        seed=np.uint64(spec.seed),
        edges=bin_edges(spec.steps),
        rest=rest,
        chunk=chunk,
        with_sup="floor_sup" in spec.measures,
        basis=basis,
    )


def new_trajectories(spec: Spec, given: Sum, first: int, last: int) -> FiniteSumTrajectories:
    """Values that differ between trajectories, for pixels first..last-1, in whole blocks."""
    alpha, beta, gamma = spec.parameters(np.repeat(np.arange(first, last), spec.repeats))
    fill = padded(len(alpha), LANES)
    own = np.stack([alpha, beta, gamma])[:, fill].astype(given.rules.momentum.dtype)
    limit = divergence_limit(np.sqrt(given.setting.start_square) + alpha * given.force)
    identity = identities(spec, first, last)
    return FiniteSumTrajectories(np.ascontiguousarray(own), limit[fill], identity[fill])


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a finite sum; see ``kernels.table``."""
    given = new_sum(spec)
    lanes = new_trajectories(spec, given, first, last)
    drive = driver_for(given.terms, given.rules, recording=True)
    visits = given.plan.edges[-1:].copy()
    nowhere = np.empty((0, 0, 0))

    def run_block(state: FiniteSumBlock, records: Records, block: int) -> None:
        drive(*given[:3], lanes, state, records, visits, nowhere, block)

    blocks = len(lanes.limit) // LANES
    out = run_blocks(given.setting, blocks, LANES, lambda: _new_state(spec, given), run_block)
    return fields_of(out[: (last - first) * spec.repeats], spec.repeats)


def _new_state(spec: Spec, given: Sum) -> FiniteSumBlock:
    sizes = (0, 0, 0)
    if isinstance(given.terms, LinearModelData):
        sizes = scratch_sizes(given.terms)

    return new_block(given.plan.start.size, given.rules, spec.dtype, sizes)


def identities(spec: Spec, first: int, last: int) -> npt.NDArray[np.uint64]:
    """Identities of the streams of the pixels first..last-1, repeat by repeat.

    With shared noise, all pixels have those of pixel 0: the same terms and the same noise.
    """
    pixels = np.repeat(np.arange(first, last, dtype=np.uint64), spec.repeats)
    repeat = np.arange(len(pixels), dtype=np.uint64) % np.uint64(spec.repeats)
    return (pixels * np.uint64(spec.noise != "shared")) | (repeat << np.uint64(32))


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
    sampling: Sampling | str | None,
    batch: int = 1,
    restart: Restart | str | int | None = None,
    schedule: Schedule | None = None,
    sigma2: float = 0.0,
    seed: int = 0,
    start: npt.ArrayLike | None = None,
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
    sampling, batch, restart, schedule, sigma2, seed, start
        As in ``ravine.engine.run.run``.

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

    given = real("visits", visits, "nonnegative", remedy="give numbers of steps, e.g. [0, 100]")
    at = np.atleast_1d(np.asarray(given)).astype(np.int64)
    if at.ndim != 1 or (at != np.atleast_1d(given)).any() or (np.diff(at) <= 0).any():
        raise Refusal("visits", "increasing whole numbers", f"{at.tolist()}", "sort them")

    count = whole("trajectories", trajectories, 1, remedy="give a number, e.g. 1000")
    alphas, betas, gammas = (np.full(count, value) for value in one_method(method).values())
    spec = checked_spec(
        problem,
        alphas,
        betas,
        gammas=None if method.is_nesterov else gammas,
        pairs=True,
        steps=max(1, int(at[-1])),
        sampling=sampling,
        batch=batch,
        restart=restart,
        schedule=schedule,
        sigma2=sigma2,
        seed=seed,
        start=start,
    )

    laid_out = new_sum(spec)
    lanes = new_trajectories(spec, laid_out, 0, count)
    drive = driver_for(laid_out.terms, laid_out.rules, recording=False)
    out = np.empty((len(at), problem.dimension, len(lanes.limit)))
    none = np.empty(0)
    records = Records(np.empty((0, 0)), none, np.empty(0, np.int64), none)

    def go(first: int, last: int) -> None:
        state = _new_state(spec, laid_out)
        for block in range(first, last):
            drive(*laid_out[:3], lanes, state, records, at, out, block)

    with announced_compilation():
        on_all_threads(go, len(lanes.limit) // LANES)

    errors = np.einsum("ij,vjt->vti", laid_out.plan.basis, out[:, :, :count], optimize=True)
    return Ensemble(at, errors)
