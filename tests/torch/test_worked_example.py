"""The worked example shows what its text says, with SGD and with AdamW."""

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


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_a_run_with_too_large_a_lr_is_saved_by_the_guard(example, kind):
    lr = example.TOO_LARGE[kind]
    losses, monitor = example.train(kind, lr)
    assert "blew up" in example.outcome(losses)
    assert monitor.readings[-1].level == "warning"
    losses, monitor = example.train(kind, lr, on_warning="scale")
    assert sum(losses[-20:]) / 20 < 0.2 * losses[0]
    assert any("went back" in reading.action for reading in monitor.readings)


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_the_advised_lr_trains_in_peace(example, kind):
    advice = example.advice_for(kind)
    losses, monitor = example.train(kind, advice.lr, factor=advice.schedule.factor)
    assert sum(losses[-20:]) / 20 < 0.1 * losses[0]
    assert all(reading.level != "warning" for reading in monitor.readings)
