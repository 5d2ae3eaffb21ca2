"""From the measures of single trajectories to those of pixels: means over the repeats."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.engine.measures import Outcome

MEASURES = ("rate", "floor", "floor_sup", "outcome", "diverged_at", "final_error")
"""The measures; ``VARIABLES`` lists the variables of each."""

MEAN, ROOT_MEAN, EARLIEST, LARGEST, SHARE, ERROR, ROOT_ERROR = range(7)
"""Reductions of the repeats of a pixel to one number, also on the GPU.

The mean of repeats with a number, and its root; the first step of any repeat, -1 if none has one;
the largest; the share of diverged repeats; the standard errors of the mean and of its root.
"""

VARIABLES = {
    "rate": ("rate", MEAN, "rate"),
    "rate_start": ("rate", EARLIEST, "rate_start"),
    "rate_stop": ("rate", LARGEST, "rate_stop"),
    "rate_se": ("rate", ERROR, "rate"),
    "floor": ("floor", ROOT_MEAN, "floor_square"),
    "floor_se": ("floor", ROOT_ERROR, "floor_square"),
    "floor_sup": ("floor_sup", MEAN, "floor_sup"),
    "floor_sup_se": ("floor_sup", ERROR, "floor_sup"),
    "outcome": ("outcome", LARGEST, "outcome"),
    "diverged_share": ("outcome", SHARE, "outcome"),
    "diverged_at": ("diverged_at", EARLIEST, "diverged_at"),
    "final_error": ("final_error", MEAN, "final_error"),
    "final_error_se": ("final_error", ERROR, "final_error"),
}
"""Every variable: its measure, its reduction and its field."""


def variable_names(measures: tuple[str, ...], repeats: int) -> list[str]:
    """Names of the variables of ``measures``; standard errors need two repeats."""
    return [
        name
        for measure in dict.fromkeys(measures)
        for name, (its, how, _) in VARIABLES.items()
        if its == measure and (repeats > 1 or how not in (ERROR, ROOT_ERROR))
    ]


def reduce_repeats(
    fields: dict[str, FloatArray], measures: tuple[str, ...], repeats: int
) -> dict[str, FloatArray]:
    """Turn fields of shape (pixels, repeats) into the variables of ``measures``, (pixels,)."""
    return {
        name: _reduced(VARIABLES[name][1], fields[VARIABLES[name][2]])
        for name in variable_names(measures, repeats)
    }


def _reduced(how: int, values: FloatArray) -> FloatArray:
    """Compute one number for each row of ``values``."""
    if how == EARLIEST:
        first = np.where(values > 0, values, np.inf).min(axis=1)
        return np.where(np.isfinite(first), first, -1.0)
    if how == LARGEST:
        return np.asarray(values.max(axis=1))
    if how == SHARE:
        return np.asarray((values == Outcome.DIVERGED).mean(axis=1))
    if how == ERROR:
        return _standard_error(values)

    good = ~np.isnan(values)
    count = good.sum(axis=1)
    total = np.where(good, values, 0.0).sum(axis=1)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    if how == MEAN:
        return mean

    root = np.sqrt(mean)
    if how == ROOT_MEAN:
        return root

    # d sqrt(m) = dm / (2 sqrt(m)), and 0 where the floor is.
    error = _standard_error(values)
    return np.divide(error, 2.0 * root, out=np.zeros_like(root), where=root != 0.0)


def _standard_error(values: FloatArray) -> FloatArray:
    """Standard error of the mean; NaN if it is infinite or if there are fewer than two repeats."""
    good = np.isfinite(values) & ~np.isinf(values).any(axis=1, keepdims=True)
    count = good.sum(axis=1)
    finite = np.where(good, values, 0.0)
    mean = finite.sum(axis=1) / np.maximum(count, 1)
    square = np.where(good, (finite - mean[:, None]) ** 2, 0.0).sum(axis=1)

    return np.where(
        count > 1, np.sqrt(square / np.maximum(count - 1, 1) / np.maximum(count, 1)), np.nan
    )
