import copy

import pytest
import torch

from ravine.torch import ASG, advise

MSE = torch.nn.functional.mse_loss


def train(model, loader, optimizer, epochs=6):
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            MSE(model(x), y).backward()
            optimizer.step()
    with torch.no_grad():
        return float(sum(MSE(model(x), y) for x, y in loader) / len(loader))


def test_advised_parameters_train(linear, loader, data):
    start = float(MSE(linear(data[0]), data[1]).detach())
    optimizer = torch.optim.SGD(linear.parameters(), lr=1.0, momentum=0.9, nesterov=True)
    advice = advise(linear, MSE, loader, optimizer=optimizer)
    assert advice.improves
    assert advice.scope == "exact: the loss is quadratic"
    assert advice.lr < 1.5 * advice.limit
    advice.apply(optimizer)
    assert train(linear, loader, optimizer) < 0.1 * start


def test_nothing_of_the_user_s_is_changed(network, loader):
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    train(network, loader, optimizer, epochs=1)
    kept = copy.deepcopy((network.state_dict(), optimizer.state_dict()))
    order = loader.generator.get_state()
    torch.manual_seed(9)
    expected = torch.rand(1)
    torch.manual_seed(9)
    advise(network, MSE, loader, optimizer=optimizer, budget="quick")
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(loader.generator.get_state(), order)
    torch.testing.assert_close(network.state_dict(), kept[0], rtol=0, atol=0)
    torch.testing.assert_close(optimizer.state_dict()["state"], kept[1]["state"], rtol=0, atol=0)
    assert network.training
    assert next(network.parameters()).grad is not None


def test_groups_keep_their_proportion(network, loader):
    params = list(network.parameters())
    groups = [{"params": params[:2], "lr": 0.1}, {"params": params[2:], "lr": 0.5}]
    advice = advise(network, MSE, loader, optimizer=ASG(groups, 0.1), budget="quick")
    assert advice.lrs[1] == pytest.approx(5 * advice.lrs[0])
    assert "groups:" in advice.sentence


def test_momentum_is_kept_on_request(linear, loader):
    optimizer = torch.optim.SGD(linear.parameters(), lr=1.0, momentum=0.5)
    advice = advise(linear, MSE, loader, optimizer=optimizer, momentum="keep")
    assert advice.momentum == 0.5
    assert {row.momentum for row in advice.rows} == {0.5}
    chosen = advise(linear, MSE, loader, optimizer=optimizer)
    assert {row.momentum for row in chosen.rows} == {0.5, 0.9, 0.0}


def test_other_optimizers_are_raced_without_curvature(linear, loader):
    advice = advise(linear, MSE, loader, optimizer=torch.optim.Adam(linear.parameters(), lr=1.0))
    assert advice.improves
    assert advice.momentum is None
    assert advice.limit is None


def test_it_says_so_when_nothing_improves(loader):
    class Stuck(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return x[:, :1] * 0.0 + self.w * 0.0

    advice = advise(Stuck(), MSE, loader, budget="quick")
    assert not advice.improves
    assert advice.sentence.startswith("no lr improved the loss within")


def test_mappings_and_own_losses(linear, data):
    batches = [{"x": data[0][i : i + 32], "y": data[1][i : i + 32]} for i in range(0, 256, 32)]
    advice = advise(
        linear, None, batches, budget="quick",
        batch_loss=lambda model, batch: MSE(model(batch["x"]), batch["y"]),
        autocast=torch.bfloat16, clip_grad_norm=1.0, accumulate=2,
    )  # fmt: skip
    assert advice.improves


def test_half_precision_is_scaled(loader):
    """Gradients of 1e-9 are zero in float16 unless the loss is scaled."""
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 1)

    def tiny(output, target):
        return 1e-9 * MSE(output.float(), target)

    plain = advise(model, tiny, loader, budget="quick", autocast=torch.float16)
    assert plain.improves
    assert plain.loss < 0.5 * plain.start_loss


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"budget": "long"}, "budget must be one of race, quick"),
        ({"momentum": 0.9}, "momentum must be 'choose' or 'keep'"),
        ({"accumulate": 0}, "accumulate must be at least 1"),
        ({"clip_grad_norm": 0}, "clip_grad_norm must be positive"),
    ],
)
def test_bad_options_are_refused(linear, loader, options, line):
    with pytest.raises(ValueError, match=line):
        advise(linear, MSE, loader, **options)
