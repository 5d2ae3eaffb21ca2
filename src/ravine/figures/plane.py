"""The plane of step size and momentum: plain data first, then drawn by matplotlib or a browser.

A :class:`Plane` holds nested regions, each with its rate over the grid, and marked methods. Every
picture of the plane is made of one: the maps of the ladder, a sweep's contours, the picture of a
diagnosis and the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.figures.plane_labels import Ground, Label, place_labels
from ravine.figures.style import METHODS, OUTSIDE, ink_on
from ravine.methods import Method, nesterov, sgd
from ravine.theory.ladder.batches import SINGLE_TERMS, Batches
from ravine.theory.ladder.rungs import OUTSIDE as OUTSIDE_WORDS
from ravine.theory.ladder.rungs import RUNGS, Rung

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_SECTIONS = 16
"""Parts of an edge of the grid, in the middle of one of which a border is put."""
_FAR = 0.5
"""Rates farther than this from 1 are clipped: contours are interpolated linearly."""


@dataclass(frozen=True, eq=False)
class Region:
    """Where one rate is below 1."""

    key: str
    words: str
    """Written into the region."""
    label: str
    """The same for a legend."""
    colour: str
    contour: tuple[str, str]
    """Colour and dashes of the line on which the rate is 1, over a coloured map."""
    contour_label: str
    rate: FloatArray
    """Rate per step over (momenta, steps)."""
    rings: tuple[FloatArray, ...] | None = None
    """Its border as closed rings of (step, momentum); interpolated from the rate if left out."""


class Mark(NamedTuple):
    """A named method in the plane."""

    key: str
    """Of its colour and marker in ``ravine.figures.style.METHODS``."""
    words: str
    step: float
    momentum: float


@dataclass(frozen=True, eq=False)
class Plane:
    """Nested regions over a grid of step sizes times L and momenta, widest region first."""

    steps: FloatArray
    momenta: FloatArray
    regions: tuple[Region, ...]
    marks: tuple[Mark, ...] = ()
    log: bool = False
    """Whether the axis of the step sizes is logarithmic."""

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many of the nested regions hold each grid point."""
        shape = (len(self.momenta), len(self.steps))
        inside = (region.rate < 1.0 for region in self.regions)
        return sum((one.astype(np.int64) for one in inside), np.zeros(shape, dtype=np.int64))

    def borders(self, region: Region) -> tuple[FloatArray, ...]:
        """The region as closed rings of (step, momentum), outer ones counterclockwise."""
        if region.rings is not None:
            return region.rings

        return _rings(self.steps, self.momenta, region.rate)

    def contour(self, region: Region) -> list[FloatArray]:
        """The region's border inside the plane: its rings without what lies on the frame."""
        corners = np.array([[self.steps[0], self.momenta[0]], [self.steps[-1], self.momenta[-1]]])
        lines = []
        for ring in self.borders(region):
            # A piece of the ring lies on the frame if both of its ends are on the same side.
            on_side = np.stack([ring == corner for corner in corners])
            along = (on_side[:, :-1] & on_side[:, 1:]).any(axis=(0, 2))
            pieces = np.split(ring, np.flatnonzero(along) + 1)
            lines += [piece for piece in pieces if len(piece) > 1]

        return lines

    def labels(self) -> list[Label]:
        """The name of every visible part, written into it or beside it with a line to it."""
        grounds = [Ground(OUTSIDE_WORDS, OUTSIDE)]
        grounds += [Ground(one.words, one.colour) for one in self.regions]
        marks = [(mark.words, mark.step, mark.momentum) for mark in self.marks]
        return place_labels(self.steps, self.momenta, self.counts, grounds, marks)


