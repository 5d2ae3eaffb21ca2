"""The worked example shows what its text says."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "torch_digits.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("torch_digits", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def warnings_of(monitor):
    return [reading for reading in monitor.readings if reading.level == "warning"]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_lr_that_grows_is_warned_of_in_time(example, seed):
    losses, monitor = example.train(0.005, 0.9, growth=1.02, seed=seed)
    assert len(losses) < example.STEPS
    assert "blew up" in example.outcome(losses)
    first = warnings_of(monitor)[0]
    assert first.step <= len(losses) - 10
    assert "times it in 20 steps" in first.message or "times its least" in first.message
    assert "lower lr to" in first.message


def test_the_advised_lr_trains_in_peace(example):
    losses, monitor = example.train(0.0672, 0.9)
    assert sum(losses[-20:]) / 20 < 0.1 * losses[0]
    assert not warnings_of(monitor)
