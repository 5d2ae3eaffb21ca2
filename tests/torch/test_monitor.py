import csv
import math

import pytest
import torch

from ravine.torch import ASG, Monitor

MSE = torch.nn.functional.mse_loss


def run(model, optimizer, loader, monitor, steps=100, before_step=None):
    stream = (batch for _ in range(100) for batch in loader)
    for step in range(steps):
        x, y = next(stream)
        if before_step:
            before_step(step)
        optimizer.zero_grad()
        loss = MSE(model(x), y)
        loss.backward()
        monitor.check(lambda x=x, y=y: MSE(model(x), y), loss)
        optimizer.step()
        if not math.isfinite(float(loss.detach())):
            break
    return monitor.readings


def test_the_margin_of_a_quadratic(linear, data):
    """One batch, the whole data: the limit is (2 + 2m)/((1 + 2m) top) once the direction is."""
    rows = torch.cat([data[0], torch.ones(len(data[0]), 1)], dim=1)
    top = float(torch.linalg.eigvalsh(2 * rows.T @ rows / len(rows))[-1])
    optimizer = torch.optim.SGD(linear.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    monitor = Monitor(optimizer, every=1)
    readings = run(linear, optimizer, [data], monitor, steps=40)
    assert readings[-1].curvature == pytest.approx(top, rel=0.02)
    assert readings[-1].margin == pytest.approx(0.01 * 2.8 * top / 3.8, rel=0.05)
    assert readings[-1].headroom == pytest.approx(1 / readings[-1].margin)


def test_weights_gradients_and_averages_are_left_alone(network, loader):
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    monitor = Monitor(optimizer, model=network)
    x, y = next(iter(loader))
    loss = MSE(network(x), y)
    loss.backward()
    weights = [p.detach().clone() for p in network.parameters()]
    grads = [p.grad.clone() for p in network.parameters()]
    mean = network[1].running_mean.clone()
    assert monitor.check(lambda: MSE(network(x), y), loss) is not None
    for p, w, g in zip(network.parameters(), weights, grads, strict=True):
        assert torch.equal(p.detach(), w)
        assert torch.equal(p.grad, g)
    assert torch.equal(network[1].running_mean, mean)


def test_a_growing_lr_is_warned_of_before_the_blow_up(linear, loader):
    optimizer = torch.optim.SGD(linear.parameters(), lr=0.002, momentum=0.9, nesterov=True)
    warnings = []
    monitor = Monitor(optimizer, model=linear, on_warning=warnings.append, loss_kind="mse")
    losses = []

    def grow(step):
        optimizer.param_groups[0]["lr"] = 0.002 * 1.02**step
        with torch.no_grad():
            losses.append(float(sum(MSE(linear(x), y) for x, y in loader)) / len(loader))

    run(linear, optimizer, loader, monitor, steps=400, before_step=grow)
    blow_up = next(i for i, loss in enumerate(losses) if i > 20 and not loss < 10 * losses[0])
    assert warnings
    assert warnings[0].step <= blow_up - 5
    assert warnings[0].margin > 0.7
    assert warnings[0].risk >= 0.27
    assert "times the limit of momentum 0.9" in warnings[0].message
    assert "lower lr to" in warnings[0].message


def test_scaling_saves_the_run_and_says_so(linear, loader):
    optimizer = ASG(linear.parameters(), 0.002, 0.9)
    monitor = Monitor(optimizer, model=linear, on_warning="scale")

    def jump(step):
        if step == 60:
            optimizer.param_groups[0]["lr"] = 0.8

    readings = run(linear, optimizer, loader, monitor, steps=200, before_step=jump)
    acted = [reading for reading in readings if reading.action]
    assert acted
    assert "lr was lowered from" in acted[0].action
    assert all(torch.isfinite(p).all() for p in linear.parameters())


def test_calm_runs_are_checked_less_often_and_written_down(linear, loader, tmp_path):
    scalars = []

    class Writer:
        def add_scalar(self, name, value, step):
            scalars.append((name, step))

    optimizer = torch.optim.SGD(linear.parameters(), lr=1e-4)
    monitor = Monitor(optimizer, csv_path=tmp_path / "run.csv", writer=Writer())
    readings = run(linear, optimizer, loader, monitor, steps=121)
    assert [reading.step for reading in readings] == [0, 20, 40, 100]
    with (tmp_path / "run.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [0, 20, 40, 100]
    assert ("ravine/margin", 100) in scalars


def test_bad_use_is_refused(linear):
    weights = linear.parameters()
    with pytest.raises(ValueError, match=r"optimizer must be torch.optim.SGD or ravine.torch.ASG"):
        Monitor(torch.optim.Adam(linear.parameters()))
    optimizer = torch.optim.SGD(weights, lr=0.1)
    with pytest.raises(ValueError, match="every must be at least 1"):
        Monitor(optimizer, 0)
    with pytest.raises(ValueError, match="on_warning must be 'scale'"):
        Monitor(optimizer, on_warning="stop")
    with pytest.raises(ValueError, match="loss_kind must be"):
        Monitor(optimizer, loss_kind="hinge")
    with pytest.raises(ValueError, match=r"call check after loss\.backward"):
        Monitor(optimizer).check(lambda: torch.tensor(0.0))