def ladder_plane(
    curvature: Curvature,
    steps: FloatArray,
    momenta: FloatArray,
    *,
    gamma: float | FloatArray | None = None,
    batches: Batches = SINGLE_TERMS,
    log: bool = False,
    quick: bool = False,
    costly_sections: int = _SECTIONS,
) -> Plane:
    """Every rung of the ladder over a grid, with standard Nesterov and SGD marked.

    Parameters
    ----------
    curvature
        One curvature.
    steps, momenta
        Ascending alpha L and beta. Rates have the shape (momenta, steps).
    gamma
        Look-ahead, one number or an array of the rates' shape; Nesterov's unless given.
    batches
        Curvature of single terms, and size of the batches.
    log
        Whether the step sizes are to be shown on a logarithmic axis.
    quick
        For borders alone. Rates that are costly are computed only where their neighbours on the
        ladder leave open on which side of 1 they are. Borders are looked for between the points of
        the grid, so that a coarse one is enough.
    costly_sections
        Into how many parts the edges of the grid are cut for the borders of costly rates.

    Examples
    --------
    >>> plane = ladder_plane(Curvature(1, 8), np.linspace(0.1, 2, 30), np.linspace(0, 1, 30))
    >>> [mark.key for mark in plane.marks], len(plane.regions) == len(RUNGS)
    (['nesterov', 'sgd'], True)
    """
    L = float(curvature.L)
    grid = Method(steps[None, :] / L, momenta[:, None], gamma)
    rates: dict[int, FloatArray] = {}

    def rate_of(rung: Rung, methods: Method) -> FloatArray:
        return np.asarray(rung.rate(curvature, methods, batches).upper)

    # Costly rungs last: they are nested between their neighbours, which say on which side of 1
    # they are for most methods.
    for place, rung in sorted(enumerate(RUNGS), key=lambda one: one[1].bracketed):
        if quick and rung.bracketed:
            below = rates.get(place - 1, np.zeros_like(rates[0]))
            above = rates.get(place + 1, np.full_like(rates[0], np.inf))
            rates[place] = _rate_between(partial(rate_of, rung), grid, below, above)
        else:
            rates[place] = rate_of(rung, grid)

    rings = {}
    for place, rung in enumerate(RUNGS):
        rings[rung.key] = _rings(steps, momenta, rates[place])
        if quick and not isinstance(gamma, np.ndarray):

            def at(points: FloatArray, rung: Rung = rung) -> FloatArray:
                return rate_of(rung, Method(points[..., 0] / L, points[..., 1], gamma))

            sections = costly_sections if rung.bracketed else _SECTIONS
            rings[rung.key] = _refined(rings[rung.key], steps, momenta, rates[place], at, sections)

    known = {rung.key: rates[place] for place, rung in enumerate(RUNGS)}
    regions = rung_regions(known, rings)
    return Plane(steps, momenta, regions, standard_marks(curvature), log)


def rung_regions(
    rates: Mapping[str, FloatArray], rings: Mapping[str, tuple[FloatArray, ...]] | None = None
) -> tuple[Region, ...]:
    """The rungs of the ladder as regions, from their rates over (momenta, steps) by key."""
    return tuple(
        Region(
            rung.key, rung.region, rung.region_label, rung.colour, rung.contour,
            rung.contour_label, rates[rung.key], rings[rung.key] if rings else None,
        )
        for rung in RUNGS
        if rung.key in rates
    )  # fmt: skip


def standard_marks(curvature: Curvature) -> tuple[Mark, ...]:
    """The standard Nesterov parameters and SGD's best fixed step."""
    known = {"nesterov": nesterov(curvature), "sgd": sgd(curvature)}
    L = float(curvature.L)
    return tuple(
        Mark(key, METHODS[key].words, float(method.alpha) * L, float(method.beta))
        for key, method in known.items()
    )


def draw_plane(
    axes: Axes, plane: Plane, *, filled: bool = True, labels: bool = True
) -> list[Artist]:
    """Draw the regions, or only the lines around them, and the marks; returns legend handles.

    Parameters
    ----------
    axes
        Of matplotlib. Its limits become those of the grid.
    plane
        What to draw.
    filled
        Fill the regions and the ground around them. Otherwise draw their borders as lines that
        show on every colour, for a map that is drawn already.
    labels
        Write the words of the regions into them.
    """
    handles = _fill_regions(axes, plane) if filled else _draw_borders(axes, plane)
    for label in plane.labels() if filled and labels else ():
        line = {"arrowstyle": "-", "lw": 0.7, "color": ink_on(label.ground)}
        axes.annotate(
            "\n".join(label.lines), label.points_at or label.at, label.at, fontsize=7.5,
            color=ink_on(label.ground), ha="center", va="center",
            arrowprops=None if label.points_at is None else line,
        )  # fmt: skip

    for mark in plane.marks:
        look = METHODS[mark.key]
        handles += axes.plot(
            mark.step, mark.momentum, look.marker, color=look.colour, markersize=7,
            markeredgecolor="black", label=mark.words, zorder=5,
        )  # fmt: skip

    if plane.log:
        axes.set_xscale("log")
    axes.set(
        xlabel="step size αL", ylabel="momentum β",
        xlim=(plane.steps[0], plane.steps[-1]), ylim=(plane.momenta[0], plane.momenta[-1]),
    )  # fmt: skip
    return handles


