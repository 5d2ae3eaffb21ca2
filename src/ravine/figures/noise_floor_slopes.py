"""Momentum amplifies noise: noise floors of standard Nesterov and SGD against Q."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ravine.curvature import Curvature
from ravine.engine.sweep import sweep
from ravine.figures.style import METHODS, RED, finish, panels, styled
from ravine.methods import Method, gradient_descent, nesterov, sgd
from ravine.problems import Quadratic
from ravine.theory.noise.moments import (
    exact_noise_coefficient,
    paper_noise_coefficient,
    stationary_variance,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COPIES = 32
"""Number of directions of curvature mu that run side by side and are averaged."""

CHOSEN = {
    "nesterov": (nesterov, METHODS["nesterov"]),
    "sgd": (sgd, METHODS["sgd"]),
    "gradient_descent": (gradient_descent, METHODS["one-over-L"]),
}
"""The parameters of each method for a curvature, and its look."""


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
        flat = stationary_variance(curvature.mu, method)
        measured, errors = np.transpose(
            [_measure(ratio, choose, repeats, seed + i) for ratio in ratios]
        )
        rows.append(
            {
                "variance": exact_noise_coefficient(curvature, method),
                "variance_at_mu": flat.y,
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


@styled
def draw_noise_floor_slopes(data: xr.Dataset) -> Figure:
    """Draw the noise floors of the iterate and of the objective over Q."""
    figure, axes = panels(1, 2, height=3.0)
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
    left.loglog(ratios, paper, color=RED, linestyle="--", linewidth=0.9, label=words)
    left.set(xlabel="condition number Q", ylabel="L² Var y / σ²  in direction μ")
    left.set_title("iterate: lines exact, points measured")
    right.set(xlabel="condition number Q", ylabel="L (E f − f*) / σ², worst direction")
    right.set_title("objective, exact")
    for axis in axes[0]:
        axis.margins(y=0.35)
        axis.legend(loc="upper left")

    return finish(figure, axes)


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
