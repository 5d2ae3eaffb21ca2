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
from ravine.engine.draws.random import key_of_seed
from ravine.engine.repeats import MEASURES
from ravine.engine.restart import Restart, parse_restart
from ravine.engine.schedule import Schedule, Tail, momenta
from ravine.methods import LinearMethod, Method
from ravine.problems import Problem
from ravine.sampling import Sampling

MakeMethod: TypeAlias = Callable[[float, float], LinearMethod | Method]
"""Computes the method of a pixel from its alpha and beta."""

NOISES = ("independent", "shared")
DTYPES = ("float64", "float32")

_LOOK_AHEADS = "give look-aheads, or omit them for Nesterov's method"
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

    def identities(
        self, pixel: npt.NDArray[np.int64], repeat: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.uint64]:
        """Identities of the streams of trajectories; with shared noise, those of pixel 0."""
        own = self.noise != "shared"
        return np.asarray(pixel * own | repeat << 32).astype(np.uint64)


def checked_spec(
    problem: Any,
    alphas: npt.ArrayLike,
    betas: npt.ArrayLike,
    *,
    method: MakeMethod | None = None,
    sigma2: float | None = None,
    total_variance: float | None = None,
    start: npt.ArrayLike | None = None,
    **others: Any,
) -> Spec:
    """Check the arguments of ``ravine.sweep`` and collect them; ``device`` is chosen later.

    ``others`` are unchecked fields of a ``Spec``, which has their defaults.
    """
    if not isinstance(problem, Problem):
        shown = type(problem).__name__
        raise WrongType("problem", "a problem of ravine", shown, "see ravine.problems")

    given = Spec(
        problem=problem,
        alphas=_axis("alphas", alphas, "nonnegative", "give step sizes, e.g. [0.1, 0.2]"),
        betas=_axis("betas", betas, "finite", "give momenta, e.g. [0.0, 0.5, 0.9]"),
        sigma2=_variance(problem, sigma2, total_variance),
        start=_start(problem, start),
        **others,
    )
    rule = None if given.sampling is None else Sampling.parse(given.sampling)
    spec = replace(
        given,
        gammas=None if given.gammas is None else _numbers("gammas", given.gammas, _LOOK_AHEADS),
        pairs=bool(given.pairs),
        steps=whole("steps", given.steps, 1, remedy="give the number of steps, e.g. steps=1000"),
        repeats=whole(
            "repeats", given.repeats, 1, remedy="give the runs of each pixel, e.g. repeats=8"
        ),
        sampling=rule,
        batch=_batch(rule, 1 if rule is None else problem.terms, given.batch),
        restart=parse_restart(given.restart),
        schedule=_schedule(given.schedule),
        noise=known_name("noise", given.noise, NOISES),
        measures=_measures(given.measures),
        seed=key_of_seed(given.seed),
        dtype=known_name("dtype", given.dtype, DTYPES),
    )

    _check_plane(spec)
    # Two tables of the momentum of each step, and their sources.
    refuse_too_large("steps", 64 * spec.steps, spec.steps, "take fewer steps")
    momenta(spec.schedule, spec.steps)
    return spec if method is None else replace(spec, methods=_methods(spec, method))


def spec_of_method(problem: Any, method: Method, *, count: int = 1, **others: Any) -> Spec:
    """The specification of ``count`` runs of one method, one pixel each."""
    alpha, beta, gamma = method.single("give one method, not a plane of them")
    return checked_spec(
        problem,
        np.full(count, alpha),
        np.full(count, beta),
        gammas=None if method.is_nesterov else gamma,
        pairs=True,
        **others,
    )


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
        np.broadcast_to(spec.gammas, spec.shape)
    except ValueError:
        rule = f"of a shape that broadcasts to {spec.shape}"
        shown = f"an array of shape {spec.gammas.shape}"
        remedy = "give one for each pixel, or one number"
        raise Refusal("gammas", rule, shown, remedy) from None


def _axis(name: str, values: npt.ArrayLike, rule: str, remedy: str) -> FloatArray:
    axis = np.atleast_1d(np.asarray(real(name, values, rule, remedy=remedy)))
    if axis.ndim != 1:
        shown = f"an array of shape {axis.shape}"
        raise Refusal(name, "a number or a list", shown, "ravel it, and set pairs")

    return axis


def _numbers(name: str, values: npt.ArrayLike, remedy: str) -> FloatArray:
    return np.asarray(real(name, values, remedy=remedy))


def _batch(sampling: Sampling | None, n: int, batch: int) -> int:
    """Check the mini-batch size against the sizes that the sampling allows for n terms."""
    m = whole("batch", batch, 1, remedy="give a mini-batch size, e.g. 1")
    limit = n
    rule = f"at most the {n} terms"
    if sampling is not None and not sampling.traits.may_repeat:
        # A batch must fit beside the previous one, because it contains none of its terms.
        limit = n // 2
        rule = f"at most half of the {n} terms without repeats"

    if m > limit:
        raise Refusal("batch", rule, m, "use a smaller batch, or another sampling")

    return m


def _schedule(schedule: Schedule | None) -> Schedule | None:
    """A table as an array of numbers, so that two sweeps can be compared."""
    if schedule is None or isinstance(schedule, Tail) or callable(schedule):
        return schedule

    return _numbers("schedule", schedule, "give a momentum for each step")


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
