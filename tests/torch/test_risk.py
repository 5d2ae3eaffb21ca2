import math

import pytest

from ravine.torch.risk import blow_up_risk

DANGERS = [-2.0, -0.7, 0.2, 1.2, 2.4, 3.2, 3.6, 4.8, 6.0]


@pytest.mark.parametrize("kind", ["mse", "cross-entropy", None])
def test_risk_grows_with_danger(kind):
    risks = [blow_up_risk(danger, kind) for danger in DANGERS]
    assert risks == sorted(risks)
    assert 0.0 < risks[0] < 0.1 < risks[-1] < 1.0


def test_both_kinds_are_the_larger_of_them():
    for danger in DANGERS:
        kinds = [blow_up_risk(danger, kind) for kind in ("mse", "cross-entropy")]
        assert blow_up_risk(danger) == max(kinds)
        assert kinds[0] != kinds[1]


@pytest.mark.parametrize("danger", [math.nan, math.inf])
def test_what_is_not_a_number_is_certain(danger):
    assert blow_up_risk(danger, loss_kind="mse") == 1.0
