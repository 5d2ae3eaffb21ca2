"""The plane of step size and momentum as plain data, drawn by matplotlib or a browser.

A :class:`Plane` holds nested regions, each with its rate over the grid, and marked methods. All
pictures of the plane use it: the maps of the ladder, the contours of a sweep, the pictures of a
diagnosis and of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.figures.plane_labels import Label, place_labels
from ravine.figures.style import METHODS, OUTSIDE, Axes, Figure, finish, ink_on, panels, styled
from ravine.methods import Method, nesterov, sgd
from ravine.theory.ladder.batch_noise import SINGLE_TERMS, Batches
from ravine.theory.ladder.rungs import OUTSIDE as OUTSIDE_WORDS
from ravine.theory.ladder.rungs import RUNGS, Rung

_SECTIONS = 16
"""Number of parts of a grid edge; a border is put in the middle of one part."""
_FAR = 0.5
"""Rates farther than this from 1 are clipped, because contours are interpolated linearly."""


@dataclass(frozen=True, eq=False)
class Region:
    """The region where one rate is below 1."""

    rung: Rung
    rate: FloatArray
    """Rate per step over (momenta, steps)."""
    rings: list[FloatArray]
    """Its border as closed rings of (step, momentum), outer ones counterclockwise."""


class Mark(NamedTuple):
    """A named method in the plane."""

    key: str
    """Key of its colour and marker in ``ravine.figures.style.METHODS``."""
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
        """The number of nested regions that contain each grid point."""
        inside = [region.rate < 1.0 for region in self.regions]
        return np.asarray(np.sum(inside, axis=0, dtype=np.int64))

    def contour(self, region: Region) -> list[FloatArray]:
        """The region's border inside the plane: its rings without the parts on the frame."""
        corners = np.array([[self.steps[0], self.momenta[0]], [self.steps[-1], self.momenta[-1]]])
        lines = []
        for ring in region.rings:
            # A segment lies on the frame if both of its ends are on the same side.
            on_side = np.stack([ring == corner for corner in corners])
            along = (on_side[:, :-1] & on_side[:, 1:]).any(axis=(0, 2))
            pieces = np.split(ring, np.flatnonzero(along) + 1)
            lines += [piece for piece in pieces if len(piece) > 1]

        return lines

    def labels(self) -> list[Label]:
        """The label of every visible part, inside it, or beside it with a line to it."""
        names = [(OUTSIDE_WORDS, OUTSIDE)]
        names += [(one.rung.region, one.rung.colour) for one in self.regions]
        marks = [mark[1:] for mark in self.marks]
        return place_labels(self.steps, self.momenta, self.counts, names, marks)


def ladder_plane(
    curvature: Curvature,
    steps: FloatArray,
    momenta: FloatArray,
    *,
    gamma: float | FloatArray | None = None,
    batches: Batches = SINGLE_TERMS,
    log: bool = False,
    costly_sections: int = _SECTIONS,
) -> Plane:
    """Every rung of the ladder over a grid, with standard Nesterov and SGD marked.

    Borders are located between the points of the grid, so a coarse grid is enough. Slow rates are
    computed only where the neighbouring rungs do not decide on which side of 1 they are; elsewhere
    the rate of a region is that of a neighbour on the same side.

    Parameters
    ----------
    curvature
        One curvature.
    steps, momenta
        Ascending alpha L and beta. Rates have the shape (momenta, steps).
    gamma
        Look-ahead. Default: Nesterov's. An array in the shape of the rates gives no values between
        the points of the grid: then every rate is computed, and borders are interpolated.
    batches
        Curvature of single terms, and size of the batches.
    log
        Whether the axis of the step sizes is logarithmic.
    costly_sections
        Number of parts of a grid edge for the borders of slow rates.

    Examples
    --------
    >>> plane = ladder_plane(Curvature(1, 8), np.linspace(0.1, 2, 30), np.linspace(0, 1, 30))
    >>> [mark.key for mark in plane.marks], len(plane.regions) == len(RUNGS)
    (['nesterov', 'sgd'], True)
    """
    alpha_L, beta = np.meshgrid(steps, momenta)
    anywhere = not isinstance(gamma, np.ndarray)

    def rate_at(rung: Rung, step: FloatArray, momentum: FloatArray) -> FloatArray:
        if step.size == 0:
            return step

        method = Method(step / float(curvature.L), momentum, gamma)
        return np.asarray(rung.rate(curvature, method, batches).upper)

    # Slow rungs last: they are nested between their neighbours, which for most methods decide on
    # which side of 1 they are.
    rates: dict[int, FloatArray] = {}
    for place, rung in sorted(enumerate(RUNGS), key=lambda item: item[1].bracketed):
        below = rates.get(place - 1, np.zeros(alpha_L.shape))
        above = rates.get(place + 1, np.full(alpha_L.shape, np.inf))
        if rung.bracketed and anywhere:
            unknown = (below < 1.0) & (above >= 1.0)
            rates[place] = np.where(above < 1.0, above, below)
            rates[place][unknown] = rate_at(rung, alpha_L[unknown], beta[unknown])
        else:
            rates[place] = rate_at(rung, alpha_L, beta)

    regions = []
    for place, rung in enumerate(RUNGS):
        rings = _rings(steps, momenta, rates[place])
        if rings and anywhere:
            sections = costly_sections if rung.bracketed else _SECTIONS
            rings = _refined(rings, steps, momenta, rates[place], partial(rate_at, rung), sections)
        regions.append(Region(rung, rates[place], rings))

    return Plane(steps, momenta, tuple(regions), standard_marks(curvature), log)


