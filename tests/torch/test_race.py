"""The rule that chooses a learning rate, on losses that are a known function of lr."""

import math
from types import SimpleNamespace

import pytest

from ravine.torch import race as races
from ravine.torch.race import PLANS, Plan, Race, hold
from ravine.torch.trial import Trial

SETTING = SimpleNamespace(start=10.0)


def best_at_one(lr, length):
    """Best at lr 1, blows up above 5."""
    return 1.0 + abs(math.log2(lr)) if lr <= 5.0 else math.inf


@pytest.fixture
def run(monkeypatch):
    def made(loss, unit=1.0, plan=PLANS["race"], calm=math.inf):
        def run_trial(setting, lr, momentum, length, held=False):
            score = loss(lr, length)
            taken = length if math.isfinite(score) else min(8, length)
            rose = held and lr > calm
            return Trial(lr, momentum, length, score, [score] * taken, held, rose), None

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


def test_a_winner_whose_neighbour_blows_up_or_loses_much_is_near_its_edge(run):
    assert run(lambda lr, length: 1.0 / lr if lr <= 1.5 else math.inf).near_edge()
    assert run(lambda lr, length: 1.0 / lr if lr <= 1.5 else 5.0).near_edge()
    assert not run(lambda lr, length: 1.0 + 0.1 * abs(math.log2(lr))).near_edge()


@pytest.mark.parametrize(("calm", "expected"), [(2.0, 1.0), (0.6, 0.5), (0.3, 0.25)])
def test_a_lr_is_halved_until_the_loss_stays_down_at_the_peak(run, calm, expected):
    run(best_at_one, calm=calm)
    plan = PLANS["race"]
    lr, held = hold(SETTING, plan, 1.0, 0.9, 1000)
    assert lr == expected
    assert [trial.rose for trial in held] == [*[True] * (len(held) - 1), False]
    # Half a trial at least is needed.
    assert hold(SETTING, plan, 1.0, 0.9, plan.long // 2 - 1) == (1.0, [])


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


def test_a_lr_that_survives_short_trials_only_does_not_win(run):
    race = run(lambda lr, length: 1.0 / lr if lr * length < 150.0 else math.inf)
    assert race.winner.lr == 1.0
    assert race.winner.steps == PLANS["race"].long


@pytest.mark.parametrize("most", [20, 100, 500])
def test_smaller_plans_keep_to_their_steps(run, most):
    plan = PLANS["race"].within(most)
    assert run(best_at_one, plan=plan).steps <= most
    assert Plan(800, 36, 144).within(10_000) == PLANS["race"]
