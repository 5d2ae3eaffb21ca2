"""Noise floors: momentum amplifies noise, and negative momentum at the end of a run saves some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.engine.kernels.finite_sum import ensemble
from ravine.engine.schedule import Tail
from ravine.engine.sweep import sweep
from ravine.figures import style
from ravine.figures.noise_plane import stationary_moments
from ravine.methods import Method, gradient_descent, nesterov, sgd
from ravine.problems import Quadratic, worst_case_quadratic
from ravine.theory.blocks import moment_block
from ravine.theory.noise.moments import (
    exact_noise_coefficient,
    paper_noise_coefficient,
    stationary_variance,
)

COPIES = 32
"""Number of directions of curvature mu that run side by side and are averaged."""

CHOSEN = {
    "nesterov": (nesterov, style.METHODS["nesterov"]),
    "sgd": (sgd, style.METHODS["sgd"]),
    "gradient_descent": (gradient_descent, style.METHODS["one-over-L"]),
}
"""The parameters of each method for a curvature, and its look."""

Q = 32.0
"""Condition number of the problem."""

DIMENSION = 100
"""Its dimension."""

TAILS = (0.3, 0.0, -0.3, -0.6, -0.85)
"""Momenta of the tails. The variance at lambda = mu is smallest at -0.85, at lambda = L at -0.5."""

LENGTHS = (0, 1, 2, 4, 8, 16, 32, 64, 128)
"""Steps of the tails: after 128, the flattest direction no longer depends on the steps before."""

COMPARED_RATE = 0.9
"""The rate at which the text compares methods of equal speed."""

_RATES = (0.5, 0.6, 0.7, 0.8, 0.85, COMPARED_RATE, 0.95, 0.98, 0.99)
"""Rates in the figure."""

_COLOURS = (style.GREEN, style.BLACK, style.BLUE, style.SKY, style.ORANGE)


def noise_floor_slopes(
    *, Q: Sequence[float] | None = None, repeats: int = 16, seed: int = 0
) -> xr.Dataset:
    """Data of the figure: exact and measured noise floors over Q, in units of L and sigma.

    Parameters
    ----------
    Q
        Condition numbers; by default 14 from 2 to 10⁴.
    repeats
        Number of runs of each method, for the standard errors.
    seed
        Of the noise.

    Returns
    -------
    xarray.Dataset
        Over (algorithm, Q): ``variance`` L² Var y / sigma² in the worst direction, exact;
        ``variance_at_mu``, exact, with ``measured`` and ``measured_se``; ``objective``
        L (E f - f*) / sigma² in its worst direction, exact; ``paper`` the coefficient of Theorem 1.
    """
    ratios = np.geomspace(2.0, 1e4, 14) if Q is None else np.asarray(Q, dtype=np.float64)
    curvature = Curvature(1.0 / ratios, np.ones_like(ratios))
    rows = []
    for i, (choose, _) in enumerate(CHOSEN.values()):
        method = choose(curvature)
        measured, errors = np.transpose(
            [_measure(ratio, choose, repeats, seed + i) for ratio in ratios]
        )
        rows.append(
            {
                "variance": exact_noise_coefficient(curvature, method),
                "variance_at_mu": stationary_variance(curvature.mu, method).y,
                "objective": exact_noise_coefficient(curvature, method, quantity="objective"),
                "paper": paper_noise_coefficient(curvature, method, c_epsilon=True),
                "measured": measured,
                "measured_se": errors,
            }
        )

    return xr.Dataset(
        {name: (("algorithm", "Q"), np.stack([row[name] for row in rows])) for name in rows[0]},
        coords={"algorithm": list(CHOSEN), "Q": ratios},
        attrs={"repeats": repeats, "seed": seed, "copies": COPIES},
    )


def _measure(
    ratio: float, choose: Callable[[Curvature], Method], repeats: int, seed: int
) -> tuple[float, float]:
    """L² Var y / sigma² in the direction mu, and its standard error."""
    curvature = Curvature(1.0 / ratio, 1.0)
    method = choose(curvature)
    problem = Quadratic(np.eye(COPIES) / ratio, curvature=curvature, name="flat direction")

    # Forty times as long as SGD, the slowest, needs to forget its start.
    time = 20.0 * ratio if method.beta == 0.0 else 200.0 * ratio**0.5
    floors = sweep(
        problem, method.alpha, method.beta, steps=int(2000 + time), sigma2=1.0, start=0.0,
        repeats=repeats, measure=("floor",), seed=seed,
    )  # fmt: skip
    floor = floors["floor"].item()
    error = floors["floor_se"].item()

    # Var y is the square of the floor, hence the factor of twice the floor in its error; a mean
    # over the copies.
    return floor**2 / COPIES, 2.0 * floor * error / COPIES


def slopes(values: xr.DataArray, above: float = 100.0) -> dict[str, float]:
    """Slope of ln(values) against ln Q for each algorithm, over Q >= ``above``."""
    large = values.sel(Q=values["Q"] >= above)
    x = np.log(large["Q"].values)
    return {
        str(row["algorithm"].item()): float(np.polyfit(x, np.log(row.values), 1)[0])
        for row in large
    }


@style.styled
def draw_noise_floor_slopes(data: xr.Dataset) -> style.Figure:
    """Draw the noise floors of the iterate and of the objective over Q."""
    figure, axes = style.panels(1, 2, height=3.0)
    left, right = axes[0]
    ratios = data["Q"].values
    fitted = slopes(data["measured"])
    for name, (_, (words, colour, marker)) in CHOSEN.items():
        one = data.sel(algorithm=name)
        look: Any = {"color": colour, "marker": marker, "markersize": 3.5}
        left.loglog(ratios, one["variance_at_mu"], color=colour)
        left.errorbar(
            ratios, one["measured"], 2.0 * one["measured_se"], linestyle="", elinewidth=0.8,
            label=f"{words}: slope {fitted[name]:.2f}", **look,
        )  # fmt: skip
        right.loglog(ratios, one["objective"], label=words, **look)

    paper = data["paper"].sel(algorithm="nesterov")
    words = "standard Nesterov by Theorem 1"
    left.loglog(ratios, paper, color=style.RED, linestyle="--", linewidth=0.9, label=words)
    left.set(xlabel="condition number Q", ylabel="L² Var y / σ²  in direction μ")
    left.set_title("iterate: lines exact, points measured")
    right.set(xlabel="condition number Q", ylabel="L (E f − f*) / σ², worst direction")
    right.set_title("objective, exact")
    for axis in axes[0]:
        axis.margins(y=0.35)
        axis.legend(loc="upper left")

    return style.finish(figure, axes)


def findings(data: xr.Dataset) -> list[str]:
    """Describe the slopes of the noise floors."""
    fitted = slopes(data["measured"])
    off = np.abs(data["measured"] - data["variance_at_mu"]) / data["measured_se"]

    largest = data.isel(Q=-1)
    floors = largest["variance"]
    ratio = float(floors.sel(algorithm="nesterov") / floors.sel(algorithm="sgd"))

    return [
        "Slopes of the measured variance over Q >= 100: standard Nesterov "
        f"{fitted['nesterov']:.3f} (limit 3/2), SGD {fitted['sgd']:.3f} (limit 1).",
        f"At Q = {float(largest['Q']):.0f} the noise floor of standard Nesterov is {ratio:.1f} "
        "times that of SGD.",
        f"Measured and exact differ by {float(off.max()):.1f} standard errors at most, over "
        f"{off.size} comparisons.",
    ]


def negative_momentum(
    *,
    betas: Sequence[float] = TAILS,
    lengths: Sequence[int] = LENGTHS,
    steps: int = 400,
    trajectories: int = 200,
    seed: int = 0,
) -> xr.Dataset:
    """Data of the figure: E‖y - x*‖² after a tail with another momentum, exact and measured.

    Worst-case quadratic, Q = 32, d = 100, noise of variance 1 per coordinate. Standard Nesterov
    runs from x* until it reaches its noise floor; the last steps use another momentum with the same
    alpha.

    Parameters
    ----------
    betas
        Momenta of the tails.
    lengths
        Steps of the tails.
    steps
        Steps of a whole run.
    trajectories
        Number of runs for each measured mean square.
    seed
        Seed of the noise.

    Returns
    -------
    xarray.Dataset
        Over (tail_beta, length): ``exact``, ``measured`` and ``measured_se``, divided by the mean
        square without a tail; ``sgd_step`` (length), the same for a tail of SGD at 2/(mu + L). Over
        beta: the stationary ``variance_mu`` and ``variance_L``, divided by those at beta = 0. Over
        rate: ``fixed_rate_negative`` and ``fixed_rate_critical``, the smallest variance of one
        direction at that rate with negative momentum and with critical damping, divided by SGD's.
    """
    problem = worst_case_quadratic(Q, DIMENSION)
    standard = nesterov(problem.curvature)

    def squares(beta: float, length: int) -> FloatArray:
        """‖y - x*‖² of every run at its end."""
        tail = Tail(length, beta) if length else None
        runs = ensemble(
            problem, standard, [steps], trajectories=trajectories, sampling=None, sigma2=1.0,
            schedule=tail, seed=seed, start=problem.minimiser,
        )  # fmt: skip
        return np.asarray(runs.norms[0] ** 2)

    without = _after(problem, standard, steps, 0)
    ends = np.array([[squares(b, length) for length in lengths] for b in betas]) / without
    # With the momentum of each tail, then with SGD's step and momentum.
    methods = [*(Method(standard.alpha, b) for b in betas), sgd(problem.curvature)]
    squared = [[_after(problem, tail, steps, length) for length in lengths] for tail in methods]
    *exact, plain = np.array(squared) / without
    tails = ("tail_beta", "length")

    # A hundredth apart, without the ends -1 and 1, where the variance is unbounded.
    momenta = np.linspace(-0.98, 0.9, 189)
    rates = np.array(_RATES)
    negative, critical = fixed_rate(rates)

    return xr.Dataset(
        {
            "exact": (tails, exact),
            "sgd_step": ("length", plain),
            "measured": (tails, ends.mean(axis=-1)),
            "measured_se": (tails, ends.std(axis=-1, ddof=1) / np.sqrt(trajectories)),
            "variance_mu": ("beta", _relative(1.0 / Q, momenta)),
            "variance_L": ("beta", _relative(1.0, momenta)),
            "fixed_rate_negative": ("rate", negative),
            "fixed_rate_critical": ("rate", critical),
        },
        coords={"tail_beta": list(betas), "length": list(lengths), "beta": momenta, "rate": rates},
        attrs={"Q": Q, "d": DIMENSION, "steps": steps, "trajectories": trajectories, "seed": seed},
    )


def _after(problem: Quadratic, tail: Method, steps: int, length: int) -> float:
    """Exact E‖y - x*‖² after steps, the last ``length`` of them with ``tail``, from rest at x*."""
    standard = nesterov(problem.curvature)
    T, X = stationary_moments(problem.eigenvalues, standard)
    moments = X - np.linalg.matrix_power(T, steps - length) @ X
    if length:
        # The y of the last step before the tail has the look-ahead of the standard momentum.
        shift = np.array([[1.0, float(tail.gamma) - float(standard.gamma)], [0.0, 1.0]])
        T, X = stationary_moments(problem.eigenvalues, tail)
        moments = X + np.linalg.matrix_power(T, length) @ (moment_block(shift) @ moments - X)

    return float(moments[:, 0].sum())


def _relative(h: float, betas: FloatArray) -> FloatArray:
    """Stationary Var y of one direction with alpha lambda = h, divided by that without momentum."""
    plain = stationary_variance(h, Method(1.0)).y
    return np.asarray(stationary_variance(h, Method(1.0, betas)).y / plain)


def fixed_rate(rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Smallest Var y of one direction at a rate, over SGD's: negative momentum, critical damping.

    With momentum beta < 0 the rate is rho if q = 1 - alpha lambda = rho²/((1+beta) rho - beta).
    Critical damping has alpha lambda = (1-rho)² and beta = rho/(2-rho).

    Examples
    --------
    >>> negative, critical = fixed_rate(np.array([0.9]))
    >>> round(float(negative[0]), 3), round(float(critical[0]), 3)
    (0.981, 0.51)
    """
    # lambda = 1 throughout, so that alpha is alpha lambda. SGD has the rate 1 - alpha.
    plain = np.asarray(stationary_variance(1.0, Method(1.0 - rates)).y)

    # The smallest over a thousand momenta; the minimum is flat.
    betas = -np.linspace(0.0, 0.99, 1000)[:, None]
    alphas = 1.0 - rates**2 / ((1.0 + betas) * rates - betas)
    negative = np.asarray(stationary_variance(1.0, Method(np.maximum(alphas, 0.0), betas)).y)

    damped = Method((1.0 - rates) ** 2, rates / (2.0 - rates))
    critical = np.asarray(stationary_variance(1.0, damped).y)
    return negative.min(axis=0) / plain, critical / plain


