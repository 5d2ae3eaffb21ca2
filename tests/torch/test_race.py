import math

import numpy as np
import pytest

from ravine.torch import race as races
from ravine.torch.race import race


class FakeTrial:
    """A loss that falls with lr up to 1, and blows up above 2."""

    def __init__(self, setting, lr, momentum):
        self.lr, self.momentum, self.steps, self.alive = lr, momentum, 0, True
        self.checks = [1.0]

    def to(self, step, limit):
        self.alive = self.lr <= 2.0
        self.steps = max(self.steps, step if self.alive else 5)

    def score(self, looks):
        return abs(math.log(self.lr)) + 0.01 if self.alive else math.inf

    def rise(self, looks):
        return 0.0


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr(races, "Trial", FakeTrial)


@pytest.mark.parametrize("unit", [1.0, 64.0, 1 / 64.0])
def test_the_best_is_reached_from_far_away(fake, unit):
    field = race(None, unit, 0.9, "race")
    assert field.unit * 2.0**field.winner == pytest.approx(1.0)
    assert field.chosen == field.winner


def test_a_winner_next_to_a_blow_up_is_lowered(fake):
    field = race(None, 1.5, 0.9, "race")
    assert field.unit * 2.0**field.winner == pytest.approx(0.75)
    assert field.chosen == field.winner  # 1.5 lived
    field = race(None, 1.25, 0.9, "race")
    assert field.unit * 2.0**field.winner == pytest.approx(1.25)
    assert field.chosen == field.winner - 0.5  # 2.5 blew up


def test_a_long_memory_is_halved(fake):
    assert race(None, 1.0, 0.99, "race").chosen == race(None, 1.0, 0.9, "race").chosen - 1


def test_quick_takes_fewer_steps(fake):
    assert race(None, 1.0, 0.9, "quick").steps < 0.5 * race(None, 1.0, 0.9, "race").steps


def test_nothing_wins_where_all_blow_up(monkeypatch, fake):
    monkeypatch.setattr(FakeTrial, "to", lambda self, step, limit: setattr(self, "alive", False))
    field = race(None, 1.0, 0.9, "race")
    assert field.winner is None
    assert field.score == np.inf
