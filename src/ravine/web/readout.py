"""Every rung's number at a point of the plane, with the verdict in words."""

from __future__ import annotations

from dataclasses import dataclass

from ravine.arguments import Refusal
from ravine.methods import Method
from ravine.theory.ladder.ladder import ladder
from ravine.theory.ladder.rungs import RUNGS, Rung
from ravine.web.view import View


@dataclass(frozen=True)
class Row:
    """One line of the table: what it is called, its number, what it holds for."""

    name: str
    text: str
    scope: str
    tone: str


@dataclass(frozen=True)
class Readout:
    """What is known of one method."""

    rows: tuple[Row, ...]
    verdict: str


def digits(value: float) -> str:
    """A rate as the page shows it, six digits behind the point.

    Examples
    --------
    >>> digits(0.8232233), digits(12345.6)
    ('0.823223', '1.235e+04')
    """
    return f"{value:.6f}" if value < 1e4 else f"{value:.4g}"


def readout(view: View) -> Readout:
    """Climb the ladder at the view's method."""
    batches = view.batches
    rungs = ladder(view.curvature, view.method, L_max=batches.L_max, batch_size=batches.batch_size)
    rows = tuple(_row(rung, float(rungs.rates[rung.key].upper)) for rung in RUNGS)
    return Readout(rows, rungs.verdict)


def _row(rung: Rung, rate: float) -> Row:
    tone = "good" if rate < 1.0 else "bad"
    return Row(rung.title, digits(rate), rung.holds_for, tone)


def at_cursor(view: View, step: float, beta: float) -> list[str]:
    """Every rung's number under the cursor, in the order of the table."""
    try:
        method = Method(step / view.Q, beta, view.gamma)
    except Refusal:
        return []

    return [digits(float(rung.rate(view.curvature, method, view.batches).upper)) for rung in RUNGS]
