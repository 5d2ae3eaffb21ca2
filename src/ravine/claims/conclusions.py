"""Claims of the closing section: what the paper suggests, and what became of it."""

from __future__ import annotations

import numpy as np

from ravine.claims.claim import Claim, Data, Evidence, either
from ravine.figures.nested_regions import areas


def _sufficient(evidence: Evidence) -> Data:
    data = evidence.figures["nested-regions"]
    shares = areas(data)
    return {
        "Q": data["Q"].values.tolist(),
        "guaranteed": shares["contraction"],
        "convergent": shares["worst_case_rate"],
        "nested": float(min(shares["nested"])),
    }


def _tightest(evidence: Evidence) -> Data:
    data = evidence.figures["turning-quadratics"]
    off = np.abs(data["measured"].values / data["worst_case"].values - 1.0)
    ratios = data["Q"].values
    diverging = data["measured"].values > 1.0
    return {
        "largest_difference": float(off.max()),
        "last_convergent": float(ratios[~diverging].max()),
        "first_divergent": float(ratios[diverging].min()),
        "threshold": float(data.attrs["threshold"]),
    }


def _restart(evidence: Evidence) -> Data:
    data = evidence.figures["restart"]
    growth = data["growth"].values
    return {
        "paper_before": float(growth[:3, 0].min()),
        "paper_after": float(growth[:3, 1:].max()),
        "turning_before": float(growth[3, 0]),
        "turning_gradient": float(growth[3, 1]),
        "turning_sampled": float(growth[3, 2]),
        "turning_full": float(growth[3, 3]),
    }


def _negative(evidence: Evidence) -> Data:
    data = evidence.figures["negative-momentum"]
    last = data.isel(length=-1)
    betas = last["tail_beta"].values
    plain = float(last["exact"].values[betas == 0.0][0])
    best = float(last["exact"].values[betas < 0.0].min())
    off = np.abs(data["exact"] - data["measured"]) / data["measured_se"]
    rates = data["rate"].values
    return {
        "tail": int(data["length"].values[-1]),
        "plain": plain,
        "negative": best,
        "saved": 1.0 - best / plain,
        "saved_at_equal_rate": 1.0 - float(data["fixed_rate_negative"].values[rates == 0.9][0]),
        "critical": float(data["fixed_rate_critical"].values[rates == 0.9][0]),
        "largest_z": float(off.max()),
    }


CLAIMS = (
    Claim(
        "sufficient-not-necessary",
        "Section 4.3",
        "R < 1 is sufficient for convergence on every finite sum, and not necessary.",
        "share of the plane for Q = {Q[0]:g} to {Q[3]:g}: R < 1 on {guaranteed[0]:.1%} to "
        "{guaranteed[3]:.1%}; the rungs are nested on {nested:.1%} of the pixels",
        "every finite sum in any order converges on {convergent[0]:.1%} to {convergent[3]:.1%}",
        _sufficient,
        lambda d: either(
            d["nested"] == 1.0
            and all(c > g for c, g in zip(d["convergent"], d["guaranteed"], strict=True))
        ),
        ("nested-regions",),
    ),
    Claim(
        "joint-spectral-radius-difficult",
        "Section 5",
        "The joint spectral radius would give the tightest bounds for finite sums, but is hard to "
        "obtain.",
        "four turning quadratics grow at the closed form to {largest_difference:.0e}: they "
        "converge at Q = {last_convergent:.4f} and diverge at Q = {first_divergent:.4f}",
        "it is had in closed form, √2 (1 - 1/√Q) at the usual parameters: 1 at Q = 6 + 4√2 = "
        "{threshold:.4f}",
        _tightest,
        lambda d: either(
            d["largest_difference"] > 1e-6,
            d["largest_difference"] <= 1e-6
            and d["last_convergent"] < d["threshold"] < d["first_divergent"],
        ),
        ("turning-quadratics",),
    ),
    Claim(
        "restart",
        "Section 5",
        "Adaptive restart may stop the divergence.",
        "the paper's example: {paper_before:.4f} a step and more becomes {paper_after:.4f} and "
        "less with every rule. Turning quadratics: {turning_before:.4f} stays "
        "{turning_gradient:.4f} and {turning_sampled:.4f} with rules that see the sampled term, "
        "and becomes {turning_full:.4f} with the whole objective",
        "rules that see only the sampled term do not help on every sum",
        _restart,
        lambda d: either(
            max(d["paper_after"], d["turning_gradient"], d["turning_sampled"], d["turning_full"])
            < 1.0,
            d["paper_after"] < 1.0 and d["turning_full"] < 1.0,
        ),
        ("restart",),
    ),
    Claim(
        "negative-momentum",
        "Section 5",
        "Negative momentum towards the end of a run reduces the variance, at some cost in speed.",
        "{tail} last steps at alpha = 1/L: E‖y - x*‖² falls to {negative:.3f} of that of usual "
        "Nesterov; momentum zero alone to {plain:.3f}",
        "at a fixed step it saves {saved:.0%} over SGD; at a fixed rate of 0.9 only "
        "{saved_at_equal_rate:.1%}, while critical positive damping leaves {critical:.2f} of "
        "SGD's variance",
        _negative,
        lambda d: either(d["saved"] > 0.1 and d["saved_at_equal_rate"] > 0.1, d["saved"] > 0.1),
        ("negative-momentum",),
    ),
)
"""In the order of the paper."""