@style.styled
def draw_negative_momentum(data: xr.Dataset) -> style.Figure:
    """Draw the error after a tail, the stationary variances, and the cost in rate."""
    figure, axes = style.panels(1, 3, height=2.9, width_ratios=[1.4, 1.0, 1.0])
    left, middle, right = axes[0]
    # The axis is logarithmic: length zero is drawn at half a step.
    place = np.maximum(data["length"].values, 0.5)
    for beta, colour in zip(data["tail_beta"].values, _COLOURS, strict=False):
        one = data.sel(tail_beta=beta)
        left.plot(place, one["exact"], color=colour, label=f"β = {beta:g}".replace("-", "−"))
        left.errorbar(
            place, one["measured"], 2.0 * one["measured_se"], color=colour, linestyle="",
            marker="o", markersize=2.5, elinewidth=0.7,
        )  # fmt: skip

    plain = style.METHODS["sgd"]
    left.plot(place, data["sgd_step"], color=plain.colour, linestyle="--", label=plain.words)
    left.set_xscale("log", base=2)
    left.set_xticks([0.5, 2, 8, 32, 128], ["0", "2", "8", "32", "128"])
    left.set(xlabel="length of the tail, steps", ylabel="E‖y − x*‖² / without a tail", ylim=(0, 2))
    left.set_title("tail after standard Nesterov, Q = 32")

    for name, colour, words, h in (
        ("variance_mu", style.ORANGE, "λ = μ = L/32", 1.0 / Q),
        ("variance_L", style.BLUE, "λ = L", 1.0),
    ):
        middle.semilogy(data["beta"], data[name], color=colour, label=words)
        # Where Var y of one direction is smallest for a fixed h = alpha lambda.
        best = -1.0 / (1.0 + np.sqrt(h))
        middle.plot(best, float(data[name].interp(beta=best)), "v", color=colour, markersize=5)

    middle.axhline(1.0, color="grey", linewidth=0.5)
    middle.set_yticks([0.5, 1.0, 2.0, 5.0], ["0.5", "1", "2", "5"])
    middle.set(xlabel="momentum β, at α = 1/L", ylabel="Var y / Var y at β = 0")
    middle.set_title("one direction; ▼ smallest")

    for name, line, colour, words in (
        ("fixed_rate_negative", "o-", style.ORANGE, "negative momentum, best"),
        ("fixed_rate_critical", "s-", style.GREEN, "critical damping, β > 0"),
    ):
        right.plot(data["rate"], data[name], line, color=colour, markersize=3, label=words)
    right.set(xlabel="rate ρ, the same for all", ylabel="Var y / SGD's", ylim=(0.0, 1.1))
    right.set_title("at equal speed")

    for axis in axes[0]:
        axis.minorticks_off()
        axis.legend(fontsize=7, columnspacing=0.8, ncols=2 if axis is left else 1)
    return style.finish(figure, axes)


def tail_findings(data: xr.Dataset) -> list[str]:
    """Describe the mean square after a tail with another momentum."""
    longest = data.isel(length=-1)
    pairs = zip(data["tail_beta"].values, longest["exact"].values, strict=True)
    values = ", ".join(f"{left:.3f} at beta = {beta:g}" for beta, left in pairs)

    compared = data.sel(rate=COMPARED_RATE)

    return [
        f"Mean square after {int(longest['length'])} steps of the tail, over that without: "
        f"{values}; {float(longest['sgd_step']):.3f} for SGD at 2/(mu+L).",
        f"At an equal rate of {COMPARED_RATE:g} the best negative momentum leaves "
        f"{float(compared['fixed_rate_negative']):.3f} of SGD's variance, critical damping "
        f"{float(compared['fixed_rate_critical']):.3f}.",
    ]
