"""What each figure shows, in sentences made from its data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ravine.figures.inconsistent_batch import growth_agreement
from ravine.figures.logistic import advantage
from ravine.figures.nested_regions import areas
from ravine.figures.noise_floor_slopes import slopes
from ravine.figures.noise_plane import agreement
from ravine.figures.sgd_finite_sum import tightness

if TYPE_CHECKING:
    import xarray as xr


def _each(data: xr.Dataset, values: object, form: str = ".2%") -> str:
    return ", ".join(
        f"{value:{form}} at Q = {Q:.3g}"
        for Q, value in zip(data["Q"].values, np.asarray(values), strict=True)
    )


def plane(data: xr.Dataset) -> list[str]:
    """Agreement of runs and theory over the plane."""
    found = agreement(data)
    return [
        "Diverges exactly where rho >= 1, farther than 0.01 from it: "
        f"{_each(data, found['outcome'])}.",
        f"Fitted rate within 0.01 of rho, of the stable pixels: {_each(data, found['rate'])}.",
        "Measured floor within 4 standard errors of the exact variance: "
        f"{_each(data, found['floor'])}.",
        "Exact coefficient of the worst direction above that of Theorem 1: "
        f"{_each(data, found['below_paper'], '.1%')} of the stable pixels.",
    ]


def growth(data: xr.Dataset) -> list[str]:
    """Measured growths against their closed forms."""
    found = growth_agreement(data)
    lines = [
        f"{found['inside']:.0f} of {found['compared']:.0f} growths and shares, measured over "
        f"{data.attrs['trajectories']} trajectories under five sampling rules, have the closed "
        "form within their limits (95 % for all together)."
    ]
    for rule in ("cyclic", "iid-no-repeat", "reshuffle-no-repeat"):
        one = data.sel(sampling=rule)
        pairs = ", ".join(
            f"n = {int(n)}: {m:.5f} (exact {e:.5f})"
            for n, m, e in zip(
                data["n"].values, one["almost_sure_measured"].values,
                one["almost_sure_exact"].values, strict=True,
            )
        )  # fmt: skip
        lines.append(f"Growth a step along almost every path, {rule}: {pairs}.")
    shares = ", ".join(
        f"{rule} {float(data['zero_measured'].sel(sampling=rule)[0]):.3%}"
        for rule in ("iid", "reshuffle")
    )
    lines.append(f"At the optimum exactly, n = {int(data['n'][0])}: {shares} of the trajectories.")
    return lines


def under_the_bound(data: xr.Dataset) -> list[str]:
    """How close the runs come to the bound."""
    found = tightness(data)
    mean = float((data["mean"] / data["bound"]).max())
    return [
        f"Largest mean distance over the bound: {mean:.4f}. Largest of the ten drawn runs: "
        f"{float((data['runs'] / data['bound']).max()):.4f}. Largest of all runs at any step: "
        f"{_each(data, found['largest'], '.3f')}.",
        f"Rate of the transient over (Q-1)/(Q+1): {_each(data, found['rate'], '.5f')}.",
        f"The bound's floor over the measured one: {_each(data, found['floor'], '.2f')}; "
        "independent draws average out, which leaves √Q.",
    ]


def acceleration(data: xr.Dataset) -> list[str]:
    """What momentum gains on the logistic problems."""
    found = advantage(data)
    return [
        f"Best rate with momentum: {_each(data, found['momentum'], '.4f')}.",
        f"Best rate of SGD: {_each(data, found['sgd'], '.4f')}.",
        f"Momentum is faster by a factor of {_each(data, found['speed_up'], '.2f')}.",
        "The condition number at the minimiser, which sets the final rate, is lower: "
        f"{_each(data, data['local_Q'].values, '.1f')}.",
    ]


def regions(data: xr.Dataset) -> list[str]:
    """Sizes of the nested regions."""
    found = areas(data)
    words = {
        "spectral_radius": "additive noise",
        "commuting_rate": "shared eigenvectors",
        "worst_case_rate": "every finite sum",
        "contraction": "the paper's guarantee",
    }
    return [
        *(f"Share of the plane, {text}: {_each(data, found[name], '.1%')}."
          for name, text in words.items()),
        f"The rungs are in order on {min(found['nested']):.1%} of the pixels.",
    ]  # fmt: skip


def threshold(data: xr.Dataset) -> list[str]:
    """Measured growth beside the closed form, and the threshold."""
    off = float(np.abs(data["measured"] / data["worst_case"] - 1.0).max())
    ratios, growing = data["Q"].values, data["measured"].values > 1.0
    return [
        f"Measured growth agrees with √2 (1 - 1/√Q) to {off:.0e}.",
        f"Converges at Q = {ratios[~growing].max():.4f}, diverges at Q = "
        f"{ratios[growing].min():.4f}; the threshold is {data.attrs['threshold']:.4f}.",
    ]


def slopes_found(data: xr.Dataset) -> list[str]:
    """Slopes of the noise floors."""
    found = slopes(data)
    off = np.abs(data["measured"] - data["variance_at_mu"]) / data["measured_se"]
    large = data["Q"].values[-1]
    ratio = float(
        data["variance"].sel(algorithm="nesterov")[-1] / data["variance"].sel(algorithm="sgd")[-1]
    )
    return [
        f"Slopes of the measured variance over Q >= 100: usual Nesterov {found['nesterov']:.3f} "
        f"(limit 3/2), SGD {found['sgd']:.3f} (limit 1).",
        f"At Q = {large:.0f} the noise floor of usual Nesterov is {ratio:.1f} times that of SGD.",
        f"Measured and exact differ by {float(off.max()):.1f} standard errors at most, over "
        f"{off.size} comparisons.",
    ]


def restarted(data: xr.Dataset) -> list[str]:
    """Growth with each restart rule."""
    return [
        f"{example}: " + ", ".join(
            f"{rule} {value:.4f}"
            for rule, value in zip(data["rule"].values, row, strict=True)
        ) + " a step."
        for example, row in zip(data["example"].values, data["growth"].values, strict=True)
    ]  # fmt: skip


def tails(data: xr.Dataset) -> list[str]:
    """What a tail with another momentum leaves."""
    last = data.isel(length=-1)
    values = ", ".join(
        f"{value:.3f} at beta = {beta:g}"
        for beta, value in zip(data["tail_beta"].values, last["exact"].values, strict=True)
    )
    rates = data["rate"].values == 0.9
    return [
        f"Mean square after {int(last['length'])} steps of the tail, over that without: {values}; "
        f"{float(last['sgd_step']):.3f} for SGD at 2/(mu+L).",
        "At an equal rate of 0.9 the best negative momentum leaves "
        f"{float(data['fixed_rate_negative'].values[rates][0]):.3f} of SGD's variance, critical "
        f"damping {float(data['fixed_rate_critical'].values[rates][0]):.3f}.",
    ]