def rated_plane(
    steps: FloatArray,
    momenta: FloatArray,
    rates: Mapping[str, FloatArray],
    marks: tuple[Mark, ...],
    *,
    log: bool = False,
) -> Plane:
    """Rungs of the ladder from their rates over (momenta, steps) by key; borders interpolated."""
    regions = tuple(
        Region(rung, rates[rung.key], _rings(steps, momenta, rates[rung.key]))
        for rung in RUNGS
        if rung.key in rates
    )
    return Plane(steps, momenta, regions, marks, log)


def standard_marks(curvature: Curvature) -> tuple[Mark, ...]:
    """The standard Nesterov parameters and SGD's best fixed step."""
    known = {"nesterov": nesterov(curvature), "sgd": sgd(curvature)}
    L = float(curvature.L)
    return tuple(
        Mark(key, METHODS[key].words, float(method.alpha) * L, float(method.beta))
        for key, method in known.items()
    )


def draw_plane(axes: Axes, plane: Plane, *, filled: bool = True, labels: bool = True) -> None:
    """Draw the regions, or only the lines around them, and the marks.

    Parameters
    ----------
    axes
        Axes of matplotlib. Their limits become those of the grid.
    plane
        What to draw.
    filled
        Fill the regions and the background. Otherwise draw only their borders, as lines that are
        visible on every colour, over a map.
    labels
        Write the labels of the regions.
    """
    from matplotlib.patheffects import withStroke

    if filled:
        _fill_regions(axes, plane, plane.labels() if labels else [])
    for region in () if filled else plane.regions:
        # A dark rim makes the lines visible on every colour.
        colour, dashes = region.rung.contour
        rim = withStroke(linewidth=2.6, foreground="#000000b0")
        line: Any = {"color": colour, "ls": dashes, "lw": 1.4, "path_effects": [rim]}
        axes.plot([], [], label=region.rung.contour_label, **line)
        for border in plane.contour(region):
            axes.plot(border[:, 0], border[:, 1], **line)

    for mark in plane.marks:
        look = METHODS[mark.key]
        axes.plot(
            mark.step, mark.momentum, look.marker, color=look.colour, markersize=7,
            markeredgecolor="black", label=mark.words, zorder=5,
        )  # fmt: skip

    if plane.log:
        axes.set_xscale("log")
    axes.set(
        xlabel="step size αL", ylabel="momentum β",
        xlim=(plane.steps[0], plane.steps[-1]), ylim=(plane.momenta[0], plane.momenta[-1]),
    )  # fmt: skip


