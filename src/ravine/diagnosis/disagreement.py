"""How much the batches disagree, in which direction, and which batches and rows drive it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.survey import Survey
from ravine.methods import Method

_SHOWN = 5
"""Batches and rows that are named."""
_ENOUGH = 0.8
"""Rows are named until they make this part of a batch's curvature."""
_COLUMNS = 3
_TAKES_PART = 0.2
"""Columns of a direction that are named: so many, with at least this part of the largest weight."""


@dataclass(frozen=True, eq=False)
class Disagreement:
    """What the batch Hessians differ in.

    Attributes
    ----------
    size
        √(E ‖H_b - H‖²) / ‖H‖ in the Frobenius norm, over the directions followed.
    direction
        Unit vector in which they disagree, in the coordinates of the problem, shape (d,).
    columns
        The columns that make it up, (name, weight) with squared weights adding up to 1 over all.
    batches
        The batches that drive it, the strongest first; empty where every epoch has new batches, so
        that rows drive it.
    shares
        Share of each of them (of each of ``rows`` where there are no ``batches``) in what the
        disagreement adds to the mean-square growth.
    ratios
        Curvature of each of them along the direction, over the average.
    rows
        Rows that drive it, or that make most of the curvature of the first batch, the strongest
        first, as rows of the model.
    row_shares
        Share of each of these rows in the instability, or in the curvature of that batch.
    """

    size: float
    direction: FloatArray
    columns: tuple[tuple[str, float], ...]
    batches: tuple[int, ...]
    shares: tuple[float, ...]
    ratios: tuple[float, ...]
    rows: tuple[int, ...]
    row_shares: tuple[float, ...]


def disagreement(survey: Survey, method: Method, columns: tuple[str, ...]) -> Disagreement:
    """Find what drives the mean-square growth of a method, or would, if it were large.

    The direction is the main axis of the second moments that grow fastest.
    """
    moments = survey.moments
    mean_square = moments.sandwich(np.eye(moments.dimension))
    grown = moments.perron(method, tolerance=1e-3)
    if grown.value >= 1.0:
        pushed = grown.moments
        shares = moments.shares(grown) * moments.weights
    else:
        pushed = mean_square
        shares = moments.deviations.squares() * moments.weights

    shares = np.maximum(shares, 0.0)
    total = float(shares.sum())
    shares = shares / total if total > 0.0 else np.full(len(shares), 1.0 / len(shares))

    axis = np.linalg.eigh(pushed)[1][:, -1]
    mean = float(axis**2 @ moments.eigenvalues)
    along = moments.deviations.along(axis)
    if not survey.batching.fixed:
        # A row deviates by more than a batch does, by the root of this factor.
        along = along / np.sqrt(max(survey.batching.variance_factor, 1e-300))

    lead = np.argsort(shares)[::-1][:_SHOWN]
    direction = survey.basis @ axis
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    named = tuple(int(survey.sample[i]) for i in lead)
    lead_shares = tuple(float(shares[i]) for i in lead)
    batches: tuple[int, ...] = ()
    rows, row_shares = named, lead_shares
    if survey.batching.fixed:
        batches = named
        rows, row_shares = _rows(survey, direction, named[0])

    norm = float(np.linalg.norm(moments.eigenvalues))
    return Disagreement(
        size=float(np.sqrt(np.trace(mean_square))) / norm,
        direction=direction,
        columns=_columns(survey, direction, columns),
        batches=batches,
        shares=lead_shares,
        ratios=tuple(float((along[i] + mean) / mean) for i in lead),
        rows=rows,
        row_shares=row_shares,
    )


def _rows(
    survey: Survey, direction: FloatArray, batch: int
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The fewest rows that make most of the batch's curvature along the direction, five at most."""
    rows = survey.batching.batch(batch)
    roots = survey.model.row_roots(rows, survey.minimiser, direction[:, None])
    parts = (roots**2).sum(axis=(1, 2))
    total = float(parts.sum())

    if total <= 0.0:
        return (), ()

    strongest = np.argsort(parts)[::-1]
    enough = int(np.searchsorted(np.cumsum(parts[strongest]) / total, _ENOUGH)) + 1
    kept = strongest[: min(enough, _SHOWN)]

    return tuple(int(rows[i]) for i in kept), tuple(float(parts[i] / total) for i in kept)


def _columns(
    survey: Survey, direction: FloatArray, columns: tuple[str, ...]
) -> tuple[tuple[str, float], ...]:
    weights = np.linalg.norm(direction.reshape(survey.model.features, -1), axis=1)
    if survey.model.outputs == 1:
        weights = direction

    lead = np.argsort(np.abs(weights))[::-1][:_COLUMNS]
    kept = [j for j in lead if abs(weights[j]) > _TAKES_PART * abs(weights[lead[0]])]
    return tuple((columns[j], float(weights[j])) for j in kept)
