"""From the measures of single trajectories to those of pixels: means over the repeats."""

from __future__ import annotations

from functools import cache

import numpy as np

from ravine.arguments import FloatArray
from ravine.engine.measures import FIELDS, Outcome

MEASURES = ("rate", "floor", "floor_sup", "outcome", "diverged_at", "final_error")
"""The measures. ``reduce_repeats`` says which variables belong to each."""


def reduce_repeats(
    fields: dict[str, FloatArray], measures: tuple[str, ...], repeats: int
) -> dict[str, FloatArray]:
    """Turn fields of shape (pixels, repeats) into the variables of ``measures``, (pixels,)."""
    variables: dict[str, FloatArray] = {}
    for measure in measures:
        if measure == "rate":
            variables["rate"] = _mean(fields["rate"])
            variables["rate_start"] = _earliest(fields["rate_start"])
            variables["rate_stop"] = fields["rate_stop"].max(axis=1)
        elif measure == "floor":
            variables["floor"] = np.sqrt(_mean(fields["floor_square"]))
        elif measure == "outcome":
            variables["outcome"] = fields["outcome"].max(axis=1)
            variables["diverged_share"] = (fields["outcome"] == Outcome.DIVERGED).mean(axis=1)
        elif measure == "diverged_at":
            variables["diverged_at"] = _earliest(fields["diverged_at"])
        else:
            variables[measure] = _mean(fields[measure])

        if repeats > 1 and measure in ("rate", "floor_sup", "final_error"):
            variables[f"{measure}_se"] = _standard_error(fields[measure])
        if repeats > 1 and measure == "floor":
            # The floor is the root of a mean m, and d sqrt(m) = dm / (2 sqrt(m)).
            error = _standard_error(fields["floor_square"])
            floor = variables["floor"]
            variables["floor_se"] = np.divide(
                error, 2.0 * floor, out=np.zeros_like(floor), where=floor != 0.0
            )

    return variables


def variable_names(measures: tuple[str, ...], repeats: int) -> list[str]:
    """Names of the variables that ``reduce_repeats`` makes."""
    return list(_names(measures, min(repeats, 2)))


@cache
def _names(measures: tuple[str, ...], repeats: int) -> tuple[str, ...]:
    blank = dict.fromkeys(FIELDS, np.zeros((1, repeats)))
    return tuple(reduce_repeats(blank, measures, repeats))


def _mean(values: FloatArray) -> FloatArray:
    """Mean over the repeats that have a number; NaN where none has."""
    good = ~np.isnan(values)
    count = good.sum(axis=1)
    total = np.where(good, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _standard_error(values: FloatArray) -> FloatArray:
    """Standard error of ``_mean``; NaN where that is infinite or of fewer than two repeats."""
    good = np.isfinite(values) & ~np.isinf(values).any(axis=1, keepdims=True)
    count = good.sum(axis=1)
    finite = np.where(good, values, 0.0)
    mean = finite.sum(axis=1) / np.maximum(count, 1)
    square = np.where(good, (finite - mean[:, None]) ** 2, 0.0).sum(axis=1)

    return np.where(
        count > 1, np.sqrt(square / np.maximum(count - 1, 1) / np.maximum(count, 1)), np.nan
    )


def _earliest(steps: FloatArray) -> FloatArray:
    """The first step of any repeat; -1 where no repeat has one."""
    first = np.where(steps > 0, steps, np.inf).min(axis=1)
    return np.where(np.isfinite(first), first, -1.0)
