"""The rule that chooses a learning rate, on losses that are a known function of lr."""

import math
from types import SimpleNamespace

import pytest

from ravine.torch import race as races
from ravine.torch.race import PLANS, Plan, Race
from ravine.torch.trial import Trial

SETTING = SimpleNamespace(start=10.0)


def best_at_one(lr, length):
    """Best at lr 1, blows up above 5."""
    return 1.0 + abs(math.log2(lr)) if lr <= 5.0 else math.inf


@pytest.fixture
def run(monkeypatch):
    def made(loss, unit=1.0, plan=PLANS["race"]):
        def run_trial(setting, lr, momentum, length):
            score = loss(lr, length)
            taken = length if math.isfinite(score) else min(8, length)
            return Trial(lr, momentum, length, score, [score] * taken), None

        monkeypatch.setattr(races, "run_trial", run_trial)
        race = Race(SETTING, plan, unit, 0.9)
        race.run()
        return race

    return made


@pytest.mark.parametrize("unit", [1.0, 64.0, 1 / 64.0, 1 / 32.0, 2.0**12])
@pytest.mark.parametrize("budget", PLANS)
def test_the_best_is_reached_from_far_away_within_the_budget(run, unit, budget):
    race = run(best_at_one, unit, PLANS[budget])
    assert race.winner.lr == pytest.approx(1.0)
    assert race.steps <= PLANS[budget].most
    lrs = {t.lr for t in race.trials.values() if t.steps == race.winner.steps}
    assert {0.5, 1.0, 2.0} <= lrs  # a neighbour on each side


def test_the_best_of_the_longer_trials_counts(run):
    """Short trials favour small lrs."""
    race = run(lambda lr, length: 1.0 + abs(math.log2(lr / (0.25 if length < 50 else 1.0))))
    assert race.winner.lr == 1.0


def test_plans_of_momentum_methods_have_longer_trials_for_as_many_steps(run):
    assert PLANS["race"].longer() == Plan(800, 36, 216)
    race = run(best_at_one, plan=PLANS["race"].longer())
    assert race.winner.steps == 216
    assert race.steps <= 800
    # These trials are repeated with twice the length, for which there would be no steps left.
    assert PLANS["thorough"].longer() == PLANS["thorough"]


def test_on_a_plateau_trials_are_longer_and_no_smaller_lr_is_taken(run):
    race = run(lambda lr, length: 9.9 - (1e-3 if lr == 0.5 else 0.0))
    assert max(t.steps for t in race.trials.values()) > PLANS["race"].long
    assert race.winner.lr == 1.0


def test_thorough_repeats_with_trials_of_twice_the_length(run):
    race = run(best_at_one, plan=PLANS["thorough"])
    assert race.winner.steps == 2 * PLANS["thorough"].long


def test_nothing_wins_where_all_blow_up(run):
    race = run(lambda lr, length: math.inf)
    assert race.winner is None
    assert race.steps <= PLANS["race"].most


def test_nothing_wins_where_every_loss_ends_above_its_start(run):
    """By less than noise, so that no trial blew up."""
    assert run(lambda lr, length: 10.5 + min(lr, 1.0)).winner is None


def test_where_long_trials_blow_up_lower_lrs_are_found_within_the_budget(run):
    """Short trials favour lrs that are far too large for longer ones."""
    race = run(lambda lr, length: best_at_one(lr if length < 50 else 64.0 * lr, length))
    assert race.winner.lr == pytest.approx(1 / 64.0)
    assert race.steps <= PLANS["race"].most


def test_a_lr_that_survives_short_trials_only_does_not_win(run):
    race = run(lambda lr, length: 1.0 / lr if lr * length < 150.0 else math.inf)
    assert race.winner.lr == 1.0
    assert race.winner.steps == PLANS["race"].long


@pytest.mark.parametrize("most", [20, 100, 500])
def test_smaller_plans_keep_to_their_steps(run, most):
    plan = PLANS["race"].within(most)
    assert run(best_at_one, plan=plan).steps <= most
    assert Plan(800, 36, 144).within(10_000) == PLANS["race"]
