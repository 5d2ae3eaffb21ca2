"""Figure 2 in closed form: the law of the third coordinate under iid and reshuffled draws."""

from __future__ import annotations

import numpy as np

from ravine.curvature import Curvature
from ravine.methods import nesterov
from ravine.sampling import Sampling
from ravine.theory.blocks import block

MU = 0.05
"""Strong convexity of the paper's example."""

L = 100.0
"""Its smoothness: Q = 2000."""


def hit_zero(n: int, rule: Sampling, steps: int) -> float:
    """Probability that f_n was drawn twice in a row, after which the coordinate is zero.

    Examples
    --------
    >>> hit_zero(2, Sampling.IID, 2)
    0.25
    """
    # Probabilities that no pair came yet and that the last draw was another term, or was f_n.
    p = 1.0 / n
    other = 1.0
    last = 0.0

    if rule is Sampling.RESHUFFLE:
        # A pair comes where one epoch ends with f_n and the next begins with it. After an epoch
        # that ended with f_n the next may not begin with it, and so ends elsewhere less often.
        for _ in range(steps // n):
            other, last = (1.0 - p) * other + (1.0 - 2.0 * p) * last, p * (other + last)
    else:
        for _ in range(steps):
            other, last = (1.0 - p) * (other + last), p * other

    return 1.0 - other - last


def mean_after(n: int, rule: Sampling, steps: int) -> float:
    """Exact mean distance of the third coordinate after some steps of an iid rule, from 1.

    B(L) = u wᵀ has rank one, so every visit to f_n leaves a multiple of u. The mean size of that
    multiple after a visit at step t follows from those of the visits before (a renewal equation).

    Examples
    --------
    >>> round(mean_after(50, Sampling.IID, 2), 6)
    1.013463
    """
    method = nesterov(Curvature(MU, L))
    steep = block(L, method)
    flat = block(MU, method)
    u = steep[:, 1] / steep[1, 1]
    w = steep[1]

    # B(mu)^j on the start, and on what a visit to f_n leaves.
    start = [np.array([1.0, 0.0])]
    after = [u]
    for _ in range(steps):
        start.append(flat @ start[-1])
        after.append(flat @ after[-1])

    # Chance of a visit at the first step and later, and steps that must pass between two of them.
    p = 1.0 / n
    later = p if rule is Sampling.IID else 1.0 / (n - 1.0)
    soonest = 0 if rule is Sampling.IID else 1

    def none(j: int, first: float, delay: int) -> float:
        """Probability of no visit in j steps."""
        return float((1.0 - first) ** min(j, delay) * (1.0 - later) ** max(j - delay, 0))

    # weight[t]: mean size of the multiple of u after a visit at step t, times its probability.
    weight = np.zeros(steps + 1)
    for t in range(1, steps + 1):
        chance = p if t == 1 else later
        weight[t] = chance * none(t - 1, p, 1) * abs(w @ start[t - 1])
        for earlier in range(1, t - soonest):
            k = t - earlier - 1
            weight[t] += weight[earlier] * none(k, 0.0, soonest) * later * abs(w @ after[k])

    mean = none(steps, p, 1) * abs(start[steps][0])
    for t in range(1, steps + 1):
        mean += weight[t] * none(steps - t, 0.0, soonest) * abs(after[steps - t][0])

    return float(mean)
