"""Positions of the labels of the plane's regions: inside them, or beside them with a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray

LETTER = (0.0132, 0.038)
"""Width of a letter and height of a line, as shares of the plane."""
MARGIN = 0.02
"""Free space around labels, as a share of the plane: to borders, frame and other labels."""
_NARROW = 0.008
"""The same if space is limited."""
BESIDE = 0.7
"""Share of the width beyond which the label of a mark stands to its left."""

_POINTS = 100
"""Points along an axis of the grid on which labels are placed."""
_LEAST = 0.004
"""Smallest part, as a share of the plane, that gets a label."""
_SHORTEST = 3
"""Shortest line from a label to its region, in grid points."""
_LONGEST = 0.45
"""Longest line from a label to its region, as a share of the plane."""

Mask = npt.NDArray[np.bool_]
Parts = npt.NDArray[np.int64]
"""The part of the plane that each grid point lies in, by its index."""
Place = tuple[int, int]
"""Row and column."""
Found = tuple[tuple[str, ...], list[Place]]
"""Words in lines, and their place; in another part, also the point that they belong to."""


class Label(NamedTuple):
    """A label around a point of the plane."""

    lines: tuple[str, ...]
    at: tuple[float, float]
    """Step and momentum at the centre of the label."""
    ground: str
    """Colour behind the label."""
    points_at: tuple[float, float] | None = None
    """End of the line from the label, if it does not fit into its own region."""


def place_labels(
    steps: FloatArray,
    momenta: FloatArray,
    counts: Parts,
    names: Sequence[tuple[str, str]],
    marks: Sequence[tuple[str, float, float]] = (),
) -> list[Label]:
    """Place the label of every part that is large enough.

    Parameters
    ----------
    steps, momenta
        The grid.
    counts
        Over (momenta, steps): the index in ``names`` of every grid point.
    names
        Labels and colours of the parts.
    marks
        Label, step and momentum of the marks, which must stay visible.
    """
    rows, columns = (
        np.linspace(0, len(axis) - 1, _POINTS).round().astype(np.intp) for axis in (momenta, steps)
    )
    part = counts[np.ix_(rows, columns)]
    xs = steps[columns]
    ys = momenta[rows]
    taken = np.zeros(part.shape, dtype=bool)
    for words, step, momentum in marks:
        # The label of a mark stands to its right, or to its left near the edge of the plane.
        row = int(np.searchsorted(ys, momentum))
        column = int(np.searchsorted(xs, step))
        _cover(taken, ("mark",), (row, column))
        half = int(1.3 * _extent((words,), part.shape)[1]) + 1
        _cover(taken, (words,), (row, column + (half if column <= BESIDE * len(xs) else -half)))

    labels: list[Label] = []
    named = [index for index in range(len(names)) if (part == index).mean() >= _LEAST]
    for find in (_inside, _beside):
        for index in [*named]:
            where = find(names[index][0], part, index, taken)
            if where is not None:
                named.remove(index)
                lines, places = where
                _cover(taken, lines, places[0])
                taken[_between(places[0], places[-1])] = True
                points = [(float(xs[column]), float(ys[row])) for row, column in places]
                _, colour = names[part[places[0]]]
                labels.append(Label(lines, points[0], colour, *points[1:]))

    return labels


def _wrapped(words: str) -> Iterator[tuple[str, ...]]:
    """The text in one, two and three lines, as even as possible."""
    for count in (1, 2, 3):
        width = -(-len(words) // count)
        while len(wrap(words, width, break_long_words=False)) > count:
            width += 1
        yield tuple(wrap(words, width, break_long_words=False))


def _extent(lines: Sequence[str], shape: tuple[int, ...], margin: float = 0.0) -> Place:
    """Half the height and half the width of a label and its margin, in grid points."""
    height = 0.5 * LETTER[1] * len(lines) + margin
    width = 0.5 * LETTER[0] * max(map(len, lines)) + margin
    return int(np.ceil(height * shape[0])), int(np.ceil(width * shape[1]))


def _fits(lines: Sequence[str], free: Mask, margin: float) -> Mask:
    """The positions at which the box of the label and its margin covers free points only."""
    from scipy.ndimage import minimum_filter

    up, across = _extent(lines, free.shape, margin)
    box = (2 * up + 1, 2 * across + 1)
    return np.asarray(minimum_filter(free, box, mode="constant"))


def _depth(mask: Mask) -> FloatArray:
    """Distance of every point to the outside of the mask or of the plane."""
    from scipy.ndimage import distance_transform_edt

    return np.asarray(distance_transform_edt(np.pad(mask, 1)))[1:-1, 1:-1]


def _inside(words: str, part: Parts, index: int, taken: Mask) -> Found | None:
    """Lines and position of the label, in the middle of the space in its part where it fits."""
    free = (part == index) & ~taken
    for margin in (MARGIN, _NARROW):
        for lines in _wrapped(words):
            depth = _depth(_fits(lines, free, margin))
            if depth.any():
                row, column = np.unravel_index(depth.argmax(), depth.shape)
                return lines, [(int(row), int(column))]

    return None


def _beside(words: str, part: Parts, index: int, taken: Mask) -> Found | None:
    """Lines and position of the label in another part, and the nearest point of its own."""
    from scipy.ndimage import distance_transform_edt, maximum_filter, minimum_filter

    depth = _depth(part == index)
    goal = depth >= 0.6 * depth.max()
    distances: Any = distance_transform_edt(~goal, return_indices=True)
    far, nearest = distances
    # The whole label stands in one part: no border crosses it.
    interior = maximum_filter(part, 3) == minimum_filter(part, 3)
    for lines in _wrapped(words):
        up, across = _extent(lines, part.shape)
        away = np.abs(nearest - np.indices(part.shape))
        # The line to its own part begins at the label, and is long enough to be visible.
        clear = (away[0] > up + _SHORTEST) | (away[1] > across + _SHORTEST)
        reach = np.where(_fits(lines, interior & ~taken, _NARROW) & clear, far, np.inf)
        for place in np.argsort(reach, axis=None, kind="stable"):
            row, column = (int(index) for index in np.unravel_index(place, far.shape))
            anchor = int(nearest[0, row, column]), int(nearest[1, row, column])
            if reach[row, column] > _LONGEST * _POINTS:
                break
            if not taken[_between((row, column), anchor)].any():
                return lines, [(row, column), anchor]

    return None


def _between(start: Place, end: Place) -> tuple[npt.NDArray[np.intp], ...]:
    """Rows and columns of the points of a line."""
    return tuple(
        np.linspace(first, last, _POINTS).round().astype(np.intp)
        for first, last in zip(start, end, strict=True)
    )


def _cover(taken: Mask, lines: Sequence[str], place: Place) -> None:
    """Mark the box of a label as occupied."""
    up, across = _extent(lines, taken.shape)
    row, column = place
    taken[max(row - up, 0) : row + up + 1, max(column - across, 0) : column + across + 1] = True
