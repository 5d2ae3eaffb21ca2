from itertools import pairwise

import numpy as np
import pytest

from ravine.engine.measures import (
    FIELDS,
    Outcome,
    Records,
    Setting,
    bin_edges,
    summarise,
    vanished,
)


def measured(history, start=1.0, noisy=False, diverged_at=0):
    """Measures of one run whose errors after steps 1, 2, ... are given."""
    edges = bin_edges(len(history))
    sums = np.array([[np.sum(history[a:b] ** 2)] for a, b in pairwise(edges)])
    out = np.full((1, len(FIELDS)), np.nan)
    records = Records(sums, history[-1:] ** 2, np.array([diverged_at]), np.zeros(1))
    summarise(Setting(edges, start**2, noisy, vanished("float64"), 0), records, out)
    return dict(zip(FIELDS, out[0], strict=True))


def test_bins_are_fine_at_first_then_thirty_two_an_octave():
    edges = bin_edges(1000)
    assert edges[:65].tolist() == list(range(65))
    assert edges[64:97].tolist() == list(range(64, 129, 2))
    assert edges[-2:].tolist() == [992, 1000]
    for steps in (1, 2, 63, 64, 65, 66, 128, 129, 10**6):
        edges = bin_edges(steps)
        assert edges[0] == 0
        assert edges[-1] == steps
        assert np.all(np.diff(edges) > 0)
    assert len(edges) < 600


@pytest.mark.parametrize("rate", [0.2, 0.9, 0.999, 1.004])
def test_the_rate_of_a_geometric_history_is_exact(rate):
    found = measured(rate ** np.arange(1.0, 1501.0))
    assert found["rate"] == pytest.approx(rate, abs=1e-9)


def test_the_window_leaves_out_the_transient_and_the_end_of_the_format():
    k = np.arange(1.0, 1001.0)
    found = measured(0.5**k + 1e3 * 0.3**k)
    assert found["rate"] == pytest.approx(0.5, abs=1e-6)
    assert found["rate_stop"] == pytest.approx(140 * np.log(10) / np.log(2), rel=0.05)
    assert found["rate_start"] == pytest.approx(found["rate_stop"] / 2, rel=0.05)
    # A double eigenvalue, k rho^k, bends by 1/k; the window is late enough for 0.01.
    assert measured(k * 0.9**k)["rate"] == pytest.approx(0.9, abs=0.01)


def test_exact_arrival_has_rate_zero():
    assert measured(np.zeros(100))["rate"] == 0.0


def test_a_decay_into_noise():
    rng = np.random.default_rng(0)
    k = np.arange(1.0, 2001.0)
    history = 1e6 * 0.95**k + np.abs(1 + 0.2 * rng.standard_normal(2000))
    found = measured(history, start=1e5, noisy=True)
    assert found["rate"] == pytest.approx(0.95, abs=0.003)
    assert found["rate_stop"] < 300
    assert found["floor_square"] == pytest.approx(1.04, rel=0.03)
    assert found["outcome"] == Outcome.NOISE_FLOOR
    # Never above its floor: there is no decay to fit.
    flat = measured(history[1000:], noisy=True)
    assert np.isnan(flat["rate"])
    assert flat["rate_start"] == -1


def test_a_slow_decay_is_undecided():
    k = np.arange(1.0, 1001.0)
    for noisy in (False, True):
        found = measured(0.9999**k, noisy=noisy)
        assert found["outcome"] == Outcome.UNDECIDED
        assert found["rate"] == pytest.approx(0.9999, abs=1e-6)


@pytest.mark.parametrize("period", [5.3, 17.0, 50.0, 130.0])
def test_a_slowly_decaying_oscillation_is_not_a_noise_floor(period):
    # By e^-1 over the run, at most an eighth of the second half a period.
    k = np.arange(1.0, 3001.0)
    found = measured(np.exp(-k / 3000) * np.abs(np.cos(2 * np.pi * k / period)), noisy=True)
    assert found["outcome"] == Outcome.UNDECIDED


def test_a_stationary_run_is_at_its_floor():
    # Five coordinates whose noise has a memory of ten steps: 300 such times in the run.
    rng = np.random.default_rng(0)
    outcomes = []
    for _ in range(100):
        x, history = rng.standard_normal(5), []
        for z in rng.standard_normal((3000, 5)):
            x = 0.9 * x + np.sqrt(0.19) * z
            history.append(np.sqrt(x @ x))
        outcomes.append(measured(np.array(history), start=2.0, noisy=True)["outcome"])
    assert np.mean(np.array(outcomes) == Outcome.NOISE_FLOOR) >= 0.97


def test_an_error_that_passes_through_zero_has_not_converged():
    k = np.arange(1.0, 501.0)
    found = measured(np.abs(np.cos(2 * np.pi * k / 400)) * 0.9999**k)
    assert found["final_error"] < 1e-6
    assert found["outcome"] == Outcome.UNDECIDED


def test_a_diverged_run():
    history = 3.0 ** np.arange(1.0, 101.0)
    history[60:] = np.nan
    found = measured(history, diverged_at=22)
    assert found["outcome"] == Outcome.DIVERGED
    assert found["diverged_at"] == 22
    assert found["rate"] == pytest.approx(3.0, abs=1e-9)
    assert np.isnan(found["floor_square"])
    assert np.isinf(found["final_error"])


def test_every_outcome_has_a_sentence():
    assert all(outcome.sentence for outcome in Outcome)
