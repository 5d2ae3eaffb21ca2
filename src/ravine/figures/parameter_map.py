"""The (alpha, beta) plane: one quantity in colour, or the nested regions of the whole ladder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ravine import __version__
from ravine.arguments import FloatArray, Refusal, known_name, one_number, refuse_too_large, whole
from ravine.curvature import Curvature
from ravine.figures.plane import Plane, draw_plane, rung_regions, standard_marks
from ravine.figures.style import ORANGE, cell_centres, draw_map, finish, panels, styled
from ravine.methods import Method
from ravine.theory.ladder.batches import SINGLE_TERMS, Batches
from ravine.theory.ladder.rungs import RUNGS
from ravine.theory.ladder.safety import safe_step
from ravine.theory.noise.moments import exact_noise_coefficient

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

_AXES = ("alpha_L", "beta")
_NOISE = "noise_floor"
_NOISE_NAME = "L² E‖y − x*‖² / σ², worst direction"

QUANTITIES = (
    "regions",
    *(rung.key.replace("_", "-") for rung in RUNGS),
    _NOISE.replace("_", "-"),
)
"""What a map can show: the nested regions of all rungs, one rung, or the noise floor."""


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
        Over ``alpha_L`` and ``beta``: a variable for every rung by its key, and ``noise_floor``. Of
        a rung with two bounds it is the upper one; ``commuting_lower`` is the other.

    Examples
    --------
    >>> data = parameter_map(8, resolution=4)
    >>> dict(data.sizes)
    {'alpha_L': 4, 'beta': 4}
    """
    import xarray as xr

    ratio = one_number("Q", Q, "positive", remedy="give a condition number, e.g. Q=32")
    if ratio < 1.0:
        raise Refusal("Q", "at least 1", f"{ratio:g}", "it is L/mu")

    pixels = whole("resolution", resolution, 2, remedy="give pixels along an axis, e.g. 400")
    # Eight planes to keep, and about as many on the way to them.
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

    return cell_centres(low, high, pixels)


def map_plane(data: xr.Dataset, Q: float, *keys: str) -> Plane:
    """The plane of a :func:`parameter_map` at Q, with all rungs or those with these keys."""
    rates = {key: data[key].values.T for key in keys or [rung.key for rung in RUNGS]}
    marks = standard_marks(Curvature(1.0 / Q, 1.0))
    return Plane(data["alpha_L"].values, data["beta"].values, rung_regions(rates), marks)


@styled
def draw_parameter_map(data: xr.Dataset, quantity: str = "regions") -> Figure:
    """Draw a :func:`parameter_map`: the nested regions, or one of ``QUANTITIES`` in colour."""
    known_name("quantity", quantity, QUANTITIES)
    figure, axes = panels(1, 1, height=6.2)
    axis = axes[0, 0]
    Q = data.attrs["Q"]
    if quantity == "regions":
        axis.set_title(f"Where Nesterov's method is safe, Q = {Q:g}")
        draw_plane(axis, map_plane(data, Q))
    else:
        shown, norm, edge = _in_colour(data[quantity.replace("-", "_")])
        label = shown.attrs["long_name"]
        mesh = draw_map(axis, data["alpha_L"], data["beta"], shown, norm)
        figure.colorbar(mesh, ax=axis, label=label, extend="max")
        axis.set_title(f"{label}, Q = {Q:g}")
        draw_plane(axis, map_plane(data, Q, edge), filled=False)

    draw_safe_step(axis)
    return finish(figure, axes, 2)


def _in_colour(values: xr.DataArray) -> tuple[xr.DataArray, Normalize, str]:
    """What is shown of a quantity, its scale, and the rung around which a line is drawn."""
    from matplotlib.colors import LogNorm, Normalize

    finite = values.where(np.isfinite(values))
    if values.name == _NOISE:
        # Four decades from the quietest twentieth: beyond them lies the edge of stability alone.
        low = float(finite.quantile(0.05))
        return finite, LogNorm(low, 1e4 * low), "spectral_radius"

    # A map that is slow everywhere still shows a range of colours.
    norm = Normalize(min(float(finite.min()), 0.99), 1.0)
    return finite.where(values < 1.0), norm, str(values.name)


def draw_safe_step(axes: Axes) -> None:
    """Draw the largest step that is safe for every mu, over all momenta."""
    betas = np.linspace(-0.999, 0.999, 800)
    label = "largest step safe for every μ"
    axes.plot(safe_step(1.0, betas), betas, "--", color=ORANGE, label=label)
