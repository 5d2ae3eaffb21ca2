"""The specification of a sweep: everything that its numbers depend on, checked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    FloatArray,
    Refusal,
    WrongType,
    in_words,
    kind_in_words,
    known_name,
    one_number,
    real,
    refuse_too_large,
    whole,
)
from ravine.engine.draws.index_sampling import check_batch
from ravine.engine.draws.random import key_of_seed
from ravine.engine.repeats import MEASURES
from ravine.engine.restart import Restart, parse_restart
from ravine.engine.schedule import Schedule, Tail, momenta
from ravine.linear_method import LinearMethod
from ravine.methods import Method
from ravine.problems import Problem
from ravine.sampling import Sampling

MakeMethod: TypeAlias = Callable[[float, float], LinearMethod | Method]
"""Computes the method of a pixel from its alpha and beta."""

NOISES = ("independent", "shared")
DTYPES = ("float64", "float32")

_MOST_PIXELS = 2**32  # a stream's identity has 32 bits for the pixel and 32 for the repeat


@dataclass(frozen=True, eq=False, kw_only=True)
class Spec:
    """Everything that the numbers of a sweep depend on, as plain data that can be pickled.

    ``alphas`` and ``betas`` are the axes of a plane, or, with ``pairs``, two lists of equal length.
    ``gammas`` is None for Nesterov's method, else it broadcasts to ``shape``. ``methods`` is None,
    or contains the transfer functions of another method, shape (pixels, 2, coefficients): numerator
    and denominator, with leading zeros. The other fields are those of ``ravine.sweep``, checked by
    ``checked_spec``.
    """

    problem: Any
    alphas: FloatArray
    betas: FloatArray
    gammas: FloatArray | None = None
    methods: FloatArray | None = None
    pairs: bool = False
    steps: int
    repeats: int = 1
    sampling: Sampling | None = None
    batch: int = 1
    restart: Restart | int | None = None
    schedule: Schedule | None = None
    sigma2: float = 0.0
    noise: str = "independent"
    measures: tuple[str, ...] = MEASURES
    seed: int = 0
    start: FloatArray
    dtype: str = "float64"
    device: str = "cpu"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the plane, (alphas, betas), or (pairs,)."""
        if self.pairs:
            return (len(self.alphas),)

        return (len(self.alphas), len(self.betas))

    @property
    def pixels(self) -> int:
        """Number of pixels, counted in C order."""
        return prod(self.shape)

    @property
    def sampled(self) -> bool:
        """Whether gradients are those of drawn terms, not of the whole objective."""
        return self.sampling is not None and self.problem.terms > 1

    def parameters(self, pixel: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Alpha, beta and gamma of each pixel."""
        place = (pixel,) if self.pairs else np.divmod(pixel, len(self.betas))
        alpha = self.alphas[place[0]]
        beta = self.betas[place[-1]]
        if self.gammas is None:
            return alpha, beta, beta.copy()

        return alpha, beta, np.broadcast_to(self.gammas, self.shape)[place]


def checked_spec(
    problem: Any,
    alphas: npt.ArrayLike,
    betas: npt.ArrayLike,
    *,
    steps: int,
    gammas: npt.ArrayLike | None = None,
    method: MakeMethod | None = None,
    pairs: bool = False,
    repeats: int = 1,
    sampling: Sampling | str | None = None,
    batch: int = 1,
    restart: Restart | str | int | None = None,
    schedule: Schedule | None = None,
    sigma2: float | None = None,
    total_variance: float | None = None,
    noise: str = "independent",
    measure: Sequence[str] = MEASURES,
    seed: int = 0,
    start: npt.ArrayLike | None = None,
    dtype: str = "float64",
) -> Spec:
    """Check the arguments of ``ravine.sweep`` and collect them; ``device`` is chosen later."""
    if not isinstance(problem, Problem):
        shown = type(problem).__name__
        raise WrongType("problem", "a problem of ravine", shown, "see ravine.problems")

    spec = Spec(
        problem=problem,
        alphas=_axis("alphas", alphas, "nonnegative", "give step sizes, e.g. [0.1, 0.2]"),
        betas=_axis("betas", betas, "finite", "give momenta, e.g. [0.0, 0.5, 0.9]"),
        gammas=_gammas(gammas),
        pairs=bool(pairs),
        steps=whole("steps", steps, 1, remedy="give the number of steps, e.g. steps=1000"),
        repeats=whole("repeats", repeats, 1, remedy="give the runs of each pixel, e.g. repeats=8"),
        sampling=None if sampling is None else Sampling.parse(sampling),
        batch=whole("batch", batch, 1, remedy="give a mini-batch size, e.g. 1"),
        restart=parse_restart(restart),
        schedule=_schedule(schedule),
        sigma2=_variance(problem, sigma2, total_variance),
        noise=known_name("noise", noise, NOISES),
        measures=_measures(measure),
        seed=key_of_seed(seed),
        start=_start(problem, start),
        dtype=known_name("dtype", dtype, DTYPES),
    )

    _check_plane(spec)
    check_batch(spec.sampling, 1 if spec.sampling is None else problem.terms, spec.batch)
    # Two tables of the momentum of each step, and their sources.
    refuse_too_large("steps", 64 * spec.steps, spec.steps, "take fewer steps")
    momenta(spec.schedule, spec.steps)
    return spec if method is None else replace(spec, methods=_methods(spec, method))


def one_method(method: Method) -> dict[str, float]:
    """Alpha, beta and gamma of a single method."""
    remedy = "give one method, not a plane of them"
    names = ("alpha", "beta", "gamma")
    return {name: one_number(name, getattr(method, name), remedy=remedy) for name in names}


def _methods(spec: Spec, method: MakeMethod) -> FloatArray:
    """The transfer functions of ``method`` for the parameters of each pixel."""
    if not callable(method):
        remedy = "e.g. lambda alpha, beta: LinearMethod.quasi_hyperbolic(alpha, beta, nu=0.7)"
        raise WrongType("method", "a function of alpha and beta", kind_in_words(method), remedy)

    for name in ("gammas", "restart", "schedule"):
        value = getattr(spec, name)
        if value is not None:
            raise Refusal(name, "omitted with a method", in_words(value), "remove it")

    alphas, betas, _ = spec.parameters(np.arange(spec.pixels))
    pairs: list[tuple[FloatArray, FloatArray]] = []
    for alpha, beta in zip(alphas, betas, strict=True):
        one = method(float(alpha), float(beta))
        linear = LinearMethod.of(one) if isinstance(one, Method) else one
        if not isinstance(linear, LinearMethod):
            remedy = "return a LinearMethod"
            raise WrongType("method", "a function that makes methods", kind_in_words(one), remedy)

        linear.at_rest(0.0)  # refuses a method that does not react to gradients
        pairs.append((linear.numerator, linear.denominator))

    width = max(below.size for _, below in pairs)
    padded = [[np.pad(part, (width - part.size, 0)) for part in pair] for pair in pairs]
    return np.array(padded)


def _check_plane(spec: Spec) -> None:
    """Refuse axes and look-aheads with shapes that do not fit."""
    if spec.pairs and len(spec.alphas) != len(spec.betas):
        shown = f"{len(spec.alphas)} alphas and {len(spec.betas)} betas"
        raise Refusal("pairs", "lists of equal length", shown, "or leave pairs out")
    if spec.pixels > _MOST_PIXELS:
        rule = "an axis that makes at most 2**32 pixels with betas"
        raise Refusal("alphas", rule, f"{spec.pixels} pixels", "split the plane")
    if spec.gammas is None:
        return

    try:
        fits = np.broadcast_shapes(spec.gammas.shape, spec.shape) == spec.shape
    except ValueError:
        fits = False

    if not fits:
        rule = f"of a shape that broadcasts to {spec.shape}"
        shown = f"an array of shape {spec.gammas.shape}"
        raise Refusal("gammas", rule, shown, "give one for each pixel, or one number")


def _axis(name: str, values: npt.ArrayLike, rule: str, remedy: str) -> FloatArray:
    axis = np.atleast_1d(np.asarray(real(name, values, rule, remedy=remedy)))
    if axis.ndim != 1:
        shown = f"an array of shape {axis.shape}"
        raise Refusal(name, "a number or a list", shown, "ravel it, and set pairs")

    return axis


def _gammas(gammas: npt.ArrayLike | None) -> FloatArray | None:
    if gammas is None:
        return None

    remedy = "give look-aheads, or omit them for Nesterov's method"
    return np.asarray(real("gammas", gammas, remedy=remedy))


def _schedule(schedule: Schedule | None) -> Schedule | None:
    """A table as an array of numbers, so that two sweeps can be compared."""
    if schedule is None or isinstance(schedule, Tail) or callable(schedule):
        return schedule

    return np.asarray(real("schedule", schedule, remedy="give a momentum for each step"))


def _measures(measure: Sequence[str]) -> tuple[str, ...]:
    try:
        names = (measure,) if isinstance(measure, str) else tuple(measure)
    except TypeError:
        remedy = f"give some of {', '.join(MEASURES)}"
        raise WrongType("measure", "a list of names", kind_in_words(measure), remedy) from None

    for name in names:
        known_name("measure", name, MEASURES)

    return names


def _variance(problem: Any, sigma2: float | None, total_variance: float | None) -> float:
    if sigma2 is not None and total_variance is not None:
        shown = f"sigma2={in_words(sigma2)} and total_variance={in_words(total_variance)}"
        raise Refusal("sigma2", "omitted with total_variance", shown, "give one of them")

    if total_variance is not None:
        remedy = "give the variance of the whole gradient's noise, e.g. total_variance=1"
        total = one_number("total_variance", total_variance, "nonnegative", remedy=remedy)
        return total / int(problem.dimension)

    if sigma2 is None:
        return 0.0

    remedy = "give the variance of each coordinate's noise, e.g. sigma2=1"
    return one_number("sigma2", sigma2, "nonnegative", remedy=remedy)


def _start(problem: Any, start: npt.ArrayLike | None) -> FloatArray:
    default: FloatArray = np.asarray(problem.start)
    best: FloatArray = np.asarray(problem.minimiser)
    if start is None:
        return default

    # A number of any size is allowed.
    remedy = "give x_0, or a factor on the distance from x*"
    given = np.asarray(real("start", start, "of any size", remedy=remedy))
    if given.ndim == 0:
        return best + float(given) * (default - best)

    if given.shape != best.shape:
        rule = f"a number or a vector of {len(best)} coordinates"
        shown = f"an array of shape {given.shape}"
        raise Refusal("start", rule, shown, "give one entry for each coordinate")

    return given
