"""Maps of the (alpha, beta) plane: the nested regions of the ladder, a quantity, or a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from ravine import __version__
from ravine.arguments import FloatArray, Refusal, known_name, one_number, refuse_too_large, whole
from ravine.curvature import Curvature
from ravine.figures import plane, style
from ravine.methods import Method
from ravine.theory.ladder.batch_noise import SINGLE_TERMS, Batches
from ravine.theory.ladder.rungs import RUNGS
from ravine.theory.ladder.safety import safe_step
from ravine.theory.noise.moments import exact_noise_coefficient

CONDITION_NUMBERS = (2.0, 8.0, 32.0, 128.0)
"""Condition numbers of the panels: below and above 11.66 and 17.06, where textbook Nesterov loses
guarantees."""

_WIDE = (0.0, 3.0)
"""Range of alpha L there; beyond 3 only a corner at negative momentum is stable."""

_ROUNDING = 1e-12
"""Relative excess of a rung over the next that is attributed to rounding: at some pixels they are
equal."""

_AXES = ("alpha_L", "beta")
_NOISE = "noise_floor"
_NOISE_NAME = "L² E‖y − x*‖² / σ², worst direction"

_KEYS = ("regions", *(rung.key for rung in RUNGS), _NOISE)
QUANTITIES = tuple(key.replace("_", "-") for key in _KEYS)
"""Quantities of a map: the nested regions of all rungs, one rung, or the noise floor."""

_OUTCOMES = ("#3d85bd", "#8fbfdf", "#f3eee3", "#5c5c5c")
"""Colours of converged, noise floor, undecided, diverged: the order of their numbers."""

_LOGARITHMIC = ("floor", "floor_sup", "final_error", "diverged_at", "rate_start", "rate_stop")
"""Measures that span many powers of ten."""

_FINE = 160
"""Points along each axis for contours that look smooth."""

_DECADES = 1e12
"""Ratio of the largest to the smallest value on a logarithmic scale; diverging runs exceed it."""


def parameter_map(
    Q: float,
    *,
    resolution: int = 400,
    alpha_range: tuple[float, float] = (0.0, 2.5),
    beta_range: tuple[float, float] = (-1.0, 1.0),
    batches: Batches = SINGLE_TERMS,
) -> xr.Dataset:
    """Every rung of the ladder and the noise floor over (alpha L, beta), for Nesterov's method.

    Parameters
    ----------
    Q
        Condition number, at least 1. The map is in units of L = 1.
    resolution
        Pixels along each axis, at least 2. Pixels lie at the centres of equal cells.
    alpha_range
        Smallest and largest alpha L, from zero up.
    beta_range
        Smallest and largest momentum.
    batches
        Curvature of single terms, in units of L, and size of the batches.

    Returns
    -------
    xarray.Dataset
        Over ``alpha_L`` and ``beta``: a variable for every rung by its key, and ``noise_floor``.
        For a rung with two bounds it is the upper one; ``commuting_lower`` is the other.

    Examples
    --------
    >>> data = parameter_map(8, resolution=4)
    >>> dict(data.sizes)
    {'alpha_L': 4, 'beta': 4}
    """
    ratio = one_number("Q", Q, "positive", remedy="give a condition number, e.g. Q=32")
    if ratio < 1.0:
        raise Refusal("Q", "at least 1", f"{ratio:g}", "it is L/mu")

    pixels = whole("resolution", resolution, 2, remedy="give pixels along an axis, e.g. 400")
    # Eight planes, and about as many temporary ones.
    refuse_too_large("resolution", 128 * pixels**2, pixels, "give fewer pixels")
    alphas = _centres("alpha_range", alpha_range, pixels)
    betas = _centres("beta_range", beta_range, pixels)
    curvature = Curvature(1.0 / ratio, 1.0)
    method = Method(alphas[:, None], betas[None, :])
    data = xr.Dataset(
        coords={"alpha_L": alphas, "beta": betas},
        attrs={
            "Q": ratio,
            "method": "Nesterov (gamma = beta)",
            "batch_size": batches.batch_size,
            "ravine_version": __version__,
        },
    )

    for rung in RUNGS:
        rate = rung.rate(curvature, method, batches)
        if rung.bracketed:
            lower = rung.key.removesuffix("_rate") + "_lower"
            data[lower] = (_AXES, rate.lower, {"long_name": f"{rung.name}, lower bound"})
        words = f"{rung.name}, upper bound" if rung.bracketed else rung.title
        data[rung.key] = (_AXES, rate.upper, {"long_name": words})

    floor = exact_noise_coefficient(curvature, method)
    data[_NOISE] = (_AXES, floor, {"long_name": _NOISE_NAME})
    data["alpha_L"].attrs["long_name"] = "step size times smoothness"
    data["beta"].attrs["long_name"] = "momentum"
    return data


def _centres(name: str, ends: tuple[float, float], pixels: int) -> FloatArray:
    low, high = (one_number(name, end, remedy="give the smaller number first") for end in ends)
    if not low < high:
        rule = "two numbers, the smaller first"
        raise Refusal(name, rule, f"{low:g}, {high:g}", "swap or widen them")

    return style.cell_centres(low, high, pixels)


def _plane(data: xr.Dataset, Q: float, *keys: str) -> plane.Plane:
    """The plane of a :func:`parameter_map` at Q, with all rungs or those of the given keys."""
    rates = {key: data[key].values.T for key in keys or [rung.key for rung in RUNGS]}
    marks = plane.standard_marks(Curvature(1.0 / Q, 1.0))
    return plane.rated_plane(data["alpha_L"].values, data["beta"].values, rates, marks)


def draw_parameter_map(data: xr.Dataset, quantity: str = "regions") -> style.Figure:
    """Draw a :func:`parameter_map`: the nested regions, or one of ``QUANTITIES`` in colour."""
    known_name("quantity", quantity, QUANTITIES)
    Q = data.attrs["Q"]
    if quantity == "regions":
        title = f"Where Nesterov's method is safe, Q = {Q:g}"
        return plane.plane_figure(_plane(data, Q), title, over=_draw_safe_step)

    values = data[quantity.replace("-", "_")]
    # A noise floor exists only where exact gradients converge, so the line is theirs.
    edge = "spectral_radius" if values.name == _NOISE else str(values.name)
    title = f"{values.attrs['long_name']}, Q = {Q:g}"
    under = partial(_draw_quantity, values)
    return plane.plane_figure(_plane(data, Q, edge), title, under=under, over=_draw_safe_step)


def _draw_quantity(values: xr.DataArray, axes: style.Axes) -> None:
    """One quantity in colour: a noise floor on a logarithmic scale, a rate up to 1."""
    from matplotlib.colors import LogNorm, Normalize

    shown = values.where(np.isfinite(values))
    if values.name == _NOISE:
        # Four decades from the lowest twentieth; only the edge of stability exceeds them.
        low = float(shown.quantile(0.05))
        norm: Normalize = LogNorm(low, 1e4 * low)
    else:
        # A map with slow rates everywhere still shows a range of colours.
        norm = Normalize(min(float(shown.min()), 0.99), 1.0)
        shown = shown.where(values < 1.0)

    mesh = style.draw_map(axes, values["alpha_L"], values["beta"], shown, norm)
    axes.figure.colorbar(mesh, ax=axes, label=values.attrs["long_name"], extend="max")


def _draw_safe_step(axes: style.Axes) -> None:
    """Draw the largest step that is safe for every mu, against momentum."""
    betas = np.linspace(-0.999, 0.999, 800)
    label = "largest step safe for every μ"
    axes.plot(safe_step(1.0, betas), betas, "--", color=style.ORANGE, label=label)


def nested_regions(*, resolution: int = 100, Q: Sequence[float] = CONDITION_NUMBERS) -> xr.Dataset:
    """Data of the reproduction's figure: every rung over (Q, alpha_L, beta).

    Parameters
    ----------
    resolution
        Pixels along each axis.
    Q
        Condition numbers.
    """
    maps = [parameter_map(ratio, resolution=resolution, alpha_range=_WIDE) for ratio in Q]
    return style.over_ratios(maps, Q, seed=0)


def areas(data: xr.Dataset) -> dict[str, list[float]]:
    """Share of the plane inside each region, for each Q, and the degree of nesting.

    ``nested`` is the share of pixels at which the rungs are in order.
    """
    rates = [data[rung.key].values for rung in RUNGS]
    ordered = np.all([a <= b * (1.0 + _ROUNDING) for a, b in pairwise(rates)], axis=0)
    shares = {rung.key: (data[rung.key] < 1.0).mean(_AXES).values.tolist() for rung in RUNGS}
    return shares | {"nested": ordered.mean(axis=(1, 2)).tolist()}


@style.styled
def draw_nested_regions(data: xr.Dataset) -> style.Figure:
    """Draw the nested regions, a panel for each Q."""
    figure, axes = style.panels(1, data.sizes["Q"], height=3.2, sharey=True)
    for axis, Q in zip(axes[0], data["Q"].values, strict=True):
        plane.draw_plane(axis, _plane(data.sel(Q=Q), Q), labels=False)
        _draw_safe_step(axis)
        axis.set_title(f"Q = {Q:g}")

    return style.finish(figure, axes, 2)


def findings(data: xr.Dataset) -> list[str]:
    """Describe the sizes of the nested regions."""
    shares = areas(data)
    lines = [
        f"Share of the plane, {rung.region}: {style.at_each_ratio(data, shares[rung.key], '.1%')}."
        for rung in RUNGS
    ]
    lines.append(f"The rungs are in order on {min(shares['nested']):.1%} of the pixels.")
    return lines


def shown_measure(data: xr.Dataset, measure: str | None = None) -> xr.DataArray:
    """The measure of a sweep to draw, by name or the first one, with ascending axes.

    Parameters
    ----------
    data
        The result of ``ravine.engine.sweep.sweep`` for a plane of at least 2 x 2 pixels.
    measure
        One of its variables. Default: the first.

    Examples
    --------
    >>> from ravine.engine.sweep import sweep
    >>> from ravine.problems import worst_case_quadratic
    >>> swept = sweep(worst_case_quadratic(8, 5), [0.2, 0.1], [0.0, 0.5], steps=50, threads=1)
    >>> shown_measure(swept, "rate")["alpha"].values.tolist()
    [0.1, 0.2]
    """
    if "pair" in data.sizes or min(data.sizes.values()) < 2:
        sizes = " x ".join(str(n) for n in data.sizes.values())
        rule = "a plane of at least 2 x 2 pixels"
        raise Refusal("the sweep", rule, sizes, "sweep over two axes")

    names = [str(name) for name in data.data_vars]
    chosen = names[0] if measure is None else known_name("measure", measure, names)
    return data[chosen].sortby(["alpha", "beta"])


def sweep_plane(data: xr.Dataset) -> plane.Plane:
    """The rungs of the ladder for the curvature of a sweep, on an even grid over its axes.

    A sweep with its own look-ahead has it only at its pixels, so some of these are used instead.
    """
    curvature = Curvature(data.attrs["mu"], data.attrs["L"])
    ordered = data.sortby(["alpha", "beta"])
    steps = ordered["alpha"].values * data.attrs["L"]
    momenta = ordered["beta"].values
    if "gamma" not in ordered.coords:
        ends = (np.linspace(axis[0], axis[-1], _FINE) for axis in (steps, momenta))
        return plane.ladder_plane(curvature, *ends)

    i, j = (
        np.unique(np.linspace(0, len(axis) - 1, _FINE).round().astype(int))
        for axis in (steps, momenta)
    )
    gamma = ordered["gamma"].values[np.ix_(i, j)].T
    return plane.ladder_plane(curvature, steps[i], momenta[j], gamma=gamma)


def draw_sweep_map(data: xr.Dataset, measure: str | None = None) -> style.Figure:
    """Draw one measure of a sweep, as in :func:`shown_measure`, with the ladder on top."""
    shown = shown_measure(data, measure)
    Q = data.attrs["L"] / data.attrs["mu"]
    title = f"{data.attrs['problem']}, Q = {Q:g}, {data.attrs['steps']} steps"
    under = partial(_draw_measure, shown, shown["alpha"] * data.attrs["L"])
    return plane.plane_figure(sweep_plane(data), title, under=under)


def _draw_measure(shown: xr.DataArray, steps: xr.DataArray, axes: style.Axes) -> None:
    """A measure in colour with a colour bar; outcomes are in the legend instead."""
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    if shown.name == "diverged_at":
        shown = shown.where(shown > 0)

    # A logarithmic scale for measures over many powers of ten, up to diverging runs.
    logarithmic = shown.name in _LOGARITHMIC
    known = shown.values[np.isfinite(shown) & ((shown > 0.0) | (not logarithmic))]
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    norm = Normalize(low, min(high, 1.0) if shown.name == "rate" and low < 1.0 else high)
    if logarithmic and 0.0 < low < high:
        norm = LogNorm(low, min(high, _DECADES * low))
    if shown.name == "outcome":
        norm = Normalize(-0.5, 3.5)  # each whole number lies in the middle of its colour

    mesh = style.draw_map(axes, steps, shown["beta"], shown, norm)
    if shown.name == "outcome":
        mesh.set_cmap(ListedColormap(_OUTCOMES))
        for colour, words in zip(_OUTCOMES, shown.attrs["flag_meanings"].split(), strict=True):
            look: Any = {"facecolor": colour, "edgecolor": "black", "linewidth": 0.5}
            axes.fill([], [], label=words.replace("_", " "), **look)
    else:
        axes.figure.colorbar(mesh, ax=axes, label=shown.attrs["long_name"])
