"""Claims of the closing section: what the paper suggests, and what became of it."""

from __future__ import annotations

import numpy as np

from ravine.claims.claim import Claim, Evidence, Measurements, judgement
from ravine.figures.nested_regions import areas

_WORTH_IT = 0.1
"""Share of the variance from which a saving counts as one."""

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
    Claim(
        id="sufficient-not-necessary",
        place="Section 4.3",
        statement="R < 1 is sufficient for convergence on every finite sum, and not necessary.",
        measured=(
            "share of the plane for Q = {Q[0]:g} to {Q[3]:g}: R < 1 on {guaranteed[0]:.1%} to "
            "{guaranteed[3]:.1%}; the rungs are nested on {nested:.1%} of the pixels"
        ),
        exact=(
            "every finite sum in any order converges on {convergent[0]:.1%} to {convergent[3]:.1%}"
        ),
        measure=_sufficient,
        decide=lambda m: judgement(
            m["nested"] == 1.0
            and all(c > g for c, g in zip(m["convergent"], m["guaranteed"], strict=True))
        ),
        needs=("nested-regions",),
    ),
    Claim(
        id="joint-spectral-radius-difficult",
        place="Section 5",
        statement=(
            "The joint spectral radius would give the tightest bounds for finite sums, but is "
            "hard to obtain."
        ),
        measured=(
            "four turning quadratics grow at the closed form to {largest_difference:.0e}: they "
            "converge at Q = {last_convergent:.4f} and diverge at Q = {first_divergent:.4f}"
        ),
        exact=(
            "it is had in closed form, √2 (1 - 1/√Q) at the usual parameters: 1 at Q = 6 + 4√2 = "
            "{threshold:.4f}"
        ),
        measure=_tightest,
        decide=lambda m: judgement(
            m["largest_difference"] > _SAME,
            m["largest_difference"] <= _SAME
            and m["last_convergent"] < m["threshold"] < m["first_divergent"],
        ),
        needs=("turning-quadratics",),
    ),
    Claim(
        id="restart",
        place="Section 5",
        statement="Adaptive restart may stop the divergence.",
        measured=(
            "the paper's example: {paper_before:.4f} a step and more becomes {paper_after:.4f} "
            "and less with every rule. Turning quadratics: {turning_before:.4f} stays "
            "{turning_gradient:.4f} and {turning_sampled:.4f} with rules that see the sampled "
            "term, and becomes {turning_full:.4f} with the whole objective"
        ),
        exact="rules that see only the sampled term do not help on every sum",
        measure=_restart,
        decide=lambda m: judgement(
            max(m["paper_after"], m["turning_gradient"], m["turning_sampled"], m["turning_full"])
            < 1.0,
            m["paper_after"] < 1.0 and m["turning_full"] < 1.0,
        ),
        needs=("restart",),
    ),
    Claim(
        id="negative-momentum",
        place="Section 5",
        statement=(
            "Negative momentum towards the end of a run reduces the variance, at some cost in "
            "speed."
        ),
        measured=(
            "{tail} last steps at alpha = 1/L: E‖y - x*‖² falls to {negative:.3f} of that of usual "
            "Nesterov; momentum zero alone to {plain:.3f}"
        ),
        exact=(
            "at a fixed step it saves {saved:.0%} over SGD; at a fixed rate of 0.9 only "
            "{saved_at_equal_rate:.1%}, while critical positive damping leaves {critical:.2f} of "
            "SGD's variance"
        ),
        measure=_negative,
        decide=lambda m: judgement(
            m["saved"] > 0.1 and m["saved_at_equal_rate"] > 0.1, m["saved"] > 0.1
        ),
        needs=("negative-momentum",),
    ),
)
"""In the order of the paper."""
