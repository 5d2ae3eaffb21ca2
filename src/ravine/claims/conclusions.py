"""Claims of the closing section: what the paper suggests, and what holds."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ravine.claims.claim import Measurements, stated
from ravine.figures.negative_momentum import COMPARED_RATE
from ravine.figures.parameter_map import areas

_SAME = 1e-6
"""Largest relative difference at which a measured growth counts as equal to the closed form."""


@stated(
    "sufficient-not-necessary",
    needs=("nested-regions",),
    holds=lambda m: (
        m["nested"] == 1.0
        and all(c > g for c, g in zip(m["convergent"], m["guaranteed"], strict=True))
    ),
)
def sufficient(data: xr.Dataset) -> Measurements:
    """Shares of the plane with a guarantee, and of the plane where every sum converges."""
    shares = areas(data)
    return {
        "Q": data["Q"].values,
        "guaranteed": shares["contraction"],
        "convergent": shares["worst_case_rate"],
        "nested": min(shares["nested"]),
    }


@stated(
    "joint-spectral-radius-difficult",
    needs=("turning-quadratics",),
    holds=lambda m: m["largest_difference"] > _SAME,
    corrected=lambda m: m["last_convergent"] < m["threshold"] < m["first_divergent"],
)
def tightest(data: xr.Dataset) -> Measurements:
    """Measured growth on the turning quadratics against the closed form, and where it crosses 1."""
    measured = data["measured"]
    return {
        "largest_difference": np.abs(measured / data["worst_case"] - 1.0).max(),
        "last_convergent": data["Q"].where(measured <= 1.0).max(),
        "first_divergent": data["Q"].where(measured > 1.0).min(),
        "threshold": data.attrs["threshold"],
    }


@stated(
    "restart",
    needs=("restart",),
    holds=lambda m: (
        max(m["paper_after"], m["turning_gradient"], m["turning_sampled"], m["turning_full"]) < 1.0
    ),
    corrected=lambda m: m["paper_after"] < 1.0 and m["turning_full"] < 1.0,
)
def restart(data: xr.Dataset) -> Measurements:
    """Growth without restart and with each rule, on the paper's example and on another one."""
    # Three orders of the paper's example, then the turning quadratics.
    paper = data["growth"].isel(example=slice(0, 3))
    turning = data["growth"].isel(example=3)
    return {
        "paper_before": paper.sel(rule="never").min(),
        "paper_after": paper.sel(rule=["gradient", "sampled", "full"]).max(),
        "turning_before": turning.sel(rule="never"),
        "turning_gradient": turning.sel(rule="gradient"),
        "turning_sampled": turning.sel(rule="sampled"),
        "turning_full": turning.sel(rule="full"),
    }


@stated(
    "negative-momentum",
    needs=("negative-momentum",),
    holds=lambda m: m["saved"] > 0.1 and m["saved_at_equal_rate"] > 0.1,
    corrected=lambda m: m["saved"] > 0.1,
)
def negative_momentum(data: xr.Dataset) -> Measurements:
    """Mean square after the longest tail, without momentum and with the best negative momentum."""
    longest = data["exact"].isel(length=-1)
    plain = longest.sel(tail_beta=0.0)
    best = longest.where(longest["tail_beta"] < 0.0).min()
    compared = data.sel(rate=COMPARED_RATE)
    return {
        "tail": longest["length"],
        "plain": plain,
        "negative": best,
        "saved": 1.0 - best / plain,
        "saved_at_equal_rate": 1.0 - compared["fixed_rate_negative"],
        "critical": compared["fixed_rate_critical"],
        "largest_z": (np.abs(data["exact"] - data["measured"]) / data["measured_se"]).max(),
    }
