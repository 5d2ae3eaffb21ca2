"""The calibrated risk of a blow-up, from the margin and from how far the loss has risen."""

from __future__ import annotations

import math

MARGINS = (0.25, 0.5, 0.8, 1.2, 2.0)
"""Bounds of the classes of the margin; the last class is everything above."""

RISES = (1.2, 2.0)
"""Bounds of the classes of the smoothed loss over its minimum."""

_SHARES = {
    "mse": (
        (0.01, 0.02, 0.06, 0.06, 0.07, 0.13),
        (0.01, 0.02, 0.06, 0.27, 0.27, 0.27),
        (0.27, 0.27, 0.27, 0.50, 0.50, 0.50),
    ),
    "cross-entropy": (
        (0.00, 0.02, 0.02, 0.04, 0.04, 0.04),
        (0.02, 0.02, 0.02, 0.04, 0.04, 0.04),
        (0.07, 0.07, 0.07, 0.07, 0.07, 0.07),
    ),
}
"""Shares of readings that a blow-up followed within 40 steps, by class of rise and of margin, made
monotone, on some 600 runs of ``benchmarks.torch_monitor`` on the tasks ``TUNED``. A blow-up there
is a loss above ten times that of the start. In cross-entropy the margin says little."""


def blow_up_risk(
    margin: float, rise: float, steps_left: float = math.inf, loss_kind: str | None = None
) -> float:
    """Probability of a blow-up within 40 steps.

    Parameters
    ----------
    margin
        lr over its mean-square limit along the tracked direction.
    rise
        Smoothed loss over its minimum.
    loss_kind
        ``"mse"``, ``"cross-entropy"``, or None for the larger of both.

    Examples
    --------
    >>> blow_up_risk(0.1, 1.0, "mse") < blow_up_risk(3.0, 3.0, "mse")
    True
    """
    column = sum(margin >= bound for bound in MARGINS)
    row = sum(rise >= bound for bound in RISES)
    if math.isnan(margin) or math.isnan(rise):
        return 1.0

    kinds = _SHARES if loss_kind is None else {loss_kind: _SHARES[loss_kind]}
    return max(shares[row][column] for shares in kinds.values())
