"""``Monitor``: the margin on problems where it is known, warnings, and the guard."""

import copy
import csv
import gc
import logging
import math
import weakref

import pytest
import torch

from ravine.torch import ASG, Monitor, Reading
from ravine.torch.direction import coordinates, is_coarse
from ravine.torch.guard import SmoothedLoss
from ravine.torch.products import shaped

MSE = torch.nn.functional.mse_loss


def run(model, optimizer, loader, monitor, steps=100, before_step=None, after_step=None):
    stream = (batch for _ in range(1000) for batch in loader)
    losses = []
    for step in range(steps):
        x, y = next(stream)
        if before_step:
            before_step(step)
        optimizer.zero_grad()
        loss = MSE(model(x), y)
        loss.backward()
        if monitor is not None:
            monitor.check(lambda x=x, y=y: MSE(model(x), y), loss)
        optimizer.step()
        if after_step:
            after_step(step)
        losses.append(float(loss.detach()))
    return losses


def hessian_of(data):
    rows = torch.cat([data[0], torch.ones(len(data[0]), 1)], dim=1)
    return 2 * rows.T @ rows / len(rows)


def test_the_margin_of_a_quadratic(linear, data):
    """One batch, the whole data: the limit is (2 + 2m)/((1 + 2m) top) once the direction is."""
    top = float(torch.linalg.eigvalsh(hessian_of(data))[-1])
    optimizer = torch.optim.SGD(linear.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    monitor = Monitor(optimizer, every=1)
    run(linear, optimizer, [data], monitor, steps=40)
    reading = monitor.readings[-1]
    assert reading.curvature == pytest.approx(top, rel=0.02)
    assert reading.margin == pytest.approx(0.01 * 2.8 * top / 3.8, rel=0.05)


def test_dropout_is_off_in_a_check(linear, data):
    """The curvature is that of the loss without dropout, though the gradient of the step has it."""
    top = float(torch.linalg.eigvalsh(hessian_of(data))[-1])
    model = torch.nn.Sequential(torch.nn.Dropout(0.5), linear)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    monitor = Monitor(optimizer, every=1, model=model)
    run(model, optimizer, [data], monitor, steps=40)
    assert monitor.readings[-1].curvature == pytest.approx(top, rel=0.05)


@pytest.mark.parametrize("guarded", [True, False])
def test_clipping_does_not_spoil_the_curvature(linear, data, guarded):
    """The user clips before the check, and the guard clips where the norm is above 1."""
    top = float(torch.linalg.eigvalsh(hessian_of(data))[-1])
    optimizer = torch.optim.SGD(linear.parameters(), lr=1e-3)
    monitor = Monitor(optimizer, every=1, on_warning="scale" if guarded else None)
    for _ in range(40):
        optimizer.zero_grad()
        loss = 4.0 * MSE(linear(data[0]), data[1])
        loss.backward()
        norm = torch.nn.utils.get_total_norm([p.grad for p in linear.parameters()])
        assert norm > 1.0
        if not guarded:
            torch.nn.utils.clip_grad_norm_(linear.parameters(), 0.1)
        monitor.check(lambda: 4.0 * MSE(linear(data[0]), data[1]), loss)
        optimizer.step()
    assert monitor.readings[-1].curvature == pytest.approx(4.0 * top, rel=0.02)


def test_the_gradient_of_a_step_may_be_that_of_several_batches(linear, data):
    """With accumulation a check on the last batch alone reads that batch's curvature."""
    half = [(x, y) for x, y in zip(data[0].chunk(2), data[1].chunk(2), strict=True)]
    top = float(torch.linalg.eigvalsh(hessian_of(half[1]))[-1])
    optimizer = torch.optim.SGD(linear.parameters(), lr=1e-3)
    monitor = Monitor(optimizer, every=1)
    for _ in range(40):
        optimizer.zero_grad()
        for x, y in half:
            loss = MSE(linear(x), y)
            loss.backward()
        monitor.check(lambda: MSE(linear(half[1][0]), half[1][1]), loss)
        optimizer.step()
    assert monitor.readings[-1].curvature == pytest.approx(top, rel=0.02)


def test_asking_for_the_precision_keeps_no_graph(linear, data):
    """A graph whose saved tensors refer to themselves stays until the next garbage collection."""
    kept = []

    def closure():
        output = linear(data[0]).exp()
        kept.append(weakref.ref(output))
        return output.mean()

    gc.disable()
    try:
        assert not is_coarse(closure)
        assert kept[0]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("kernel", [{"foreach": True}, {"fused": True}, {"foreach": False}])
@pytest.mark.parametrize("kind", ["AdamW", "Adam", "RMSprop"])
def test_the_margin_of_adaptive_methods(linear, data, kind, kernel):
    """1/lr = lambda (1 - beta1)/(2 (1 + beta1)), of the Hessian between roots of P."""
    if kind == "RMSprop" and "fused" in kernel:
        pytest.skip("torch has no fused RMSprop")
    decay = {"AdamW": 0.5, "Adam": 0.3, "RMSprop": 0.0}[kind]
    make = getattr(torch.optim, kind)
    optimizer = make(linear.parameters(), lr=0.003, weight_decay=decay, **kernel)
    monitor = Monitor(optimizer, every=1)
    roots = []

    def precondition(step):
        if step == 0:
            roots.append(torch.ones(5))
            return
        name = "square_avg" if kind == "RMSprop" else "exp_avg_sq"
        square = torch.cat([optimizer.state[p][name].flatten() for p in linear.parameters()])
        if kind != "RMSprop":
            square = square / (1 - 0.999**step)
        roots.append((square.sqrt() + 1e-8).rsqrt())

    run(linear, optimizer, [data], monitor, steps=160, before_step=precondition)
    root = roots[monitor.readings[-1].step]
    hessian = hessian_of(data) + (decay * torch.eye(5) if kind == "Adam" else 0.0)
    top = float(torch.linalg.eigvalsh(root[:, None] * hessian * root)[-1])
    beta1 = 0.0 if kind == "RMSprop" else 0.9
    curvature = top * (1 - beta1) / (2 * (1 + beta1)) + (decay / 2 if kind == "AdamW" else 0.0)
    assert monitor.readings[-1].limit == pytest.approx(1.0 / curvature, rel=0.05)


def test_weights_without_a_gradient_do_not_count(network, loader):
    """The bias before BatchNorm: its preconditioner is rounding."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    run(network, optimizer, loader, None, steps=60)
    at = coordinates(optimizer, with_gradient=True)
    counted = [bool(torch.any(root > 0.0)) for root in shaped(at.roots, at.params)]
    names = [name for name, _ in network.named_parameters()]
    assert dict(zip(names, counted, strict=True)) == {name: name != "0.bias" for name in names}


def test_other_optimizers_have_no_margin_and_their_loss_is_watched(linear, loader):
    optimizer = torch.optim.Adagrad(linear.parameters(), lr=0.01)
    monitor = Monitor(optimizer)
    run(linear, optimizer, loader, monitor, steps=41)
    assert [reading.step for reading in monitor.readings] == [0, 20, 40]
    assert all(math.isnan(reading.margin) for reading in monitor.readings)
    assert "margin" not in str(monitor.readings[-1])


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_weights_gradients_and_averages_are_left_alone(network, loader, kind):
    twin = copy.deepcopy(network)
    batches = list(loader)
    for model, watched in ((network, True), (twin, False)):
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.01)
        monitor = Monitor(optimizer, every=2, model=model) if watched else None
        torch.manual_seed(4)
        run(model, optimizer, batches, monitor, steps=12)
    # A check's dropout is off, so that it draws no random numbers; batches are counted.
    for (name, value), other in zip(
        network.state_dict().items(), twin.state_dict().values(), strict=True
    ):
        if "num_batches" not in name:
            assert torch.equal(value, other)


def one_batch_run(data, seed, precision, steps=60):
    """A network trained on one batch for 60 steps, then held still; its last reading."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    monitor = Monitor(optimizer, every=5)

    def loss():
        with torch.autocast("cpu", dtype=precision, enabled=precision is not None):
            return MSE(model(data[0]).float(), data[1])

    for step in range(steps):
        if step == 60:
            optimizer.param_groups[0]["lr"] = 1e-9
        optimizer.zero_grad()
        value = loss()
        value.backward()
        monitor.check(loss, value)
        optimizer.step()
    return monitor.readings[-1]


@pytest.mark.parametrize("precision", [None, torch.bfloat16])
@pytest.mark.parametrize("seed", [0, 3, 5])
def test_one_batch_has_no_variance(data, seed, precision):
    """Neither a moving preconditioner nor rounding passes for variance: the limit is 38/lambda."""
    reading = one_batch_run(data, seed, precision)
    assert reading.limit == pytest.approx(38.0 / reading.curvature, rel=0.2)


@pytest.mark.parametrize("seed", [0, 3])
def test_low_precision_reads_the_same_curvature_and_margin(data, seed):
    plain, low = (one_batch_run(data, seed, p, steps=160) for p in (None, torch.bfloat16))
    assert low.curvature == pytest.approx(plain.curvature, rel=0.05)
    assert low.margin == pytest.approx(plain.margin, rel=0.05)


def test_a_rising_loss_is_warned_of_in_one_line(linear, loader, caplog):
    optimizer = torch.optim.SGD(linear.parameters(), lr=0.002, momentum=0.9, nesterov=True)
    warnings = []
    monitor = Monitor(optimizer, model=linear, on_warning=warnings.append)

    def grow(step):
        optimizer.param_groups[0]["lr"] = 0.002 * 1.02**step

    with caplog.at_level(logging.WARNING, "ravine.torch"):
        losses = run(linear, optimizer, loader, monitor, steps=400, before_step=grow)
    blow_up = next(i for i, loss in enumerate(losses) if i > 20 and not loss < 100 * losses[0])
    assert warnings
    assert warnings[0].step < blow_up
    assert warnings[0].margin > 0.8
    assert not warnings[0].action
    line = str(warnings[0])
    assert "\n" not in line
    assert "the loss has risen by" in line
    assert "times its limit along the sharpest direction; below lr" in line
    assert caplog.messages[0] == line


def test_a_run_that_goes_well_is_calm(linear, loader):
    for make, lr in ((torch.optim.SGD, 0.02), (torch.optim.AdamW, 0.01)):
        optimizer = make(linear.parameters(), lr=lr)
        monitor = Monitor(optimizer, on_warning="scale")
        losses = run(linear, optimizer, loader, monitor, steps=200)
        assert all(reading.level != "warning" for reading in monitor.readings)
        assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda p: ASG(p, 0.02, 0.9),
        lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, nesterov=True),
        lambda p: torch.optim.AdamW(p, lr=0.01),
    ],
)
def test_the_guard_saves_a_run_under_a_scheduler(network, loader, make):
    """lr jumps to a hundred times itself; the scheduler writes lr at every step."""
    saved = {}
    for guarded in (True, False):
        model = copy.deepcopy(network)
        optimizer = make(model.parameters())
        scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: 1.0 if step < 80 else 100.0
        )
        monitor = Monitor(optimizer, model=model, on_warning="scale") if guarded else None
        losses = run(
            model, optimizer, loader, monitor, 400, after_step=lambda step, s=scheduler: s.step()
        )
        saved[guarded] = sum(losses[-50:]) / 50
        if guarded:
            acted = [reading for reading in monitor.readings if reading.action]
            assert "went back to the last good weights with lr" in acted[0].action
            first, last = monitor.readings[0].lr, acted[-1].lr
            assert optimizer.param_groups[0]["lr"] == pytest.approx(100 * first)
            assert last < 100 * first
            best = sum(losses[60:80]) / 20
            assert (losses[0] - saved[True]) / (losses[0] - best) > 0.8
    assert not saved[False] < saved[True]


