"""The figures of the reproduction, by name: how each is computed, drawn, and put into words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any

import xarray as xr

from ravine.figures import (
    inconsistent_batch,
    logistic,
    negative_momentum,
    noise_floor_slopes,
    noise_plane,
    parameter_map,
    restart,
    sgd_finite_sum,
    turning_quadratics,
)
from ravine.theory.ladder.rungs import RUNGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUICK_RESOLUTION = 24
"""Pixels along an axis of a quick map: enough for the shares that the claims are judged by."""


@dataclass(frozen=True, kw_only=True)
class FigureEntry:
    """A figure of the reproduction.

    Attributes
    ----------
    title, caption
        For people.
    compute
        Keyword arguments to data; ``resolution``, ``seed`` and ``device`` among them where they
        apply, or any.
    draw
        Data to a picture.
    findings
        Data to sentences.
    quick
        Keyword arguments that make it fast.
    """

    title: str
    caption: str
    compute: Callable[..., xr.Dataset]
    draw: Callable[[xr.Dataset], Figure]
    findings: Callable[[xr.Dataset], list[str]]
    quick: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self, *, resolution: int, quick: bool, seed: int, device: str) -> dict[str, Any]:
        """The keyword arguments of ``compute``: those of these that it takes."""
        pixels = min(resolution, QUICK_RESOLUTION) if quick else resolution
        asked = {"resolution": pixels, "seed": seed, "device": device}
        known = signature(self.compute).parameters
        everything = any(one.kind is one.VAR_KEYWORD for one in known.values())
        taken = {name: value for name, value in asked.items() if everything or name in known}
        return {**(self.quick if quick else {}), **taken}


_NOISE = (
    "Rows: condition numbers. From the left: the noise coefficient of Theorem 1 with the paper's "
    "constant, the exact one of the worst direction, the exact one of this problem, and the "
    "measured one; then the spectral radius and the measured rate. Same colours throughout each "
    "group. Red: rho = 1. "
)
_QUICK_NOISE = {"rate_steps": 1000, "floor_steps": 600, "repeats": 16}

FIGURES: dict[str, FigureEntry] = {
    "figure-1": FigureEntry(
        title="Figure 1: the worst-case quadratic with additive noise",
        caption=f"{_NOISE}Dimension 100, noise of variance 0.0025 in each coordinate; each pixel "
        "its own run.",
        compute=noise_plane.stochastic_approximation,
        draw=noise_plane.draw_noise_plane,
        findings=noise_plane.findings,
        quick={"Q": (2.0, 32.0), **_QUICK_NOISE},
    ),
    "figure-2": FigureEntry(
        title="Figure 2: one inconsistent mini-batch",
        caption="The third coordinate of the paper's example, L = 100, mu = 0.05, standard "
        "parameters, reshuffled without repeats. Above each panel the exact almost sure rate per "
        "step. Logarithmic away from zero.",
        compute=inconsistent_batch.inconsistent_batch,
        draw=inconsistent_batch.draw_inconsistent_batch,
        findings=inconsistent_batch.findings,
        quick={"trajectories": 2000, "epochs": 6},
    ),
    "figure-3": FigureEntry(
        title="Figure 3: SGD on partitioned least squares",
        caption="25000 samples of 2 features in 50 mini-batches, each with condition number Q; "
        "step 2/(mu+L), one batch per step with replacement.",
        compute=sgd_finite_sum.sgd_finite_sum,
        draw=sgd_finite_sum.draw_sgd_finite_sum,
        findings=sgd_finite_sum.findings,
        quick={"trajectories": 200},
    ),
    "least-squares": FigureEntry(
        title="Appendix figure: random least squares with additive noise",
        caption=f"{_NOISE}500 samples of 10 features, noise of standard deviation 0.25.",
        compute=noise_plane.noisy_least_squares,
        draw=noise_plane.draw_noise_plane,
        findings=noise_plane.findings,
        quick={"Q": (8.0,), **_QUICK_NOISE},
    ),
    "logistic": FigureEntry(
        title="Appendix figure: multinomial logistic regression",
        caption="Fitted rate; 5 classes, 100 samples of 10 features, 5 of them informative. "
        "Separation and l2 were chosen to give these condition numbers, measured along a run. "
        "Grey: does not converge.",
        compute=logistic.noisy_logistic,
        draw=logistic.draw_noisy_logistic,
        findings=logistic.findings,
        quick={"steps": 400},
    ),
    "nested-regions": FigureEntry(
        title="Where convergence is certain: the whole ladder",
        caption="Each region lies inside the one before: "
        + "; ".join(rung.region for rung in RUNGS)
        + ".",
        compute=parameter_map.nested_regions,
        draw=parameter_map.draw_nested_regions,
        findings=parameter_map.findings,
    ),
    "turning-quadratics": FigureEntry(
        title="Four turning quadratics: the threshold 6 + 4√2",
        caption="Quadratics in the plane with axes at 0, 45, 90 and 135 degrees, visited in turn "
        "with the standard parameters. Their mean is perfectly conditioned.",
        compute=turning_quadratics.turning,
        draw=turning_quadratics.draw_turning,
        findings=turning_quadratics.findings,
    ),
    "noise-floors": FigureEntry(
        title="Noise floors: momentum amplifies noise",
        caption="Stationary variance in the flattest direction, and the objective in its worst "
        "direction, in units of L and sigma. Bars: two standard errors.",
        compute=noise_floor_slopes.noise_floor_slopes,
        draw=noise_floor_slopes.draw_noise_floor_slopes,
        findings=noise_floor_slopes.findings,
        quick={"Q": (2.0, 8.0, 32.0, 128.0, 1024.0, 4096.0)},
    ),
    "restart": FigureEntry(
        title="Restart on both examples",
        caption="Typical distance (geometric mean) with four restart rules: the paper's example "
        "with n = 50, Q = 2000, and the turning quadratics with Q = 32. Where curves coincide the "
        "last one covers the others.",
        compute=restart.restart,
        draw=restart.draw_restart,
        findings=restart.findings,
        quick={"trajectories": 100},
    ),
    "negative-momentum": FigureEntry(
        title="Negative momentum at the end of a run",
        caption="Left: mean square after a tail with another momentum, lines exact, points "
        "measured. Middle: stationary variance over momentum at alpha = 1/L. Right: the least "
        "variance at a given rate.",
        compute=negative_momentum.negative_momentum,
        draw=negative_momentum.draw_negative_momentum,
        findings=negative_momentum.findings,
        quick={"trajectories": 100, "lengths": (0, 8, 128)},
    ),
}
"""In the order of the paper, then ours."""
