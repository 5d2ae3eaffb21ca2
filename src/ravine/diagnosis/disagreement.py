"""How much the batches disagree, in which direction, and which batches and rows drive it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.diagnosis.batches import Survey
from ravine.methods import Method

_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Disagreement:
    """What the batch Hessians differ in.

    Attributes
    ----------
    spread
        √(mean ‖H_b - H‖²) / ‖H‖ in the Frobenius norm, over the batches and directions followed.
    direction
        Unit vector in which they disagree, in the coordinates of the problem, shape (d,).
    columns
        The columns that make it up, (name, weight) with squared weights adding up to 1 over all.
    batches
        The batches that drive it, the strongest first.
    shares
        Share of each of them in what the disagreement adds to the mean-square growth.
    ratios
        Curvature of each of them along the direction, over the average of all batches.
    rows
        Rows of the first batch that make most of its curvature there, the strongest first,
        as rows of the data as given.
    row_shares
        Share of each of these rows in the curvature of that batch along the direction.
    """

    spread: float
    direction: FloatArray
    columns: tuple[tuple[str, float], ...]
    batches: tuple[int, ...]
    shares: tuple[float, ...]
    ratios: tuple[float, ...]
    rows: tuple[int, ...]
    row_shares: tuple[float, ...]


def disagreement(
    survey: Survey, method: Method, columns: tuple[str, ...], order: npt.NDArray[np.intp] | None
) -> Disagreement:
    """Find what drives the mean-square growth of a method, or would, if it were large.

    The direction is the main axis of the second moments that grow fastest. ``order`` leads from
    the rows of the problem to those of the data.
    """
    moments = survey.moments
    found = moments.perron(method, tolerance=1e-3)
    pulled = np.einsum("kij,kij->k", moments.deviations, moments.deviations)
    if found.value >= 1.0:
        grows, shares = found.moments, moments.weights * moments.shares(found)
    else:
        grows = moments.sandwich(np.eye(moments.dimension))
        shares = moments.weights * pulled
    total = float(shares.sum())
    shares = shares / total if total > 0.0 else np.full(len(shares), 1.0 / len(shares))
    axis = np.linalg.eigh(grows)[1][:, -1]
    mean = float(axis**2 @ moments.eigenvalues)
    along = np.einsum("i,kij,j->k", axis, moments.deviations, axis) + mean
    lead = np.argsort(shares)[::-1][:_SHOWN]
    direction = survey.basis @ axis
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    rows, row_shares = _rows(survey, direction, int(survey.sample[lead[0]]), order)
    return Disagreement(
        spread=float(np.sqrt(moments.weights @ pulled) / np.linalg.norm(moments.eigenvalues)),
        direction=direction,
        columns=_columns(survey, direction, columns),
        batches=tuple(int(survey.sample[i]) for i in lead),
        shares=tuple(float(shares[i]) for i in lead),
        ratios=tuple(float(along[i] / mean) for i in lead),
        rows=rows,
        row_shares=row_shares,
    )


def _rows(
    survey: Survey, direction: FloatArray, batch: int, order: npt.NDArray[np.intp] | None
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The fewest rows that make 80 % of the batch's curvature along the direction, five at most."""
    problem = survey.problem
    rows = problem._rows(batch)
    block = problem.X[rows]
    along = np.asarray(block @ direction.reshape(problem.features, -1))
    scores = np.asarray(block @ problem.minimiser.reshape(problem.features, -1))
    parts = (problem.loss.curve(scores, along) * along).sum(axis=1)
    total = float(parts.sum())
    if total <= 0.0:
        return (), ()
    by_size = np.argsort(parts)[::-1]
    enough = int(np.searchsorted(np.cumsum(parts[by_size]) / total, 0.8)) + 1
    kept = by_size[: min(enough, _SHOWN)]
    where = kept + rows.start
    named = where if order is None else order[where]
    return tuple(int(r) for r in named), tuple(float(parts[i] / total) for i in kept)


def _columns(
    survey: Survey, direction: FloatArray, columns: tuple[str, ...]
) -> tuple[tuple[str, float], ...]:
    weights = np.linalg.norm(direction.reshape(survey.problem.features, -1), axis=1)
    if survey.problem.loss.outputs == 1:
        weights = direction
    lead = np.argsort(np.abs(weights))[::-1][:3]
    kept = [j for j in lead if abs(weights[j]) > 0.2 * abs(weights[lead[0]])]
    return tuple((columns[j], float(weights[j])) for j in kept)
