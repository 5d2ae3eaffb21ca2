"""A single run of a method, with all its states.

Plain NumPy on any problem, term by term: the reference for the kernels. It draws the same indices,
and for quadratics the same noise, as a kernel with the same seed and trajectory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, overflow_allowed, refuse_too_large, whole
from ravine.engine.draws.index_sampling import sampled_indices
from ravine.engine.kernels.quadratic_kernel import normals_of
from ravine.engine.measures import (
    FIELDS,
    Outcome,
    Records,
    Setting,
    bin_edges,
    divergence_limit,
    fields_of,
    summarise,
    vanished,
)
from ravine.engine.recursion import Gradient, Restarts, State, held, iterate, iterate_linear
from ravine.engine.restart import Restart
from ravine.engine.schedule import Schedule, momenta
from ravine.engine.spec import Spec, spec_of_method
from ravine.markup import card
from ravine.methods import LinearMethod, Method
from ravine.problems import Problem, Quadratic, QuadraticSum
from ravine.sampling import Sampling
from ravine.values import Value


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Value):
    """The result of one run, step by step.

    K is the number of steps. In arrays of K + 1 rows, row k belongs to the state after k steps; in
    arrays of K rows, row k belongs to step k. A run that overflows ends; a run that only diverges
    continues.

    Attributes
    ----------
    y
        Points of the next gradient, y_{k+1}, shape (K + 1, d); y_1 = x_0.
    minimiser
        x*, shape (d,).
    objective
        f(y), the whole objective, shape (K + 1,).
    minimum
        f*.
    velocity
        x_k - x_{k-1}, shape (K + 1, d); zero after a restart.
    indices
        Drawn terms, shape (K, batch); -1 fills up shorter batches. One column of zeros for full
        gradients.
    gradient
        The stochastic gradient of each step, shape (K, d).
    momentum
        beta of each step, shape (K,).
    restarted
        Whether the momentum was set to zero after the step, shape (K,).
    outcome
        The outcome of the run; see ``Outcome``.
    diverged_at
        The step after which the error had certainly diverged, or -1.
    rate
        The fitted factor per step of the error; NaN if no decay or growth could be fitted.
    measures
        The measures of a sweep, by name; see ``ravine.engine.measures``.
    made_by
        The arguments of the run.
    """

    y: FloatArray
    minimiser: FloatArray
    objective: FloatArray
    minimum: float
    velocity: FloatArray
    indices: npt.NDArray[np.int64]
    gradient: FloatArray
    momentum: FloatArray
    restarted: npt.NDArray[np.bool_]
    outcome: Outcome
    diverged_at: int
    rate: float
    measures: dict[str, float]
    made_by: dict[str, Any] = field(repr=False)

    @property
    def steps(self) -> int:
        """Steps taken."""
        return len(self.gradient)

    @property
    def y_errors(self) -> FloatArray:
        """Errors y - x* in each coordinate, shape (K + 1, d)."""
        return self.y - self.minimiser

    @property
    def errors(self) -> FloatArray:
        """‖y - x*‖, shape (K + 1,)."""
        return np.asarray(np.linalg.norm(self.y_errors, axis=1))

    @property
    def opposed(self) -> npt.NDArray[np.bool_]:
        """Whether momentum moves a coordinate up the gradient of the step, shape (K, d).

        Velocity and gradient then have the same sign: the gradient step and the momentum, the sum
        of past steps, point in opposite directions.
        """
        return np.asarray(self.velocity[:-1] * self.gradient > 0.0)

    def _repr_html_(self) -> str:
        """The outcome of the run, for notebooks."""
        errors = self.errors
        rows = [
            ("steps", f"{self.steps}", ""),
            ("outcome", self.outcome.name.lower(), self.outcome.sentence),
            ("‖y - x*‖ at the start", f"{errors[0]:.6g}", ""),
            ("‖y - x*‖ at the end", f"{errors[-1]:.6g}", ""),
            ("f(y) - f* at the end", f"{self.objective[-1] - self.minimum:.6g}", ""),
            ("fitted rate per step", f"{self.rate:.6g}", ""),
        ]
        if self.diverged_at >= 0:
            rows.insert(2, ("diverged after step", f"{self.diverged_at}", ""))

        return card("One run", rows)


@overflow_allowed
def run(
    problem: Problem,
    method: Method | LinearMethod,
    steps: int,
    *,
    sampling: Sampling | str | None,
    batch: int = 1,
    restart: Restart | str | int | None = None,
    schedule: Schedule | None = None,
    sigma2: float = 0.0,
    seed: int = 0,
    trajectory: int = 0,
    start: npt.ArrayLike | None = None,
) -> Trace:
    """Run a method once on any problem.

    Parameters
    ----------
    problem
        From ``ravine.problems``.
    method
        One method: alpha, beta and gamma are single numbers. Or a ``LinearMethod`` of any memory,
        without restart and schedule.
    steps
        Gradient steps, at least 1.
    sampling
        The order of the terms; None uses the gradient of the whole objective.
    batch
        Terms per step, drawn without replacement; the gradient is their mean.
    restart
        When to set the momentum to zero: "gradient" (the step went against its gradient), "sampled"
        (it raised the sampled function), "full" (it raised the whole objective), a number of steps
        between two restarts, or None.
    schedule
        Momentum over the run: a number, a table, a function of the step, or a
        ``ravine.engine.schedule.Tail``; None: the method's own.
    sigma2
        Variance of additive Gaussian noise on each coordinate of the gradient.
    seed, trajectory
        Select the random stream; equal values give equal draws, in the kernels too.
    start
        x_0 as a vector; or a number that multiplies the distance of the problem's start from x*.

    Examples
    --------
    >>> from ravine import nesterov
    >>> from ravine.problems import counterexample
    >>> problem = counterexample(mu=0.05, L=100, n=50)
    >>> trace = run(problem, nesterov(problem.curvature), 2000, sampling="cyclic")
    >>> trace.outcome.name, trace.errors.shape
    ('DIVERGED', (2001,))
    """
    for name, value in (("restart", restart), ("schedule", schedule)):
        if isinstance(method, LinearMethod) and value is not None:
            remedy = "its state has no velocity that could be set"
            raise Refusal(name, "omitted with a LinearMethod", repr(value), remedy)

    whole("trajectory", trajectory, 0, remedy="count the trajectories from 0")
    spec = spec_of_method(
        problem,
        # A specification has parameters of the family alone.
        Method(0.0) if isinstance(method, LinearMethod) else method,
        steps=steps,
        sampling=sampling,
        batch=batch,
        restart=restart,
        schedule=schedule,
        sigma2=sigma2,
        seed=seed,
        start=start,
    )

    # Points, velocities and gradients of each step, as lists and then as arrays, and the terms.
    needed = spec.steps * (64 * (problem.dimension + 4) + 8 * spec.batch)
    remedy = "take fewer steps, or use sweep, which does not store them"
    refuse_too_large("steps", needed, spec.steps, remedy)
    return trace(spec, method, trajectory)


@overflow_allowed
def trace(spec: Spec, method: Method | LinearMethod, trajectory: int) -> Trace:
    """Run one method by a specification, and determine its outcome."""
    problem = spec.problem
    indices = np.zeros((spec.steps, 1), np.int64)
    if spec.sampling is not None:
        indices = sampled_indices(
            problem.terms,
            spec.steps,
            sampling=spec.sampling,
            seed=spec.seed,
            trajectory=trajectory,
            batch=spec.batch,
        )

    gradient = _gradient(spec, indices, _noise(spec, trajectory))
    betas = np.zeros(spec.steps + 1)
    if isinstance(method, LinearMethod):
        # Its gain at rest is used as the step size.
        alpha, beta, gamma = float(method.numerator.sum()), 0.0, 0.0
        states = iterate_linear(gradient, spec.start, method, steps=spec.steps)
    else:
        alpha, beta, gamma = method.single("give one method, not a plane of them")
        betas = momenta(spec.schedule, spec.steps).of(beta)
        states = iterate(
            gradient,
            spec.start,
            steps=spec.steps,
            alpha=alpha,
            betas=betas,
            gammas=betas if spec.gammas is None else held(gamma, spec.steps + 1),
            restarts=None if spec.restart is None else _restarts(spec, indices),
        )

    kept, objectives = _until_overflow(problem, states)
    taken = len(kept) - 1
    y = np.array([state.y for state in kept])
    gradients = [state.gradient for state in kept[1:]]
    measures = _measures(spec, y, alpha)
    return Trace(
        y=y,
        minimiser=problem.minimiser,
        objective=np.array(objectives),
        minimum=problem.minimum,
        velocity=np.array([state.v for state in kept]),
        indices=indices[:taken],
        gradient=np.array(gradients, dtype=np.float64).reshape(taken, problem.dimension),
        momentum=betas[:taken],
        restarted=np.array([state.restarted for state in kept[1:]], dtype=bool),
        outcome=list(Outcome)[int(measures["outcome"])],
        diverged_at=int(measures["diverged_at"]),
        rate=measures["rate"],
        measures=measures,
        made_by={
            "problem": problem.name,
            **problem.parameters,
            "alpha": alpha,
            "beta": beta,
            "gamma": gamma,
            "steps": spec.steps,
            "sampling": "full gradient" if spec.sampling is None else spec.sampling.value,
            "batch": spec.batch,
            "restart": str(spec.restart),
            "schedule": "none" if spec.schedule is None else str(spec.schedule),
            "sigma2": spec.sigma2,
            "seed": spec.seed,
            "trajectory": trajectory,
        },
    )


def _drawn(indices: npt.NDArray[np.int64], k: int) -> list[int]:
    """The terms of step k; -1 fills up shorter batches."""
    return [int(i) for i in indices[k] if i >= 0]


def _gradient(spec: Spec, indices: npt.NDArray[np.int64], noise: FloatArray) -> Gradient:
    """Return the gradients of a run, with the given terms and noise."""
    problem = spec.problem

    def gradient(k: int, y: FloatArray) -> FloatArray:
        if spec.sampling is None:
            return np.asarray(problem.gradient(y) + noise[k])

        parts = [problem.batch_gradient(i, y) for i in _drawn(indices, k)]
        mean = parts[0] if len(parts) == 1 else np.mean(parts, axis=0)
        return np.asarray(mean + noise[k])

    return gradient


def _restarts(spec: Spec, indices: npt.NDArray[np.int64]) -> Restarts:
    """Return when the momentum of a run with the given terms is set to zero."""
    problem = spec.problem

    def restarts(k: int, x: FloatArray, ahead: FloatArray, g: FloatArray) -> bool:
        if isinstance(spec.restart, int):
            return (k + 1) % spec.restart == 0
        if not np.isfinite(ahead).all():
            return False
        if spec.restart is Restart.GRADIENT:
            return bool(g @ (ahead - x) > 0.0)
        if spec.restart is Restart.SAMPLED and spec.sampling is not None:
            after, before = (
                [problem.batch_objective(i, point) for i in _drawn(indices, k)]
                for point in (ahead, x)
            )
            return bool(np.mean(np.subtract(after, before)) > 0.0)

        return bool(problem.objective(ahead) > problem.objective(x))

    return restarts


def _until_overflow(problem: Problem, states: Iterator[State]) -> tuple[list[State], list[float]]:
    """The states before the numbers overflow, and their objectives."""
    kept: list[State] = []
    objectives: list[float] = []
    for state in states:
        finite = np.isfinite(state.x).all() and np.isfinite(state.y).all()
        value = problem.objective(state.y) if finite else np.inf
        if state.k > 0 and not np.isfinite(value):
            break
        kept.append(state)
        objectives.append(value)

    return kept, objectives


def _measures(spec: Spec, y: FloatArray, alpha: float) -> dict[str, float]:
    """The measures of a sweep, from the points after 0, 1, ... steps."""
    best = spec.problem.minimiser
    squares = np.full(spec.steps + 1, np.inf)
    squares[: len(y)] = ((y - best) ** 2).sum(axis=1)
    # The run moves x, not x - x*, so errors do not fall below the rounding of x*.
    tiny = max(vanished(float), 1e-24 * float(best @ best))
    noisy = spec.sigma2 > 0.0 or (spec.sampling is not None and not spec.problem.interpolates)
    setting = Setting(bin_edges(spec.steps), float(squares[0]), noisy, tiny, 0)
    limit = divergence_limit(np.sqrt(squares[0]) + alpha * np.sqrt(spec.sigma2 * best.size))
    beyond = np.flatnonzero(~(squares[1:] <= limit))
    when = int(beyond[0]) + 1 if beyond.size else 0
    sums = np.add.reduceat(squares[1:], setting.edges[:-1])
    out = np.full((1, len(FIELDS)), np.nan)
    summarise(setting, Records(sums[:, None], squares[-1:], np.array([when]), np.zeros(1)), out)
    measures = {name: float(value) for name, value in zip(FIELDS, out[0], strict=True)}
    if measures["outcome"] != Outcome.DIVERGED:
        late = np.abs(y[len(y) // 2 + 1 :] - best).max(axis=1)
        measures["floor_sup"] = float(late.mean()) if late.size else float("nan")

    return measures


def _noise(spec: Spec, trajectory: int) -> FloatArray:
    """Additive noise of each step, in the basis of the kernels."""
    problem = spec.problem
    if spec.sigma2 == 0.0:
        return np.zeros((spec.steps, problem.dimension))

    out = normals_of(spec.seed, trajectory, problem.dimension, spec.steps)
    sampled_sum = isinstance(problem, QuadraticSum) and spec.sampling is not None
    if isinstance(problem, Quadratic):
        out = out @ problem.eigenvectors.T
    elif sampled_sum and problem.shared_eigenvectors:
        out = out @ problem.shared_eigenvectors[0].T

    return np.asarray(np.sqrt(spec.sigma2) * out)


def check_tile(spec: Spec) -> None:
    """Refuse options that a run does not support."""
    if spec.dtype != "float64":
        rule = "float64 for this problem or method"
        raise Refusal("dtype", rule, repr(spec.dtype), "omit it")


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep; see ``engine.device``."""
    out = np.empty((last - first, spec.repeats, len(FIELDS)))
    repeats = np.arange(spec.repeats)
    for pixel in range(first, last):
        here = np.array([pixel])
        method: Method | LinearMethod = Method(*(values[0] for values in spec.parameters(here)))
        if spec.methods is not None:
            method = LinearMethod(*spec.methods[pixel])
        for repeat, trajectory in enumerate(spec.identities(here, repeats)):
            measures = trace(spec, method, int(trajectory)).measures
            out[pixel - first, repeat] = [measures[name] for name in FIELDS]

    return fields_of(out, spec.repeats)