def test_a_nan_is_survived(linear, loader):
    optimizer = torch.optim.AdamW(linear.parameters(), lr=0.01)
    monitor = Monitor(optimizer, on_warning="scale")

    def poison(step):
        if step == 60:
            with torch.no_grad():
                linear.weight.fill_(math.nan)

    losses = run(linear, optimizer, loader, monitor, steps=150, before_step=poison)
    assert sum(math.isnan(loss) for loss in losses) == 1
    assert losses[-1] < losses[50]
    warning = next(reading for reading in monitor.readings if reading.level == "warning")
    assert "the loss is not a number" in warning.message


def test_going_back_restores_weights_and_state_exactly(linear, loader):
    """The run after a warning at step 30 is the run from the snapshot at 25 with half the lr."""
    kept = {}
    optimizer = torch.optim.AdamW(linear.parameters(), lr=0.01)
    monitor = Monitor(optimizer, on_warning="scale")

    def watch(step):
        if step == 25:
            kept["weights"] = copy.deepcopy(linear.state_dict())
            kept["state"] = copy.deepcopy(optimizer.state_dict()["state"])
        if step == 30:
            with torch.no_grad():
                linear.weight.mul_(1e4)

    run(linear, optimizer, loader, monitor, steps=31, before_step=watch)
    torch.testing.assert_close(linear.state_dict(), kept["weights"], rtol=0, atol=0)
    torch.testing.assert_close(optimizer.state_dict()["state"], kept["state"], rtol=0, atol=0)


