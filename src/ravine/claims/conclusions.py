"""Claims of the closing section: what the paper suggests, and what became of it."""

from __future__ import annotations

import numpy as np

from ravine.claims.claim import Evidence, Measurements, judgement, stated
from ravine.figures.nested_regions import areas

_SAME = 1e-6
"""Relative difference up to which a measured growth is that of the closed form."""


def _sufficient(evidence: Evidence) -> Measurements:
    """Shares of the plane with a guarantee, and with convergence on every sum."""
    data = evidence.figures["nested-regions"]
    shares = areas(data)
    return {
        "Q": data["Q"].values.tolist(),
        "guaranteed": shares["contraction"],
        "convergent": shares["worst_case_rate"],
        "nested": float(min(shares["nested"])),
    }


def _tightest(evidence: Evidence) -> Measurements:
    """Measured growth of the turning quadratics against the closed form, and where it passes 1."""
    data = evidence.figures["turning-quadratics"]
    measured = data["measured"].values
    off = np.abs(measured / data["worst_case"].values - 1.0)

    ratios = data["Q"].values
    diverging = measured > 1.0

    return {
        "largest_difference": float(off.max()),
        "last_convergent": float(ratios[~diverging].max()),
        "first_divergent": float(ratios[diverging].min()),
        "threshold": float(data.attrs["threshold"]),
    }


def _restart(evidence: Evidence) -> Measurements:
    """Growth without restart and with each rule, on the paper's example and on ours."""
    growth = evidence.figures["restart"]["growth"]

    # Three orders of the paper's example, then the turning quadratics.
    paper = growth.isel(example=slice(0, 3))
    turning = growth.isel(example=3)

    return {
        "paper_before": float(paper.sel(rule="never").min()),
        "paper_after": float(paper.sel(rule=["gradient", "sampled", "full"]).max()),
        "turning_before": float(turning.sel(rule="never")),
        "turning_gradient": float(turning.sel(rule="gradient")),
        "turning_sampled": float(turning.sel(rule="sampled")),
        "turning_full": float(turning.sel(rule="full")),
    }


def _negative(evidence: Evidence) -> Measurements:
    """What the longest tail leaves without momentum and with the best negative one."""
    data = evidence.figures["negative-momentum"]
    longest = data.isel(length=-1)
    betas = longest["tail_beta"].values
    left = longest["exact"].values
    plain = float(left[betas == 0.0][0])
    best = float(left[betas < 0.0].min())

    # The rate at which methods of equal speed are compared.
    compared = data.sel(rate=0.9)
    off = np.abs(data["exact"] - data["measured"]) / data["measured_se"]

    return {
        "tail": int(longest["length"]),
        "plain": plain,
        "negative": best,
        "saved": 1.0 - best / plain,
        "saved_at_equal_rate": 1.0 - float(compared["fixed_rate_negative"]),
        "critical": float(compared["fixed_rate_critical"]),
        "largest_z": float(off.max()),
    }


CLAIMS = (
    stated(
        "sufficient-not-necessary",
        _sufficient,
        lambda m: judgement(
            m["nested"] == 1.0
            and all(c > g for c, g in zip(m["convergent"], m["guaranteed"], strict=True))
        ),
        needs=("nested-regions",),
    ),
    stated(
        "joint-spectral-radius-difficult",
        _tightest,
        lambda m: judgement(
            m["largest_difference"] > _SAME,
            m["largest_difference"] <= _SAME
            and m["last_convergent"] < m["threshold"] < m["first_divergent"],
        ),
        needs=("turning-quadratics",),
    ),
    stated(
        "restart",
        _restart,
        lambda m: judgement(
            max(m["paper_after"], m["turning_gradient"], m["turning_sampled"], m["turning_full"])
            < 1.0,
            m["paper_after"] < 1.0 and m["turning_full"] < 1.0,
        ),
        needs=("restart",),
    ),
    stated(
        "negative-momentum",
        _negative,
        lambda m: judgement(m["saved"] > 0.1 and m["saved_at_equal_rate"] > 0.1, m["saved"] > 0.1),
        needs=("negative-momentum",),
    ),
)
"""In the order of the paper."""
