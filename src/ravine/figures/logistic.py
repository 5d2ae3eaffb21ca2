"""Appendix figure: the rate on multinomial logistic regression, with and without momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.figures.style import (
    CONTOUR,
    NOTHING,
    cell_centres,
    cell_edges,
    name_panels,
    panels,
)
from ravine.methods import Method, nesterov
from ravine.problems.logistic import multinomial_logistic
from ravine.problems.problem import Problem
from ravine.theory.ladder.rates import spectral_radius

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

PROBLEMS = ((30.0, 1.0, 0.03986), (45.0, 0.5, 0.01989), (60.0, 0.3, 0.01361))
"""Condition number wished for, separation of the classes, weight of the regulariser."""
SIGMA2 = 1e-20
"""Of the noise on each coordinate: small, so that many decades of decay lie above its floor."""
ALPHA_RANGE = (0.0, 3.0)
BETA_RANGE = (-0.5, 1.0)


def noisy_logistic(
    *, resolution: int = 100, steps: int = 500, seed: int = 0, **options: Any
) -> xr.Dataset:
    """Data of the figure: fitted rates over (alpha L, beta) at Q near 30, 45 and 60.

    5 classes, 100 samples of 10 features, 5 of them informative. The objective is not quadratic:
    mu and L are the extreme eigenvalues of the Hessian met along a run.

    Parameters
    ----------
    resolution
        Pixels along each axis.
    steps
        Steps of a run.
    seed
        Of the data and of the noise.
    options
        Passed on to ``ravine.engine.sweep.sweep``.

    Returns
    -------
    xarray.Dataset
        ``rate`` (Q, alpha_L, beta), fitted; ``sgd_rate`` (Q, alpha_L), at beta = 0 exactly;
        both NaN where the runs do not settle; ``spectral_radius`` of a quadratic with the same
        mu and L; ``mu``, ``L`` (Q), and ``local_Q``, the condition number at the
        minimiser, which sets the final rate.
    """
    import xarray as xr

    from ravine.engine.sweep import sweep

    alphas, betas = cell_centres(*ALPHA_RANGE, resolution), cell_centres(*BETA_RANGE, resolution)
    names = ("rate", "sgd_rate", "spectral_radius", "mu", "L", "local_Q")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for _, separation, l2 in PROBLEMS:
        problem = multinomial_logistic(separation=separation, l2=l2, seed=seed)
        met = _curvature_met(problem, seed)
        step = alphas / float(met.L)
        given: dict[str, Any] = {
            "steps": steps,
            "sigma2": SIGMA2,
            "measure": ("rate", "outcome", "final_error"),
            "seed": seed,
            "start": _random_weights(problem, seed),
        }
        plane = sweep(problem, step, betas, **given, **options)
        line = sweep(problem, step, [0.0], **given, **options)
        distance = float(np.linalg.norm(given["start"] - problem.minimiser))
        found["rate"].append(_settled(plane, distance, float(met.L), steps))
        found["sgd_rate"].append(_settled(line, distance, float(met.L), steps)[:, 0])
        method = Method(step[:, None], betas[None, :])
        found["spectral_radius"].append(np.asarray(spectral_radius(met, method)))
        found["mu"].append(float(met.mu))
        found["L"].append(float(met.L))
        local = np.linalg.eigvalsh(problem.hessian())
        found["local_Q"].append(float(local[-1] / local[0]))
    dims = {"sgd_rate": ("Q", "alpha_L"), "mu": ("Q",), "L": ("Q",), "local_Q": ("Q",)}
    ratios = np.array(found["L"]) / np.array(found["mu"])
    return xr.Dataset(
        {
            name: (dims.get(name, ("Q", "alpha_L", "beta")), np.stack(values))
            for name, values in found.items()
        },
        coords={"Q": ratios, "alpha_L": alphas, "beta": betas},
        attrs={"steps": steps, "sigma2": SIGMA2, "seed": seed},
    )


def _settled(found: xr.Dataset, distance: float, L: float, steps: int) -> FloatArray:
    """The rates of the runs that converge; NaN for the others.

    The fitted rate, where it explains how close the run came. It need not: gradients of the loss
    are bounded, so a step that is too large ends in a cycle around x*, not at infinity. And for
    steps below 1/L, where there are no cycles, a run can be too slow to fit before it ends: there
    the mean factor a step counts.
    """
    from ravine.engine.measures import Outcome

    rate, final = found["rate"].values, found["final_error"].values / distance
    small = (found["alpha"].values * L < 1.0)[:, None]
    with np.errstate(invalid="ignore"):
        explained = (final < 100.0 * rate**steps) & (rate < 1.0)
        converged = found["outcome"].values == int(Outcome.CONVERGED)
        fitted = np.where(converged | (explained & (small | (final < 1e-3))), rate, np.nan)
        return np.where(small & ~converged & ~explained, final ** (1.0 / steps), fitted)


def _curvature_met(problem: Problem, seed: int) -> Curvature:
    """Extreme eigenvalues of the Hessian at every point of a run with the usual parameters."""
    from ravine.engine.run import run

    trace = run(
        problem, nesterov(problem.curvature), 100, sampling=None, sigma2=SIGMA2, seed=seed,
        start=_random_weights(problem, seed),
    )  # fmt: skip
    return problem.curvature_along(trace.y)


def _random_weights(problem: Problem, seed: int) -> FloatArray:
    """Weights to start from. From zero the flattest directions would never be met.

    Adding the same to the weights of all classes changes the regulariser alone, and the gradient
    at zero has no part in that.
    """
    return 0.1 * np.random.default_rng(seed).standard_normal(problem.dimension)


def advantage(data: xr.Dataset) -> dict[str, list[float]]:
    """The best rate with momentum and without, and how many times as fast, for each Q."""
    out: dict[str, list[float]] = {"momentum": [], "sgd": [], "speed_up": []}
    for i in range(data.sizes["Q"]):
        one = data.isel(Q=i)
        best = _least(one["rate"].values[:, one["beta"].values > 0.0], (3, 3))
        plain = _least(one["sgd_rate"].values, (3,))
        out["momentum"].append(best)
        out["sgd"].append(plain)
        out["speed_up"].append(float(np.log(best) / np.log(plain)))
    return out


def _least(rates: FloatArray, window: tuple[int, ...]) -> float:
    """The least median over neighbouring pixels: no single fit makes a record."""
    around = np.lib.stride_tricks.sliding_window_view(np.nan_to_num(rates, nan=1.0), window)
    return float(np.median(around, axis=tuple(range(-len(window), 0))).min())


def draw_noisy_logistic(data: xr.Dataset) -> Figure:
    """Draw the rate maps with the line beta = 0 and the contour of the quadratic theory."""
    from matplotlib import colormaps
    from matplotlib.colors import PowerNorm
    from matplotlib.lines import Line2D

    figure, axes = panels(1, data.sizes["Q"], height=3.1, sharey=True)
    colours = colormaps["cividis_r"].with_extremes(bad=NOTHING)
    speed = advantage(data)["speed_up"]
    for i, axis in enumerate(axes[0]):
        one = data.isel(Q=i)
        rate = one["rate"].values
        image = axis.imshow(
            np.ma.masked_invalid(rate).T, norm=PowerNorm(2.0, 0.6, 1.0), cmap=colours,
            origin="lower", aspect="auto", interpolation="nearest",
            extent=(*cell_edges(one["alpha_L"]), *cell_edges(one["beta"])),
        )  # fmt: skip
        axis.contour(
            one["alpha_L"], one["beta"], one["spectral_radius"].T, levels=[1.0],
            colors=[CONTOUR], linewidths=1.0,
        )  # fmt: skip
        axis.axhline(0.0, color="white", linestyle="--", linewidth=1.0)
        axis.set_title(f"Q = {float(one['Q']):.1f}: {speed[i]:.2f} × SGD", fontsize=8.0)
        axis.set_xlabel("step size αL", fontsize=8.0)
    axes[0, 0].set_ylabel("momentum β", fontsize=8.0)
    bar = figure.colorbar(image, ax=axes, aspect=30, pad=0.01)
    bar.set_ticks([0.6, 0.7, 0.8, 0.9, 1.0])
    bar.set_label("fitted rate a step", fontsize=8.0)
    bar.ax.tick_params(labelsize=7.0)
    name_panels(axes)
    handles = [
        Line2D([], [], color="#9a9a9a", linestyle="--", label="β = 0: SGD (white)"),
        Line2D([], [], color=CONTOUR, label="ρ = 1 of a quadratic with the same μ, L"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=7.5)
    return figure
