import math

import pytest

from ravine.torch.risk import blow_up_risk

MARGINS = [0.1, 0.3, 0.6, 1.0, 1.5, 3.0]
LOSSES = [(1.0, math.inf), (1.5, math.inf), (3.0, math.inf), (3.0, 20.0), (3.0, 5.0)]


@pytest.mark.parametrize("kind", ["mse", "cross-entropy", None])
def test_risk_grows_with_margin_and_loss(kind):
    for rise, left in LOSSES:
        risks = [blow_up_risk(margin, rise, left, kind) for margin in MARGINS]
        assert risks == sorted(risks)
    for margin in MARGINS:
        risks = [blow_up_risk(margin, rise, left, kind) for rise, left in LOSSES]
        assert risks == sorted(risks)


def test_both_kinds_are_the_larger_of_them():
    assert blow_up_risk(0.1, 1.0) == blow_up_risk(0.1, 1.0, loss_kind="mse")
    assert blow_up_risk(3.0, 3.0, 5.0, "mse") == 0.95
    assert blow_up_risk(3.0, 3.0, 5.0, "cross-entropy") == 0.07


@pytest.mark.parametrize("numbers", [(math.nan, 1.0, 9.0), (1.0, math.nan, 9.0)])
def test_what_is_not_a_number_is_certain(numbers):
    assert blow_up_risk(*numbers, loss_kind="mse") == 1.0
