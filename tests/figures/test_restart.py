"""Restart stops the divergence where its rule sees enough."""

import numpy as np
import pytest

from ravine.figures.divergence import RULES, draw_restart, restart, restart_findings


@pytest.fixture(scope="module")
def data():
    return restart(trajectories=64, steps=1200)


def test_restart_helps_where_it_sees_enough(data):
    growth = data["growth"].values
    assert (growth[:, 0] > 1.0).all()
    assert (growth[:3, 1:] < 1.0).all()
    rho = np.sqrt(2.0) * (1.0 - 32.0**-0.5)
    assert growth[3, :3] == pytest.approx(rho, abs=1e-6)
    assert growth[3, 3] < 0.95


def test_growth_is_that_of_the_typical_distance(data):
    """The geometric mean at the end over that in the middle."""
    typical = data["log_typical"].sel(rule="never").isel(example=1)
    steps = data["step"].values
    middle = int(np.searchsorted(steps, 600))
    slope = (typical.values[-1] - typical.values[middle]) / (steps[-1] - steps[middle])
    assert float(data["growth"].sel(rule="never")[1]) == pytest.approx(np.exp(slope), rel=1e-12)
    assert float(data["growth_half"].sel(rule="never")[0]) == 0.0  # cyclic: a single run


def test_every_rule_is_drawn(data):
    axes = draw_restart(data).axes
    assert [len(axis.lines) for axis in axes] == [len(RULES) + 1] * 3
    assert axes[2].get_title() == "(c) turning quadratics, cyclic"


def test_findings_name_every_example_and_rule(data):
    lines = restart_findings(data)
    assert len(lines) == 4
    for line, growths in zip(lines, data["growth"].values, strict=True):
        assert all(f"{rule} {g:.4f}" in line for rule, g in zip(RULES, growths, strict=True))