def _fill_regions(axes: Axes, plane: Plane) -> list[Artist]:
    from matplotlib.patches import Patch, PathPatch
    from matplotlib.path import Path

    axes.set_facecolor(OUTSIDE)
    handles: list[Artist] = [Patch(color=OUTSIDE, label=OUTSIDE_WORDS)]
    for region in plane.regions:
        rings = [Path(ring, closed=True) for ring in plane.borders(region)]
        if rings:
            look: dict[str, Any] = {"facecolor": region.colour, "edgecolor": "white"}
            axes.add_patch(PathPatch(Path.make_compound_path(*rings), linewidth=0.8, **look))
        handles.append(Patch(color=region.colour, label=region.label))

    return handles


def _draw_borders(axes: Axes, plane: Plane) -> list[Artist]:
    """Lines on which each rate is 1, with a dark rim: they show on every colour."""
    from matplotlib.lines import Line2D
    from matplotlib.patheffects import withStroke

    handles: list[Artist] = []
    for region in plane.regions:
        look: dict[str, Any] = {
            "color": region.contour[0],
            "linestyle": region.contour[1],
            "linewidth": 1.4,
            "path_effects": [withStroke(linewidth=2.6, foreground="#000000b0")],
        }
        for line in plane.contour(region):
            axes.plot(line[:, 0], line[:, 1], **look)
        handles.append(Line2D([], [], label=region.contour_label, **look))

    return handles


def _near_one(rate: FloatArray) -> FloatArray:
    """The rate as contours need it: far values would only bend the line through 1."""
    return np.clip(np.nan_to_num(rate, nan=np.inf), 1.0 - _FAR, 1.0 + _FAR)


def _rings(steps: FloatArray, momenta: FloatArray, rate: FloatArray) -> tuple[FloatArray, ...]:
    """Closed rings around where a rate is below 1, by linear interpolation."""
    from contourpy import FillType, contour_generator

    tracer = contour_generator(steps, momenta, _near_one(rate), fill_type=FillType.OuterOffset)
    points, offsets = tracer.filled(-np.inf, 1.0)
    return tuple(
        ring
        for outer, cuts in zip(points, offsets, strict=True)
        for ring in np.split(np.asarray(outer), np.asarray(cuts[1:-1], dtype=np.intp))
    )


def _refined(
    rings: tuple[FloatArray, ...],
    steps: FloatArray,
    momenta: FloatArray,
    rate: FloatArray,
    at: Callable[[FloatArray], FloatArray],
    sections: int,
) -> tuple[FloatArray, ...]:
    """Move the points of rings along the edges of the grid to where the rate is 1.

    Inside a region rates are often flat and close to 1, outside they are steep: interpolation
    then draws a staircase.
    """
    if not rings:
        return rings

    points = np.concatenate(rings)
    column = np.clip(np.searchsorted(steps, points[:, 0]), 1, len(steps) - 1)
    row = np.clip(np.searchsorted(momenta, points[:, 1]), 1, len(momenta) - 1)
    # A point lies on an edge of the grid: the ends differ in one coordinate.
    first = np.where(points[:, 0] == steps[column], column, column - 1)
    first = np.where(points[:, 0] == steps[column - 1], column - 1, first)
    last = np.where(points[:, 0] == steps[first], first, column)
    bottom = np.where(points[:, 1] == momenta[row], row, row - 1)
    top = np.where(points[:, 1] == momenta[bottom], bottom, row)
    starts_inside = rate[bottom, first] < 1.0
    crossing = starts_inside != (rate[top, last] < 1.0)
    one = np.stack([steps[first], momenta[bottom]], axis=1)[crossing]
    other = np.stack([steps[last], momenta[top]], axis=1)[crossing]
    inside = np.where(starts_inside[crossing, None], one, other)
    across = one + other - 2.0 * inside

    shares = np.arange(1, sections)[:, None] / sections
    below = at(inside[:, None] + shares * across[:, None]) < 1.0
    reached = np.logical_and.accumulate(below, axis=1).sum(axis=1)
    points[crossing] = inside + ((reached + 0.5) / sections)[:, None] * across
    return tuple(np.split(points, np.cumsum([len(ring) for ring in rings])[:-1]))


def _rate_between(
    rate: Callable[[Method], Any], grid: Method, below: FloatArray, above: FloatArray
) -> FloatArray:
    """A rate between two known ones, computed where these are on different sides of 1."""
    alpha, beta, gamma = np.broadcast_arrays(grid.alpha, grid.beta, grid.gamma)
    unknown = (below < 1.0) & (above >= 1.0)
    values = np.where(above < 1.0, above, below)
    if unknown.any():
        values[unknown] = rate(Method(alpha[unknown], beta[unknown], gamma[unknown]))

    return values