@styled
def plane_figure(
    plane: Plane,
    title: str = "",
    *,
    under: Callable[[Axes], None] | None = None,
    over: Callable[[Axes], None] | None = None,
) -> Figure:
    """Draw a plane alone, filled, or its borders over the map that ``under`` draws.

    ``over`` draws on top. Everything with a label is in the legend below.
    """
    figure, axes = panels(1, 1, height=6.2)
    [[axis]] = axes
    if under is not None:
        under(axis)
    draw_plane(axis, plane, filled=under is None)
    if over is not None:
        over(axis)
    axis.set_title(title)
    return finish(figure, axes, 2)


def _fill_regions(axes: Axes, plane: Plane, labels: list[Label]) -> None:
    """Regions in their colours, with words in them or beside them."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from matplotlib.patheffects import withStroke

    axes.set_facecolor(OUTSIDE)
    axes.fill([], [], color=OUTSIDE, label=OUTSIDE_WORDS)
    for region in plane.regions:
        whole = Path.make_compound_path(*(Path(ring, closed=True) for ring in region.rings))
        look: Any = {"facecolor": region.rung.colour, "edgecolor": "white", "linewidth": 0.8}
        axes.add_patch(PathPatch(whole, label=region.rung.region_label, **look))

    for label in labels:
        ink = ink_on(label.ground)
        # The line from a label to its region is visible on light and dark colours.
        rim = withStroke(linewidth=1.8, foreground=f"{ink_on(ink)}80")
        line = {"arrowstyle": "-", "linewidth": 0.8, "color": ink, "path_effects": [rim]}
        axes.annotate(
            "\n".join(label.lines), label.points_at or label.at, label.at, fontsize=7.5, color=ink,
            ha="center", va="center", arrowprops=line if label.points_at else None,
        )  # fmt: skip


def _rings(steps: FloatArray, momenta: FloatArray, rate: FloatArray) -> list[FloatArray]:
    """Closed rings around the region where a rate is below 1, by linear interpolation."""
    from contourpy import FillType, contour_generator

    # Values far from 1 would distort the contour at 1.
    near = np.clip(np.nan_to_num(rate, nan=np.inf), 1.0 - _FAR, 1.0 + _FAR)
    tracer = contour_generator(steps, momenta, near, fill_type=FillType.OuterOffset)
    points, offsets = tracer.filled(-np.inf, 1.0)
    # Interpolated points may miss the frame by a rounding error.
    frame = np.array([steps[0], momenta[0]]), np.array([steps[-1], momenta[-1]])
    return [
        ring
        for outer, cuts in zip(points, offsets, strict=True)
        for ring in np.split(np.clip(outer, *frame), np.asarray(cuts[1:-1], dtype=np.intp))
    ]


def _refined(
    rings: list[FloatArray],
    steps: FloatArray,
    momenta: FloatArray,
    rate: FloatArray,
    at: Callable[[FloatArray, FloatArray], FloatArray],
    sections: int,
) -> list[FloatArray]:
    """Move the points of rings along the edges of the grid, to where the rate is 1.

    Rates are often flat and close to 1 inside a region, and steep outside: interpolation alone
    would draw a staircase.
    """
    # The grid points on both sides of each coordinate, or twice the same one if it is on the grid.
    # A point lies on a grid edge, whose ends differ in one coordinate.
    points = np.concatenate(rings)
    left = np.searchsorted(steps, points[:, 0], "right") - 1
    bottom = np.searchsorted(momenta, points[:, 1], "right") - 1
    right = np.searchsorted(steps, points[:, 0])
    top = np.searchsorted(momenta, points[:, 1])
    starts_inside = rate[bottom, left] < 1.0
    crossing = starts_inside != (rate[top, right] < 1.0)
    one = np.stack([steps[left], momenta[bottom]], axis=1)[crossing]
    other = np.stack([steps[right], momenta[top]], axis=1)[crossing]
    inside = np.where(starts_inside[crossing, None], one, other)
    across = one + other - 2.0 * inside

    shares = np.arange(1, sections)[:, None] / sections
    tried = inside[:, None] + shares * across[:, None]
    below = at(tried[..., 0], tried[..., 1]) < 1.0
    reached = np.logical_and.accumulate(below, axis=1).sum(axis=1)
    points[crossing] = inside + ((reached + 0.5) / sections)[:, None] * across
    return np.split(points, np.cumsum([len(ring) for ring in rings])[:-1])
