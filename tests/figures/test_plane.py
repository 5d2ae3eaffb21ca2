"""The one plane of step size and momentum, as data and as drawn by matplotlib."""

from dataclasses import replace
from functools import wraps
from itertools import permutations

import numpy as np
import pytest

from ravine import Curvature, Method, commuting_rate, nesterov, sgd
from ravine.figures import plane as planes
from ravine.figures.plane import OUTSIDE_WORDS, draw_plane, ladder_plane
from ravine.figures.plane_labels import LETTER, MARGIN
from ravine.figures.style import METHODS, OUTSIDE
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.ladder.rungs import RUNGS

STEPS = np.linspace(0.0025, 2.5, 48)
MOMENTA = np.linspace(-1.0, 1.0, 48)


@pytest.fixture(scope="module", params=[2.0, 32.0, 300.0], ids=lambda Q: f"Q={Q:g}")
def both(request):
    curvature = Curvature(1.0, request.param)
    return curvature, ladder_plane(curvature, STEPS, MOMENTA)


def test_regions_are_those_of_the_rungs(both):
    curvature, plane = both
    method = Method(STEPS / float(curvature.L), MOMENTA[:, None])
    inside = [rung.rate(curvature, method).upper < 1.0 for rung in RUNGS]
    assert (plane.counts == np.sum(inside, axis=0)).all()


def test_a_look_ahead_of_every_pixel_gives_every_rate():
    curvature = Curvature(1.0, 8.0)
    gamma = np.broadcast_to(0.5 * MOMENTA[:, None], (48, 48))
    plane = ladder_plane(curvature, STEPS, MOMENTA, gamma=gamma)
    method = Method(STEPS / 8.0, MOMENTA[:, None], gamma)
    for region in plane.regions:
        assert (region.rate == region.rung.rate(curvature, method).upper).all()


def test_the_costly_rate_is_computed_where_its_neighbours_leave_it_open(monkeypatch):
    asked = []

    @wraps(commuting_rate)
    def counted(curvature, method):
        asked.append(np.size(method.alpha))
        return commuting_rate(curvature, method)

    rungs = tuple(replace(one, function=counted) if one.bracketed else one for one in RUNGS)
    monkeypatch.setattr(planes, "RUNGS", rungs)
    ladder_plane(Curvature(1, 32), STEPS, MOMENTA, costly_sections=2)
    assert 0 < sum(asked) < 0.15 * STEPS.size * MOMENTA.size


@pytest.mark.parametrize("Q", [8.0, 2000.0])
def test_a_bisected_border_lies_where_the_rate_is_one(Q):
    curvature = Curvature(1.0, Q)
    quick = ladder_plane(curvature, STEPS, MOMENTA)
    cell = max(np.diff(STEPS)[0], np.diff(MOMENTA)[0])
    for rung, region in zip(RUNGS, quick.regions, strict=True):
        if rung.bracketed:
            continue
        points = np.concatenate(quick.contour(region))
        shift = cell / 25.0 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        around = points[:, None, :] + shift
        methods = Method(np.maximum(around[..., 0], 1e-6) / Q, np.clip(around[..., 1], -1, 1))
        inside = np.asarray(rung.rate(curvature, methods).upper) < 1.0
        assert (inside.any(axis=1) & ~inside.all(axis=1)).mean() > 0.97


def test_a_region_may_be_empty_or_lie_on_the_frame_alone():
    hard = ladder_plane(Curvature(1, 32), STEPS, MOMENTA, batches=Batches(L_max=32e3, batch_size=1))
    assert any(len(hard.contour(region)) == 0 for region in hard.regions)
    easy = ladder_plane(Curvature(1, 2), STEPS[:8], MOMENTA[20:28])
    assert all(len(region.rings) == 1 for region in easy.regions)


def test_rings_close_and_contours_leave_the_frame_out(both):
    _, quick = both
    for region in quick.regions:
        for ring in region.rings:
            assert (ring[0] == ring[-1]).all()
        for line in quick.contour(region):
            ends = 0.5 * (line[1:] + line[:-1])
            on_frame = np.isin(ends[:, 0], STEPS[[0, -1]]) | np.isin(ends[:, 1], MOMENTA[[0, -1]])
            assert not on_frame.any()


def test_standard_methods_are_marked_at_their_parameters(both):
    curvature, full = both
    marks = {mark.key: (mark.step, mark.momentum) for mark in full.marks}
    for key, method in (("nesterov", nesterov(curvature)), ("sgd", sgd(curvature))):
        step = float(method.alpha) * float(curvature.L)
        assert marks[key] == pytest.approx((step, float(method.beta)))


