"""What momentum does to noise: the floor of usual Nesterov against SGD over Q."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.figures.style import BLUE, GREEN, RED, name_panels, panels
from ravine.methods import Method, gradient_descent, nesterov, sgd
from ravine.problems.quadratic import Quadratic
from ravine.theory.noise.moments import (
    exact_noise_coefficient,
    paper_noise_coefficient,
    stationary_variance,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

COPIES = 32
"""Directions of curvature mu that are run side by side, to average over."""
METHODS = {"nesterov": nesterov, "sgd": sgd, "gradient_descent": gradient_descent}
_WORDS = {
    "nesterov": ("usual Nesterov", RED, "o"),
    "sgd": ("SGD, α = 2/(μ+L)", BLUE, "s"),
    "gradient_descent": ("SGD, α = 1/L", GREEN, "^"),
}


def noise_floor_slopes(
    *, Q: Sequence[float] | None = None, repeats: int = 16, seed: int = 0
) -> xr.Dataset:
    """Data of the figure: exact and measured noise floors over Q, in units of L and sigma.

    Parameters
    ----------
    Q
        Condition numbers; by default 14 from 2 to 10⁴.
    repeats
        Runs of each method, for the standard errors.
    seed
        Of the noise.

    Returns
    -------
    xarray.Dataset
        Over (algorithm, Q): ``variance`` L² Var y / sigma² in the worst direction, exact;
        ``variance_at_mu``, exact, with ``measured`` and ``measured_se``; ``objective``
        L (E f - f*) / sigma² in its worst direction, exact; ``paper`` the coefficient of Theorem 1.
    """
    import xarray as xr

    ratios = np.geomspace(2.0, 1e4, 14) if Q is None else np.asarray(Q, dtype=np.float64)
    curvature = Curvature(1.0 / ratios, np.ones_like(ratios))
    names = ("variance", "variance_at_mu", "objective", "paper")
    exact: dict[str, list[FloatArray]] = {name: [] for name in names}
    measured, errors = np.empty((3, len(ratios))), np.empty((3, len(ratios)))
    for i, choose in enumerate(METHODS.values()):
        method = choose(curvature)
        flat = np.asarray(stationary_variance(curvature.mu, method).y)
        steep = np.asarray(stationary_variance(curvature.L, method).y)
        exact["variance"].append(np.asarray(exact_noise_coefficient(curvature, method)))
        exact["variance_at_mu"].append(flat)
        exact["objective"].append(0.5 * np.maximum(curvature.mu * flat, curvature.L * steep))
        exact["paper"].append(
            np.asarray(paper_noise_coefficient(curvature, method, c_epsilon=True))
        )
        for j, ratio in enumerate(ratios):
            one = Method(float(np.broadcast_to(method.alpha, ratios.shape)[j]),
                         float(np.broadcast_to(method.beta, ratios.shape)[j]))  # fmt: skip
            measured[i, j], errors[i, j] = _measure(float(ratio), one, repeats, seed + i)
    return xr.Dataset(
        {
            **{name: (("algorithm", "Q"), np.stack(values)) for name, values in exact.items()},
            "measured": (("algorithm", "Q"), measured),
            "measured_se": (("algorithm", "Q"), errors),
        },
        coords={"algorithm": list(METHODS), "Q": ratios},
        attrs={"repeats": repeats, "seed": seed, "copies": COPIES},
    )


def _measure(ratio: float, method: Method, repeats: int, seed: int) -> tuple[float, float]:
    """L² Var y / sigma² in the direction mu, and its standard error."""
    from ravine.engine.sweep import sweep

    problem = Quadratic(
        np.eye(COPIES) / ratio, curvature=Curvature(1.0 / ratio, 1.0), name="flat direction"
    )
    # Long enough for the slowest, SGD, to forget its start forty times over.
    steps = int(2000 + 20.0 * ratio) if method.beta == 0.0 else int(2000 + 200.0 * ratio**0.5)
    found = sweep(
        problem, method.alpha, method.beta, steps=steps, sigma2=1.0, start=0.0, repeats=repeats,
        measure=("floor",), seed=seed,
    )  # fmt: skip
    floor, error = float(found["floor"].item()), float(found["floor_se"].item())
    return floor**2 / COPIES, 2.0 * floor * error / COPIES


def slopes(data: xr.Dataset, above: float = 100.0) -> dict[str, float]:
    """Slope of ln(measured variance at mu) against ln Q for each method, over Q >= ``above``."""
    large = data["Q"].values >= above
    x = np.log(data["Q"].values[large])
    return {
        str(name): float(np.polyfit(x, np.log(row[large]), 1)[0])
        for name, row in zip(data["algorithm"].values, data["measured"].values, strict=True)
    }


def draw_noise_floor_slopes(data: xr.Dataset) -> Figure:
    """Draw the noise floors of the iterate and of the objective over Q."""
    figure, axes = panels(1, 2, height=3.0)
    left, right = axes[0]
    ratios = data["Q"].values
    found = slopes(data)
    for name, (words, colour, marker) in _WORDS.items():
        one = data.sel(algorithm=name)
        label = f"{words}: slope {found[name]:.2f}"
        left.loglog(ratios, one["variance_at_mu"], color=colour)
        left.errorbar(
            ratios, one["measured"], 2.0 * one["measured_se"], color=colour, linestyle="",
            marker=marker, markersize=3.5, label=label, elinewidth=0.8,
        )  # fmt: skip
        right.loglog(ratios, one["objective"], color=colour, marker=marker, markersize=3.5,
                     label=words)  # fmt: skip
    left.loglog(
        ratios, data["paper"].sel(algorithm="nesterov"), color=RED, linestyle="--", linewidth=0.9,
        label="usual Nesterov by Theorem 1",
    )  # fmt: skip
    left.set(xlabel="condition number Q", ylabel="L² Var y / σ²  in direction μ")
    left.set_title("iterate: lines exact, points measured", fontsize=8.0)
    right.set(xlabel="condition number Q", ylabel="L (E f − f*) / σ²  in the worst direction")
    right.set_title("objective, exact", fontsize=8.0)
    for axis in axes[0]:
        axis.legend(fontsize=6.5, frameon=False, loc="upper left")
    name_panels(axes)
    return figure
