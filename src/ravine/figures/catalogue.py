"""The figures of the reproduction: how each is computed, drawn, and put into words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ravine.figures import findings as found
from ravine.figures.inconsistent_batch import draw_inconsistent_batch, inconsistent_batch
from ravine.figures.least_squares import draw_noisy_least_squares, noisy_least_squares
from ravine.figures.logistic import draw_noisy_logistic, noisy_logistic
from ravine.figures.negative_momentum import draw_negative_momentum, negative_momentum
from ravine.figures.nested_regions import draw_nested_regions, nested_regions
from ravine.figures.noise_floor_slopes import draw_noise_floor_slopes, noise_floor_slopes
from ravine.figures.restart import draw_restart, restart
from ravine.figures.sgd_finite_sum import draw_sgd_finite_sum, sgd_finite_sum
from ravine.figures.stochastic_approximation import (
    draw_stochastic_approximation,
    stochastic_approximation,
)
from ravine.figures.turning_quadratics import draw_turning, turning

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Entry:
    """A figure.

    Attributes
    ----------
    title, caption
        For people.
    compute
        Keyword arguments to data; ``resolution`` and ``seed`` among them where they apply.
    draw
        Data to a picture.
    findings
        Data to sentences.
    quick
        Keyword arguments that make it fast.
    mapped
        Whether it takes a resolution.
    seeded
        Whether it takes a seed.
    swept
        Whether a device can be chosen for it.
    """

    title: str
    caption: str
    compute: Callable[..., xr.Dataset]
    draw: Callable[[xr.Dataset], Figure]
    findings: Callable[[xr.Dataset], list[str]]
    quick: Mapping[str, Any] = field(default_factory=dict)
    mapped: bool = False
    seeded: bool = True
    swept: bool = False

    def arguments(self, *, resolution: int, quick: bool, seed: int, device: str) -> dict[str, Any]:
        """The keyword arguments of ``compute``."""
        given: dict[str, Any] = dict(self.quick) if quick else {}
        if self.mapped:
            given["resolution"] = min(resolution, 24) if quick else resolution
        if self.seeded:
            given["seed"] = seed
        if self.swept:
            given["device"] = device
        return given


_PLANE = (
    "Rows: condition numbers. From the left: the noise coefficient of Theorem 1 with the paper's "
    "constant, the exact one of the worst direction, the exact one of this problem, and the "
    "measured one; then the spectral radius and the measured rate. Same colours throughout each "
    "group. Red: rho = 1. "
)
FIGURES: dict[str, Entry] = {
    "figure-1": Entry(
        "Figure 1: the worst-case quadratic with additive noise",
        _PLANE + "Dimension 100, noise of variance 0.0025 a coordinate; each pixel its own run.",
        stochastic_approximation,
        draw_stochastic_approximation,
        found.plane,
        quick={"Q": (2.0, 32.0), "rate_steps": 1000, "floor_steps": 600, "repeats": 16},
        mapped=True,
        swept=True,
    ),
    "figure-2": Entry(
        "Figure 2: one inconsistent mini-batch",
        "The third coordinate of the paper's example, L = 100, mu = 0.05, usual parameters, "
        "reshuffled without repeat. Above each panel the exact almost sure growth a step. "
        "Logarithmic away from zero.",
        inconsistent_batch,
        draw_inconsistent_batch,
        found.growth,
        quick={"trajectories": 2000, "epochs": 6},
    ),
    "figure-3": Entry(
        "Figure 3: SGD on partitioned least squares",
        "25000 samples of 2 features in 50 mini-batches, each with condition number Q; step "
        "2/(mu+L), one batch a step with replacement.",
        sgd_finite_sum,
        draw_sgd_finite_sum,
        found.under_the_bound,
        quick={"trajectories": 200},
    ),
    "least-squares": Entry(
        "Appendix figure: random least squares with additive noise",
        _PLANE + "500 samples of 10 features, noise of standard deviation 0.25.",
        noisy_least_squares,
        draw_noisy_least_squares,
        found.plane,
        quick={"Q": (8.0,), "rate_steps": 1000, "floor_steps": 600, "repeats": 16},
        mapped=True,
        swept=True,
    ),
    "logistic": Entry(
        "Appendix figure: multinomial logistic regression",
        "Fitted rate; 5 classes, 100 samples of 10 features, 5 of them informative. Separation and "
        "l2 were chosen to give these condition numbers, measured along a run. Grey: does not "
        "converge.",
        noisy_logistic,
        draw_noisy_logistic,
        found.acceleration,
        quick={"steps": 400},
        mapped=True,
    ),
    "nested-regions": Entry(
        "Where convergence is certain: the whole ladder",
        "Each region lies inside the one before: additive noise, sums with shared eigenvectors, "
        "every finite sum in any order, the paper's guarantee.",
        nested_regions,
        draw_nested_regions,
        found.regions,
        mapped=True,
        seeded=False,
    ),
    "turning-quadratics": Entry(
        "Four turning quadratics: the threshold 6 + 4√2",
        "Quadratics in the plane with axes at 0, 45, 90 and 135 degrees, visited in turn with the "
        "usual parameters. Their mean is perfectly conditioned.",
        turning,
        draw_turning,
        found.threshold,
        seeded=False,
    ),
    "noise-floors": Entry(
        "Noise floors: momentum amplifies noise",
        "Stationary variance in the flattest direction, and the objective in its worst direction, "
        "in units of L and sigma. Bars: two standard errors.",
        noise_floor_slopes,
        draw_noise_floor_slopes,
        found.slopes_found,
        quick={"Q": (2.0, 8.0, 32.0, 128.0, 1024.0, 4096.0)},
    ),
    "restart": Entry(
        "Restart on both examples",
        "Typical distance (geometric mean) with four restart rules: the paper's example with n = "
        "50, Q = 2000, and the turning quadratics with Q = 32. Where curves coincide the last one "
        "covers the others.",
        restart,
        draw_restart,
        found.restarted,
        quick={"trajectories": 100},
    ),
    "negative-momentum": Entry(
        "Negative momentum at the end of a run",
        "Left: mean square after a tail with another momentum, lines exact, points measured. "
        "Middle: stationary variance over momentum at alpha = 1/L. Right: the least variance at a "
        "given rate.",
        negative_momentum,
        draw_negative_momentum,
        found.tails,
        quick={"trajectories": 100, "lengths": (0, 8, 128)},
    ),
}
"""By name, in the order of the paper, then ours."""
