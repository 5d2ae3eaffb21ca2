"""The calibrated risk of a blow-up, from the margin and from where the loss is going."""

from __future__ import annotations

import math
from typing import NamedTuple

SOON = 9.0
LATER = 25.0
"""Steps left that make classes of their own: the loss is on its way to ten times its start."""

RISES = (1.2, 2.0)
"""Bounds of the classes of the smoothed loss over its minimum, where it is not on its way."""


class _Shares(NamedTuple):
    margins: tuple[float, ...]
    """Bounds of the classes of the margin; the last class is everything above."""
    rows: tuple[tuple[float, ...], ...]
    """By class of the loss: at rest, risen by a fifth, twice its least, 25 steps left, 9 left."""


_SHARES = {
    "mse": _Shares(
        (0.4, 0.8, 1.35, 2.7),
        (
            (0.02, 0.05, 0.07, 0.14, 0.30),
            (0.02, 0.05, 0.17, 0.25, 0.30),
            (0.08, 0.08, 0.45, 0.48, 0.49),
            (0.12, 0.12, 0.57, 0.58, 0.75),
            (0.59, 0.59, 0.69, 0.81, 0.95),
        ),
    ),
    "cross-entropy": _Shares(
        (0.25, 0.5, 0.8),
        (
            (0.00, 0.02, 0.02, 0.04),
            (0.02, 0.02, 0.02, 0.04),
            (0.07, 0.07, 0.07, 0.07),
            (0.07, 0.07, 0.07, 0.07),
            (0.07, 0.07, 0.07, 0.07),
        ),
    ),
}
"""Shares of readings that a blow-up followed within 40 steps, classes pooled until they grow with
the margin and with the loss. A blow-up is a loss above ten times that of the start. Squared losses:
5450 readings of 480 runs on the tasks ``benchmarks.torch_tasks.WATCHED``. Cross-entropy: some 300
runs on ``TUNED``; there the margin says little, and the pace of the loss was not yet read."""


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
    steps_left
        Until the loss is ten times its start, at its pace.
    loss_kind
        ``"mse"``, ``"cross-entropy"``, or None for the larger of both.

    Examples
    --------
    >>> blow_up_risk(0.1, 1.0, loss_kind="mse") < blow_up_risk(3.0, 3.0, 5.0, "mse")
    True
    """
    if math.isnan(margin) or math.isnan(rise) or math.isnan(steps_left):
        return 1.0

    row = sum(rise >= bound for bound in RISES)
    if steps_left < LATER:
        row = 3 + int(steps_left < SOON)

    kinds = _SHARES if loss_kind is None else {loss_kind: _SHARES[loss_kind]}
    return max(
        shares.rows[row][sum(margin >= bound for bound in shares.margins)]
        for shares in kinds.values()
    )
