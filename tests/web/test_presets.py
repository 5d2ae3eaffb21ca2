import pytest

import ravine
from ravine.web.presets import PRESETS
from ravine.web.view import parse


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_preset_is_a_view_without_complaints(preset):
    view, complaints = parse(preset.applied(20.0))
    assert complaints == {}
    expected = preset.settings.get("Q", 20.0)
    assert expected == view.Q


@pytest.mark.parametrize(
    ("key", "method"),
    [
        ("usual", ravine.nesterov),
        ("heavy-ball", ravine.heavy_ball),
        ("triple", ravine.triple_momentum),
    ],
)
def test_the_point_is_the_well_known_method(key, method):
    view, _ = parse(PRESETS[key].applied(20.0))
    expected = method(ravine.Curvature(1, 20))
    assert float(view.method.alpha) == pytest.approx(float(expected.alpha), rel=1e-12)
    assert float(view.method.beta) == pytest.approx(float(expected.beta), rel=1e-12)
    assert float(view.method.gamma) == pytest.approx(float(expected.gamma), rel=1e-12)
