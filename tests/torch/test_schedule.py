"""Schedules of the planned run, compressed to a trial, and the code that makes them."""

import functools
import math
from types import SimpleNamespace

import pytest
import torch
from torch.optim import lr_scheduler

from ravine.torch.schedule import schedule_of


@pytest.mark.parametrize("shape", ["constant", "linear", "cosine"])
@pytest.mark.parametrize("warmup", [None, 0, 0.2, 7])
def test_the_code_to_paste_is_the_schedule(shape, warmup):
    schedule = schedule_of(shape, 50, warmup)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
    names = {"torch": torch, "optimizer": optimizer}
    exec(schedule.code, names)
    for step in range(50):
        assert optimizer.param_groups[0]["lr"] == pytest.approx(0.3 * schedule.factor(step))
        optimizer.step()
        if "scheduler" in names:
            names["scheduler"].step()


@pytest.mark.parametrize("shape", ["constant", "linear", "cosine"])
def test_a_compressed_schedule_has_the_same_mean_and_ends(shape):
    schedule = schedule_of(shape, 1000, 0.1)
    long, short = schedule.compressed(1000), schedule.compressed(40)
    assert long == [schedule.factor(step) for step in range(1000)]
    assert sum(short) / 40 == pytest.approx(sum(long) / 1000, abs=0.002)
    assert short[0] == pytest.approx(0.13, abs=0.01)  # the middle of the first 25 steps
    assert schedule.falls == (shape != "constant")


def test_warm_up_keeps_its_length_for_adam():
    """Up to an eighth of the trial; the rest of the schedule takes the rest of the trial."""
    schedule = schedule_of("cosine", 1000, 50)
    short = schedule.compressed(160, adaptive=True)
    assert schedule.warmup == 49
    assert max(short) == short[20]
    assert short[:20] == sorted(short[:20])
    assert short[20:] == sorted(short[20:], reverse=True)
    assert short[-1] < 1e-3
    # A warm-up that takes more than an eighth of the run, or none, is compressed with the rest.
    for warmup in (0, 200):
        other = schedule_of("cosine", 1000, warmup)
        assert other.compressed(160, adaptive=True) == other.compressed(160)


def test_warm_up_is_a_share_or_steps_and_five_per_cent_unless_given():
    assert schedule_of("cosine", 1000, 0.1).factor(49) == 0.5
    assert schedule_of("cosine", 1000, 200).factor(99) == 0.5
    assert schedule_of("linear", 1000, None).factor(24) == 0.5
    assert schedule_of("constant", 1000, None).factor(0) == 1.0


def test_functions_see_the_steps_of_the_planned_run():
    """A schedule in steps, not in shares, is compressed all the same."""
    schedule = schedule_of(lambda step, steps: 0.99**step if step < steps else 0.0, 400, None)
    assert schedule.compressed(4) == pytest.approx([0.99**s for s in (50, 150, 250, 350)], rel=0.01)
    assert schedule.falls


def test_factories_of_schedulers():
    step_lr = functools.partial(lr_scheduler.StepLR, step_size=30)
    schedule = schedule_of(step_lr, 60, None)
    assert [schedule.factor(s) for s in (0, 29, 30, 59)] == pytest.approx([1.0, 1.0, 0.1, 0.1])
    one_cycle = schedule_of(
        lambda rule: lr_scheduler.OneCycleLR(rule, max_lr=0.2, total_steps=61), 60, None
    )
    assert max(one_cycle.compressed(60)) == 1.0
    # Its own largest lr would take the place of the advised one.
    rule = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.03)
    names = {"torch": torch, "optimizer": rule, "advice": SimpleNamespace(schedule=one_cycle)}
    exec(one_cycle.code, names)
    lrs = []
    for _ in range(60):
        lrs.append(rule.param_groups[0]["lr"])
        rule.step()
        names["scheduler"].step()
    assert max(lrs) == pytest.approx(0.03)
    cosine = schedule_of(lambda rule: lr_scheduler.CosineAnnealingLR(rule, 60), 60, None)
    expected = [0.5 * (1 + math.cos(math.pi * s / 60)) for s in range(60)]
    assert cosine.compressed(60) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("schedule", "warmup", "line"),
    [
        ("triangle", None, "schedule must be one of constant, linear, cosine"),
        ("cosine", 100, "warmup must be shorter than the run"),
        ("cosine", -1, "warmup must be"),
        (lambda step, steps: 1.0, 5, "warmup must be omitted"),
        (lambda rule: lr_scheduler.ReduceLROnPlateau(rule), None, "needs no metric"),
    ],
)
def test_bad_schedules_are_refused(schedule, warmup, line):
    with pytest.raises(ValueError, match=line):
        schedule_of(schedule, 100, warmup)
