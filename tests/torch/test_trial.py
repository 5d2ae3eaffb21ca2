import math

import pytest
import torch

from ravine.torch.copies import Batches, batch_loss
from ravine.torch.trial import Setting, Trial, lr_ratios, set_parameters


def setting_of(model, loader, **options):
    rule = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9, nesterov=True)
    loss = batch_loss(torch.nn.functional.mse_loss)
    return Setting(model, rule, loss, Batches(loader, torch.device("cpu")), **options)


def test_a_trial_is_a_run_of_the_user_s_loop(linear, loader):
    setting = setting_of(linear, loader)
    trial = Trial(setting, 0.02, 0.5)
    trial.to(20, math.inf)
    rule = torch.optim.SGD(linear.parameters(), lr=0.02, momentum=0.5, nesterov=True)
    for step in range(20):
        x, y = setting.batches[setting.skipped + step]
        rule.zero_grad()
        loss = torch.nn.functional.mse_loss(linear(x), y)
        assert float(loss.detach()) == pytest.approx(trial.training[step], rel=1e-5)
        loss.backward()
        rule.step()
    assert len(trial.checks) == 5  # at the start and every five steps


def test_going_on_is_the_same_as_going_in_one_go(network, loader):
    setting = setting_of(network, loader)
    parts, whole = Trial(setting, 0.05, 0.9), Trial(setting, 0.05, 0.9)
    parts.to(10, math.inf)
    torch.rand(7)  # dropout must not depend on draws in between
    parts.to(20, math.inf)
    whole.to(20, math.inf)
    assert parts.training == whole.training


def test_a_blown_up_run_stops(linear, loader):
    trial = Trial(setting_of(linear, loader), 50.0, 0.9)
    trial.to(80, 3.0 * trial.checks[0])
    assert not trial.alive
    assert trial.steps == 5
    assert trial.score(3) == math.inf


def test_accumulation_and_clipping(linear, loader):
    trial = Trial(setting_of(linear, loader, accumulate=2, clip=1e-9), 0.1, 0.0)
    trial.to(5, math.inf)
    assert trial.checks[-1] == pytest.approx(trial.checks[0], rel=1e-6)


def test_clipping_is_of_unscaled_gradients_in_half_precision(linear, loader):
    """The loss is scaled by 65536: a clip at 1000 would act on what was not scaled back."""
    batches = list(loader)
    free, clipped = (
        Trial(setting_of(linear, batches, autocast=torch.float16, clip=clip), 0.02, 0.0)
        for clip in (None, 1e3)
    )
    for trial in (free, clipped):
        trial.to(20, math.inf)
    assert clipped.checks == free.checks
    assert free.checks[-1] < 0.5 * free.checks[0]


def test_accumulation_is_the_mean_of_its_batches(linear, loader):
    """Two batches of 16 a step are one of 32."""
    setting = setting_of(linear, loader, accumulate=2)
    trial = Trial(setting, 0.05, 0.5)
    trial.to(10, math.inf)
    rule = torch.optim.SGD(linear.parameters(), lr=0.05, momentum=0.5, nesterov=True)
    for step in range(10):
        parts = [setting.batches[setting.skipped + 2 * step + k] for k in (0, 1)]
        x, y = (torch.cat([part[i] for part in parts]) for i in (0, 1))
        rule.zero_grad()
        loss = torch.nn.functional.mse_loss(linear(x), y)
        assert float(loss.detach()) == pytest.approx(trial.training[step], rel=1e-5)
        loss.backward()
        rule.step()


def test_groups_keep_their_proportion():
    a, b = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    rule = torch.optim.SGD([{"params": [a], "lr": 0.1}, {"params": [b], "lr": 0.3}], lr=1.0)
    assert lr_ratios(rule) == pytest.approx([1.0, 3.0])
    assert set_parameters(rule, 0.5, 0.8) == pytest.approx([0.5, 1.5])
    assert [group["momentum"] for group in rule.param_groups] == [0.8, 0.8]
