"""The calibrated risk of a blow-up, from the danger that a monitor reads."""

from __future__ import annotations

import math
from typing import NamedTuple


class _Shares(NamedTuple):
    bounds: tuple[float, ...]
    """Of the classes of the danger; the last class is everything above."""
    risks: tuple[float, ...]


_SHARES = {
    "mse": _Shares(
        (-1.0, 0.0, 1.0, 2.0, 3.0, 3.55, 4.5),
        (0.025, 0.045, 0.125, 0.245, 0.34, 0.42, 0.59, 0.855),
    ),
    "cross-entropy": _Shares(
        (-1.0, 0.0, 1.0, 2.5, 3.55, 4.5, 5.0),
        (0.013, 0.025, 0.05, 0.08, 0.11, 0.175, 0.25, 0.5),
    ),
}
"""Shares of readings that a blow-up followed within 40 steps, by class of the danger: the mean over
tasks, as the next task is another one. A blow-up is a loss above ten times that of the start.
Squared losses from ``benchmarks.torch_monitor_tasks.WATCHED``, cross-entropies from ``JUDGED``;
``python -m benchmarks.torch_monitor_report`` counts the same shares, and those of other tasks."""


def blow_up_risk(danger: float, loss_kind: str | None = None) -> float:
    """Probability of a blow-up within 40 steps.

    Parameters
    ----------
    danger
        As ``ravine.torch.alarm.danger`` has it.
    loss_kind
        ``"mse"``, ``"cross-entropy"``, or None for the larger of both.

    Examples
    --------
    >>> blow_up_risk(-0.5, "mse"), blow_up_risk(4.0, "mse"), blow_up_risk(4.0, "cross-entropy")
    (0.045, 0.59, 0.175)
    """
    if math.isnan(danger) or danger == math.inf:
        return 1.0

    kinds = _SHARES if loss_kind is None else {loss_kind: _SHARES[loss_kind]}
    return max(
        shares.risks[sum(danger >= bound for bound in shares.bounds)] for shares in kinds.values()
    )
