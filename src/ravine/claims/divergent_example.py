"""Claims on the paper's example of a divergent sum: section 4.2, Figure 2, condition (18)."""

from __future__ import annotations

import numpy as np

from ravine.claims.claim import Claim, Evidence, Measurements, judgement
from ravine.curvature import Curvature
from ravine.figures.inconsistent_batch import growth_agreement
from ravine.methods import nesterov
from ravine.problems.counterexample import counterexample
from ravine.sampling import Sampling
from ravine.theory.blocks import block
from ravine.theory.finite_sums.counterexample_growth import counterexample_growth

_PAPER = Curvature(0.05, 100.0)
"""Of the paper's example: Q = 2000."""


def _figure2(evidence: Evidence) -> Measurements:
    """Growth along the third coordinate, measured and exact, for every n of the figure."""
    data = evidence.figures["figure-2"]
    no_repeat = data.sel(sampling=Sampling.IID_NO_REPEAT.value)
    cyclic = data.sel(sampling=Sampling.CYCLIC.value)

    return {
        "n": data["n"].values.tolist(),
        "exact": no_repeat["almost_sure_exact"].values.tolist(),
        "measured": no_repeat["almost_sure_measured"].values.tolist(),
        "cyclic": cyclic["almost_sure_exact"].values.tolist(),
        **growth_agreement(data),
    }


def _zero(evidence: Evidence) -> Measurements:
    """Shares of the trajectories that two visits in a row to the bad term have ended."""
    data = evidence.figures["figure-2"].isel(n=0)
    independent = data.sel(sampling=Sampling.IID.value)
    reshuffled = data.sel(sampling=Sampling.RESHUFFLE.value)
    steep = block(_PAPER.L, nesterov(_PAPER))

    return {
        "n": int(data["n"]),
        "iid": float(independent["zero_measured"]),
        "iid_exact": float(independent["zero_exact"]),
        "reshuffle": float(reshuffled["zero_measured"]),
        "reshuffle_exact": float(reshuffled["zero_exact"]),
        "square": float(np.abs(steep @ steep).max()),
    }


def _example(_: Evidence) -> Measurements:
    """First and second coordinate of the example: finite, and at Nesterov's rate."""
    from ravine.engine.run import run

    problem = counterexample(0.05, 100.0, 50)
    trace = run(problem, nesterov(problem.curvature), 400, sampling="iid-no-repeat")
    first = np.abs(trace.y_errors[:, 0])
    second = np.abs(trace.y_errors[:, 1])

    # B(mu)^k at its double root: the second coordinate is (k + √Q + 1) rho^k up to a factor, where
    # Q = 2000. Divided by that, two points give rho.
    offset = 2000.0**0.5 + 1.0
    linear = (200 + offset) / (400 + offset)
    rate = float((second[400] / second[200] * linear) ** (1.0 / 200.0))

    zero_after = int(np.flatnonzero(first == 0.0)[0])

    return {
        "zero_after": zero_after,
        "stays_zero": bool((first[zero_after:] == 0.0).all()),
        "rate": rate,
        "exact_rate": 1.0 - 2000.0**-0.5,
    }


def _large_n(_: Evidence) -> Measurements:
    """Mean growth a step in cyclic order, from few terms to a million."""
    n = np.array([5, 10, 50, 250, 1000, 10**4, 10**6])
    growths = np.asarray(counterexample_growth(_PAPER, n, sampling="cyclic", sense="mean"))
    return {
        "growth": growths.tolist(),
        "limit": 1.0 - 2000.0**-0.5,
        "decreasing": bool((np.diff(growths) < 0).all()),
    }


CLAIMS = (
    Claim(
        id="erratum-10",
        place="Figure 2 and Section 4.2",
        statement="Along the third coordinate the iterates diverge for n = 50, 250 and 1000.",
        measured=(
            "growth a step without repeat, measured: {measured[0]:.5f}, {measured[1]:.5f}, "
            "{measured[2]:.5f}; {inside:.0f} of {compared:.0f} measured growths and shares have "
            "the closed form within their limits"
        ),
        exact=(
            "almost surely {exact[0]:.5f}, {exact[1]:.5f}, {exact[2]:.5f}; in cyclic order "
            "{cyclic[0]:.5f}, {cyclic[1]:.5f}, {cyclic[2]:.5f}"
        ),
        measure=_figure2,
        decide=lambda m: judgement(min(m["measured"]) > 1.0, max(m["measured"]) > 1.0),
        needs=("figure-2",),
    ),
    Claim(
        id="example-coordinates",
        place="Section 4.2",
        statement=(
            "The first coordinate converges in finitely many steps, the second at the rate 1 - "
            "1/√Q."
        ),
        measured=(
            "first coordinate zero after {zero_after} steps, for good: {stays_zero}; rate of the "
            "second {rate:.5f}"
        ),
        exact="B(L)² = 0; rate {exact_rate:.5f}",
        measure=_example,
        decide=lambda m: judgement(
            m["stays_zero"] and m["zero_after"] <= 2 and abs(m["rate"] - m["exact_rate"]) < 1e-3
        ),
    ),
    Claim(
        id="example-large-n",
        place="Section 4.2",
        statement=(
            "The growth factor (n-1)^(1/n) tends to one, so that many terms tame the bad one."
        ),
        measured=(
            "growth a step from n = 5 to 10⁶ falls from {growth[0]:.4f} to {growth[6]:.6f}; "
            "monotone: {decreasing}"
        ),
        exact="limit 1 - 1/√Q = {limit:.6f}",
        measure=_large_n,
        decide=lambda m: judgement(m["decreasing"] and m["growth"][-1] - m["limit"] < 1e-4),
    ),
    Claim(
        id="erratum-12",
        place="Condition (18)",
        statement=(
            "Drawing with replacement, or reshuffling every epoch, diverges as drawing without "
            "repeat."
        ),
        measured=(
            "n = {n}: {iid:.2%} of the iid and {reshuffle:.3%} of the reshuffled trajectories "
            "are at the optimum exactly"
        ),
        exact=(
            "{iid_exact:.2%} and {reshuffle_exact:.3%} so far, and almost every one in the end: "
            "B(L)² = {square:.0f}, two visits in a row end it. The condition matters"
        ),
        measure=_zero,
        decide=lambda m: judgement(m["iid"] == 0.0 and m["reshuffle"] == 0.0),
        needs=("figure-2",),
    ),
)
"""In the order of the paper."""
