import copy

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ravine.torch import ASG

# Sixty steps of stable recursions in double precision on numbers of order one.
TOLERANCE = 1e-14
PATHS = [{"foreach": False}, {"foreach": True}, {"fused": True}]


def network(seed=0):
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 2))
    return model.double()


def batches(steps, seed=1):
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(8, 5, generator=draw, dtype=torch.float64) for _ in range(steps)]


def train(model, optimizer, steps=60, before_step=None, first=0):
    for k, x in enumerate(batches(steps + first)[first:]):
        if before_step:
            before_step(k, optimizer)
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def close(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}),
        ({"momentum": 0.9, "gamma": 0.0}, {"momentum": 0.9}),
        ({"momentum": 0.0}, {}),
    ],
)
def test_same_trajectory_as_torch(path, decay, ours, theirs):
    mine, other = network(), network()
    a = train(mine, ASG(mine.parameters(), 0.01, weight_decay=decay, **ours, **path))
    b = train(other, torch.optim.SGD(other.parameters(), lr=0.01, weight_decay=decay, **theirs))
    close(a, b)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("beta", "gamma"), [(-0.4, None), (0.7, 0.2), (0.0, 0.5), (0.8, None)])
def test_schedules_keep_the_paper_s_recursion(path, beta, gamma):
    """lr inside the velocity, and x on its recursion when momentum changes, lr = 0 included."""
    eigenvalues = torch.tensor([0.1, 1.0, 3.0], dtype=torch.float64)
    w = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    optimizer = ASG([w], 0.1, beta, gamma, **path)
    x, v, look = torch.ones(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64), 0.0
    for k in range(40):
        lr = 0.1 * (1 + k % 3) * (k % 7 > 0)
        momentum = beta * (1.0 if k < 20 else 0.5)
        group = optimizer.param_groups[0]
        group["lr"], group["momentum"] = lr, momentum
        y = x + look * v
        close(w.detach(), y)
        w.grad = eigenvalues * w.detach()
        optimizer.step()
        v = momentum * v - lr * eigenvalues * y
        x = x + v
        look = momentum if gamma is None else gamma


class Passes(TorchDispatchMode):
    """Names of the operations that run."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("gamma", "most"), [(None, 3), (0.0, 2), (0.3, 3)])
def test_a_step_takes_no_more_passes_than_torch_s(gamma, most):
    """Nesterov's method in torch takes four, its heavy ball three."""
    weights = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    optimizer = ASG(weights, 0.1, 0.9, gamma, foreach=True)
    for w in weights:
        w.grad = torch.ones(3)
    optimizer.step()
    with Passes() as passes:
        optimizer.step()
    kernels = [name for name in passes.names if name.startswith("_foreach")]
    assert len(kernels) == most, kernels


@pytest.mark.parametrize("path", PATHS)
def test_state_survives_saving(path):
    whole, half = network(), network()
    a = train(whole, ASG(whole.parameters(), 0.01, 0.9, **path), steps=40)
    first = ASG(half.parameters(), 0.01, 0.9, **path)
    train(half, first, steps=20)
    second = ASG(half.parameters(), 0.5, -0.1, **path)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    close(train(half, second, steps=20, first=20), a)


def test_gradient_restart_is_the_rule_of_the_engine():
    """After a step with g·(x⁺ - x) > 0 the velocity is zero and y = x."""
    lam, lr, beta = 1.0, 0.2, 0.95
    w = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))
    optimizer = ASG([w], lr, beta, restart="gradient")
    x, v, restarts = 1.0, 0.0, 0
    for _ in range(60):
        y = x + beta * v
        assert float(w.detach()) == pytest.approx(y, abs=1e-14)
        w.grad = lam * w.detach()
        optimizer.step()
        v = beta * v - lr * lam * y
        x += v
        if lam * y * v > 0:
            v, restarts = 0.0, restarts + 1
    assert restarts > 2


def test_restart_after_a_number_of_steps():
    w = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))
    optimizer = ASG([w], 0.1, 0.9, restart=3)
    for k in range(6):
        w.grad = w.detach().clone()
        optimizer.step()
        assert (float(optimizer.state[w]["velocity"]) == 0.0) == (k % 3 == 2)


def test_closure_and_parameters_without_gradient():
    w = torch.nn.Parameter(torch.ones(2))
    unused = torch.nn.Parameter(torch.ones(2))
    optimizer = ASG([{"params": [w]}, {"params": [unused], "lr": 1.0}], 0.1)

    def closure():
        optimizer.zero_grad()
        loss = w.square().sum()
        loss.backward()
        return loss

    assert float(optimizer.step(closure).detach()) == 2.0
    assert float(w[0].detach()) == pytest.approx(1 - 0.1 * 2 * 1.9)
    assert float(unused[0].detach()) == 1.0


@pytest.mark.parametrize("lr", [0.01, torch.tensor(0.01, dtype=torch.float64)])
def test_compiled_step_is_the_same(lr):
    plain, compiled = network(), network()
    a = train(plain, ASG(plain.parameters(), 0.01, 0.9), steps=10)
    optimizer = ASG(compiled.parameters(), lr, 0.9)
    optimizer.step = torch.compile(optimizer.step, backend="eager")
    close(train(compiled, optimizer, steps=10), a)


def test_torch_s_schedulers_work():
    model = network()
    optimizer = ASG(model.parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=20)
    train(model, optimizer, steps=19, before_step=lambda k, _: k and schedule.step())
    assert optimizer.param_groups[0]["momentum"] != 0.9


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ({"lr": -0.1}, "lr must be zero or more"),
        ({"lr": 0.1, "momentum": 1.0}, "momentum must be between -1 and 1"),
        ({"lr": 0.1, "gamma": float("nan")}, "gamma must be finite"),
        ({"lr": 0.1, "weight_decay": -1}, "weight_decay must be zero or more"),
        ({"lr": 0.1, "restart": "full"}, "restart must be 'gradient', a number"),
        ({"lr": 0.1, "foreach": True, "fused": True}, "fused must be given without foreach"),
    ],
)
def test_bad_parameters_are_refused(words, line):
    with pytest.raises(ValueError, match=line):
        ASG([torch.nn.Parameter(torch.ones(1))], **words)
