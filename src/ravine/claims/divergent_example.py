"""Claims on the paper's example of a divergent sum: section 4.2, Figure 2, condition (18)."""

from __future__ import annotations

import numpy as np

from ravine.claims.claim import Evidence, Measurements, judgement, stated
from ravine.curvature import Curvature
from ravine.figures.inconsistent_batch import growth_agreement
from ravine.methods import nesterov
from ravine.problems import counterexample
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
    """Mean rate per step in cyclic order, from few terms to a million."""
    n = np.array([5, 10, 50, 250, 1000, 10**4, 10**6])
    growths = np.asarray(counterexample_growth(_PAPER, n, sampling="cyclic", sense="mean"))
    return {
        "growth": growths.tolist(),
        "limit": 1.0 - 2000.0**-0.5,
        "decreasing": bool((np.diff(growths) < 0).all()),
    }


CLAIMS = (
    stated(
        "erratum-10",
        _figure2,
        lambda m: judgement(min(m["measured"]) > 1.0, max(m["measured"]) > 1.0),
        needs=("figure-2",),
    ),
    stated(
        "example-coordinates",
        _example,
        lambda m: judgement(
            m["stays_zero"] and m["zero_after"] <= 2 and abs(m["rate"] - m["exact_rate"]) < 1e-3
        ),
    ),
    stated(
        "example-large-n",
        _large_n,
        lambda m: judgement(m["decreasing"] and m["growth"][-1] - m["limit"] < 1e-4),
    ),
    stated(
        "erratum-12",
        _zero,
        lambda m: judgement(m["iid"] == 0.0 and m["reshuffle"] == 0.0),
        needs=("figure-2",),
    ),
)
"""In the order of the paper."""
