import pytest

from ravine.torch.risk import blow_up_risk


@pytest.mark.parametrize("kind", ["mse", "cross-entropy", None])
def test_risk_grows_with_margin_and_rise(kind):
    margins = [0.1, 0.3, 0.6, 1.0, 1.5, 3.0]
    for rise in (1.0, 1.5, 3.0):
        risks = [blow_up_risk(margin, rise, kind) for margin in margins]
        assert risks == sorted(risks)
    for margin in margins:
        risks = [blow_up_risk(margin, rise, kind) for rise in (1.0, 1.5, 3.0)]
        assert risks == sorted(risks)


def test_what_is_not_a_number_is_certain():
    assert blow_up_risk(float("nan"), 1.0, "mse") == 1.0
    assert blow_up_risk(0.1, 1.0) == blow_up_risk(0.1, 1.0, "mse")
