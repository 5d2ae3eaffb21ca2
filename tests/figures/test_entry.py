"""An entry turns settings into arguments, and values into words."""

import pytest
import xarray as xr

from ravine.figures.entry import FigureEntry, at_each_ratio


def entry(**changes):
    parts = {"name": "a", "title": "A", "caption": "", "quick": {"repeats": 2}}
    parts |= {"compute": xr.Dataset, "draw": None, "findings": lambda data: []}
    return FigureEntry(**{**parts, **changes})


@pytest.mark.parametrize(
    ("changes", "quick", "expected"),
    [
        ({}, False, {"seed": 3}),
        ({}, True, {"seed": 3, "repeats": 2}),
        ({"seeded": False}, False, {}),
        ({"mapped": True}, False, {"seed": 3, "resolution": 50}),
        ({"mapped": True}, True, {"seed": 3, "resolution": 24, "repeats": 2}),
        ({"swept": True}, False, {"seed": 3, "device": "cpu"}),
    ],
)
def test_arguments(changes, quick, expected):
    arguments = entry(**changes).arguments(resolution=50, quick=quick, seed=3, device="cpu")
    assert arguments == expected


def test_quick_maps_are_no_larger_than_asked_for():
    small = entry(mapped=True).arguments(resolution=8, quick=True, seed=0, device="cpu")
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