def test_labels_name_the_region_that_they_stand_in_or_point_at(both):
    _, quick = both
    names = [OUTSIDE_WORDS, *(rung.region for rung in RUNGS)]
    labels = quick.labels()
    assert OUTSIDE_WORDS in {" ".join(label.lines) for label in labels}
    for label in labels:
        step, momentum = label.points_at or label.at
        row = np.abs(MOMENTA - momentum).argmin()
        column = np.abs(STEPS - step).argmin()
        assert quick.counts[row, column] == names.index(" ".join(label.lines))


def box_of(label):
    """Corners of the words of a label, as shares of the plane."""
    spans = np.array([STEPS[-1] - STEPS[0], MOMENTA[-1] - MOMENTA[0]])
    middle = (np.array(label.at) - [STEPS[0], MOMENTA[0]]) / spans
    half = 0.5 * np.array([LETTER[0] * max(map(len, label.lines)), LETTER[1] * len(label.lines)])
    return middle - half, middle + half


@pytest.mark.parametrize("Q", [8.0, 10.0, 32.0, 300.0])
def test_no_label_covers_another_and_no_line_crosses_one(Q):
    labels = ladder_plane(Curvature(1.0, Q), STEPS, MOMENTA).labels()
    origin, spans = np.array([STEPS[0], MOMENTA[0]]), np.array([np.ptp(STEPS), np.ptp(MOMENTA)])
    for label, other in permutations(labels, 2):
        low, high = box_of(other)
        assert not ((box_of(label)[0] < high) & (box_of(label)[1] > low)).all()
        if label.points_at is not None:
            ends = (np.array([label.at, label.points_at]) - origin) / spans
            line = ends[0] + np.linspace(0.0, 1.0, 200)[:, None] * (ends[1] - ends[0])
            assert not ((line > low) & (line < high)).all(axis=1).any()


@pytest.mark.parametrize("Q", [8.0, 32.0, 300.0])
def test_labels_keep_away_from_the_frame_and_from_what_they_point_at(Q):
    labels = ladder_plane(Curvature(1.0, Q), STEPS, MOMENTA).labels()
    origin, spans = np.array([STEPS[0], MOMENTA[0]]), np.array([np.ptp(STEPS), np.ptp(MOMENTA)])
    for label in labels:
        low, high = box_of(label)
        assert (low >= 0.3 * MARGIN).all()
        assert (high <= 1.0 - 0.3 * MARGIN).all()
        if label.points_at is not None:
            target = (np.array(label.points_at) - origin) / spans
            assert ((target < low - 0.5 * MARGIN) | (target > high + 0.5 * MARGIN)).any()


def test_every_region_and_mark_is_drawn_and_in_the_legend(both):
    from matplotlib.figure import Figure

    _, full = both
    axes = Figure().add_subplot()
    draw_plane(axes, full)
    assert axes.get_legend_handles_labels()[1] == [
        OUTSIDE_WORDS, *(rung.region_label for rung in RUNGS), *(mark.words for mark in full.marks)
    ]  # fmt: skip
    assert axes.get_facecolor()[:3] == pytest.approx(
        [int(OUTSIDE[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    )
    assert axes.get_lines()[1].get_color() == METHODS["sgd"].colour


def test_borders_alone_are_lines_in_the_rungs_own_dashes(both):
    from matplotlib.figure import Figure

    _, full = both
    axes = Figure().add_subplot()
    draw_plane(axes, full, filled=False)
    assert not axes.patches
    labels = axes.get_legend_handles_labels()[1]
    assert labels[: len(RUNGS)] == [rung.contour_label for rung in RUNGS]


def test_a_new_rung_is_a_new_region(monkeypatch):
    from dataclasses import replace

    more = (*RUNGS, replace(RUNGS[-1], region="more", colour="#123456"))
    monkeypatch.setattr(planes, "RUNGS", more)
    plane = ladder_plane(Curvature(1, 32), STEPS, MOMENTA)
    assert [region.rung.region for region in plane.regions] == [rung.region for rung in more]
    assert "#123456" in {label.ground for label in plane.labels()}


def test_a_plane_inside_one_region_has_the_frame_as_its_border():
    steps, momenta = np.linspace(0.2, 0.4, 8), np.linspace(0.0, 0.1, 8)
    plane = ladder_plane(Curvature(1, 2), steps, momenta)
    assert (plane.counts == len(RUNGS)).all()
    assert all(not plane.contour(region) for region in plane.regions)


@pytest.mark.parametrize("Q", [24.0, 28.0])
def test_borders_stay_inside_the_frame(Q):
    """Interpolation puts some points off it by a rounding."""
    plane = ladder_plane(Curvature(1.0, Q), STEPS, MOMENTA)
    points = np.concatenate([ring for one in plane.regions for ring in one.rings])
    assert (points >= [STEPS[0], MOMENTA[0]]).all()
    assert (points <= [STEPS[-1], MOMENTA[-1]]).all()
