"""Settings become arguments of a figure, and values for each condition number words."""

import pytest
import xarray as xr

from ravine.figures.catalogue import FigureEntry
from ravine.figures.style import at_each_ratio


def mapped(*, seed, resolution, repeats=5):
    return xr.Dataset()


def swept(*, seed, device, repeats=5):
    return xr.Dataset()


def seeded(*, seed, repeats=5):
    return xr.Dataset()


def fixed(*, repeats=5):
    return xr.Dataset()


def anything(**options):
    return xr.Dataset()


def entry(compute=seeded):
    parts = {"title": "A", "caption": "", "quick": {"repeats": 2}}
    return FigureEntry(**parts, compute=compute, draw=None, findings=lambda data: [])


@pytest.mark.parametrize(
    ("compute", "quick", "expected"),
    [
        (seeded, False, {"seed": 3}),
        (seeded, True, {"seed": 3, "repeats": 2}),
        (fixed, False, {}),
        (mapped, False, {"seed": 3, "resolution": 50}),
        (mapped, True, {"seed": 3, "resolution": 24, "repeats": 2}),
        (swept, False, {"seed": 3, "device": "cpu"}),
        (anything, False, {"seed": 3, "device": "cpu", "resolution": 50}),
    ],
)
def test_arguments_are_those_that_it_takes(compute, quick, expected):
    arguments = entry(compute).arguments(resolution=50, quick=quick, seed=3, device="cpu")
    assert arguments == expected


def test_quick_maps_are_no_larger_than_asked_for():
    small = entry(mapped).arguments(resolution=8, quick=True, seed=0, device="cpu")
    assert small["resolution"] == 8


def test_quick_settings_stay_as_they_are():
    shared = entry()
    shared.arguments(resolution=8, quick=True, seed=0, device="cpu")
    assert shared.quick == {"repeats": 2}


def test_every_value_needs_its_ratio():
    data = xr.Dataset(coords={"Q": [2.0, 8.0]})
    assert at_each_ratio(data, [0.5, 0.25], ".1f") == "0.5 at Q = 2, 0.2 at Q = 8"
    with pytest.raises(ValueError, match="zip"):
        at_each_ratio(data, [0.5])