def test_the_rise_is_a_share_of_the_decrease():
    loss = SmoothedLoss()
    for value in [10.0] + [2.0] * 200:
        loss.add(value)
    assert loss.rise == pytest.approx(0.0, abs=1e-6)
    for _ in range(200):
        loss.add(4.0)
    assert loss.start == 10.0
    assert loss.rise == pytest.approx(0.25, abs=1e-4)
    assert not loss.has_risen
    loss.add(math.nan)
    assert loss.has_risen


@pytest.mark.parametrize(("kind", "lr"), [("SGD", 3.0), ("AdamW", 30.0)])
def test_a_blow_up_in_the_first_steps_is_survived(linear, loader, kind, lr):
    optimizer = getattr(torch.optim, kind)(linear.parameters(), lr=lr)
    monitor = Monitor(optimizer, on_warning="scale")
    losses = run(linear, optimizer, loader, monitor, steps=400)
    assert monitor.readings[0].step < 10
    assert sum(losses[-20:]) / 20 < 0.5 * losses[0]


def test_messages_say_why_and_how_low():
    words = {"step": 7, "lr": 0.2, "momentum": 0.9, "curvature": 3.0, "loss": 1.0, "action": ""}
    edge = Reading(**words, limit=0.1, margin=2.0, rise=0.0, level="edge", adaptive=True)
    assert "lr is 2 times its limit" in edge.message
    assert "below lr 0.07 that direction is stable" in edge.message
    assert "preconditioner usually grows" in edge.message
    puzzling = Reading(**words, limit=2.0, margin=0.1, rise=0.5, level="warning", adaptive=False)
    assert "risen by 50% of its decrease" in puzzling.message
    assert "the curvature does not explain it" in puzzling.message


def test_calm_runs_are_checked_less_often_and_written_down(linear, loader, tmp_path):
    scalars = []

    class Writer:
        def add_scalar(self, name, value, step):
            scalars.append((name, step))

    optimizer = torch.optim.SGD(linear.parameters(), lr=1e-3)
    monitor = Monitor(optimizer, csv_path=tmp_path / "run.csv", writer=Writer())
    run(linear, optimizer, loader, monitor, steps=241)
    assert [reading.step for reading in monitor.readings] == [*range(0, 141, 20), 240]
    with (tmp_path / "run.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [*range(0, 141, 20), 240]
    assert ("ravine/margin", 240) in scalars


def test_bad_use_is_refused(linear):
    optimizer = torch.optim.SGD(linear.parameters(), lr=0.1)
    with pytest.raises(ValueError, match="every must be at least 1"):
        Monitor(optimizer, 0)
    with pytest.raises(ValueError, match="on_warning must be 'scale'"):
        Monitor(optimizer, on_warning="stop")
    with pytest.raises(ValueError, match=r"call check after loss\.backward"):
        Monitor(optimizer).check(lambda: torch.tensor(0.0))
