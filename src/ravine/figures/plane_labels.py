"""Where the names of the plane's regions are written: inside them, or beside with a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray

LETTER = (0.0125, 0.042)
"""Width of a letter and height of a line, as shares of the plane."""
BESIDE = 0.7
"""Share of the width beyond which the words of a mark stand to its left."""

_POINTS = 60
"""Grid points along an axis that are looked at: labels need no finer ones."""
_LEAST = 0.004
"""Share of the plane that a part must have to be named."""
_FITS = 1.25
"""Radius of an ellipse, in units of the words' half extents, that about holds their box."""
_LONGEST = 0.45
"""Longest line from words to their region, as a share of the plane."""
_TRIES = 200
"""Places that are tried for words with a line."""

Mask = npt.NDArray[np.bool_]


class Ground(NamedTuple):
    """A part of the plane: its name and its colour."""

    words: str
    colour: str


class Label(NamedTuple):
    """Words around a point of the plane."""

    lines: tuple[str, ...]
    at: tuple[float, float]
    """Step and momentum of the middle of the words."""
    ground: str
    """Colour that they are written on."""
    points_at: tuple[float, float] | None = None
    """Where a line leads from the words, if they do not fit into their own region."""


def place_labels(
    steps: FloatArray,
    momenta: FloatArray,
    counts: npt.NDArray[np.int64],
    grounds: Sequence[Ground],
    marks: Sequence[tuple[str, float, float]] = (),
) -> list[Label]:
    """Place the name of every part that is large enough.

    Parameters
    ----------
    steps, momenta
        The grid.
    counts
        Over (momenta, steps): the index in ``grounds`` of every grid point.
    grounds
        Names and colours.
    marks
        Words, step and momentum of what must not be written over.
    """
    rows, columns = (_some(len(axis)) for axis in (momenta, steps))
    part = counts[np.ix_(rows, columns)]
    xs = steps[columns]
    ys = momenta[rows]
    taken = np.zeros(part.shape, dtype=bool)
    for words, step, momentum in marks:
        # The words of a mark stand to its right, or to its left at the edge of the plane.
        column = int(np.searchsorted(xs, step))
        half = int(np.ceil(1.3 * _extent((words,), part.shape)[1])) + 1
        column += half if column <= BESIDE * len(xs) else -half
        _cover(taken, (words,), column, int(np.searchsorted(ys, momentum)))

    labels = []
    beside = []
    for index, ground in enumerate(grounds):
        own = part == index
        if own.mean() < _LEAST:
            continue
        found = _fitting(ground.words, own & ~taken)
        if found is None:
            beside.append((index, ground))
            continue
        lines, row, column = found
        _cover(taken, lines, column, row)
        labels.append(Label(lines, (float(xs[column]), float(ys[row])), ground.colour))

    for index, ground in beside:
        placed = _beside(ground.words, part, part == index, taken)
        if placed is not None:
            lines, row, column, anchor = placed
            _cover(taken, lines, column, row)
            points_at = float(xs[anchor[1]]), float(ys[anchor[0]])
            colour = grounds[part[row, column]].colour
            labels.append(Label(lines, (float(xs[column]), float(ys[row])), colour, points_at))

    return labels


def _some(length: int) -> npt.NDArray[np.intp]:
    """Evenly spaced indices of an axis, at most ``_POINTS``."""
    return np.unique(np.linspace(0, length - 1, _POINTS).round().astype(np.intp))


def _wrapped(words: str) -> Iterator[tuple[str, ...]]:
    """The words in one line, in two and in three, as even as possible."""
    for count in (1, 2, 3):
        width = -(-len(words) // count)
        while len(wrap(words, width)) > count:
            width += 1
        yield tuple(wrap(words, width))


def _extent(lines: Sequence[str], shape: tuple[int, ...]) -> tuple[float, float]:
    """Half the height and half the width of the words, in grid points."""
    height = 0.5 * LETTER[1] * len(lines) * shape[0]
    return height, 0.5 * LETTER[0] * max(map(len, lines)) * shape[1]


def _room(lines: Sequence[str], free: Mask) -> FloatArray:
    """How much room there is around every point, in units of the words' half extents."""
    from scipy.ndimage import distance_transform_edt

    up, across = _extent(lines, free.shape)
    far = distance_transform_edt(np.pad(free, 1), sampling=(1.0 / up, 1.0 / across))
    return np.asarray(far[1:-1, 1:-1])


def _fitting(words: str, free: Mask) -> tuple[tuple[str, ...], int, int] | None:
    """Lines, row and column of the words in the middle of where they fit."""
    for lines in _wrapped(words):
        room = _room(lines, free)
        if room.max() >= _FITS:
            rows, columns = np.nonzero(room >= max(_FITS, 0.8 * min(float(room.max()), 2.5)))
            away = (rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2
            middle = int(np.argmin(away))
            return lines, int(rows[middle]), int(columns[middle])

    return None


def _beside(
    words: str, part: npt.NDArray[np.int64], own: Mask, taken: Mask
) -> tuple[tuple[str, ...], int, int, tuple[int, int]] | None:
    """Lines, row and column of the words in another part, and the nearest point of their own."""
    from scipy.ndimage import distance_transform_edt

    depth = distance_transform_edt(np.pad(own, 1))[1:-1, 1:-1]
    goal = depth >= 0.6 * float(depth.max())
    far, nearest = distance_transform_edt(~goal, return_indices=True)
    for lines in _wrapped(words):
        fits = _room(lines, _interior(part) & ~taken) >= _FITS
        for place in np.argsort(np.where(fits, far, np.inf), axis=None)[:_TRIES]:
            row, column = (int(index) for index in np.unravel_index(place, far.shape))
            anchor = int(nearest[0, row, column]), int(nearest[1, row, column])
            if not fits[row, column] or far[row, column] > _LONGEST * _POINTS:
                break
            if not _crosses(taken, (row, column), anchor):
                return lines, row, column, anchor

    return None


def _crosses(taken: Mask, start: tuple[int, int], end: tuple[int, int]) -> bool:
    """Whether a line between two points runs through what is taken."""
    share = np.linspace(0.0, 1.0, _POINTS)
    rows = np.round(start[0] + share * (end[0] - start[0])).astype(np.intp)
    columns = np.round(start[1] + share * (end[1] - start[1])).astype(np.intp)
    return bool(taken[rows, columns].any())


def _cover(taken: Mask, lines: Sequence[str], column: int, row: int) -> None:
    """Mark the box of some words as taken."""
    up, across = (int(np.ceil(half)) for half in _extent(lines, taken.shape))
    taken[max(row - up, 0) : row + up + 1, max(column - across, 0) : column + across + 1] = True


def _interior(part: npt.NDArray[np.int64]) -> Mask:
    """Points whose neighbours all belong to the same part."""
    from scipy.ndimage import maximum_filter, minimum_filter

    return np.asarray(maximum_filter(part, 3) == minimum_filter(part, 3))
