"""Batches that come again, and models that are put back as they were."""

import random

import numpy as np
import pytest
import torch

from ravine.torch.borrowed import BatchReplay, batch_loss, joined, quiet, size_of, untouched

CPU = torch.device("cpu")


def test_generators_are_put_back(linear, loader):
    def draws():
        return float(torch.rand(1)), random.random(), float(np.random.rand())  # noqa: NPY002

    states = torch.get_rng_state(), random.getstate(), np.random.get_state()  # noqa: NPY002
    order = loader.generator.get_state()
    with untouched(linear, loader):
        draws()
        next(iter(loader))
    assert torch.equal(loader.generator.get_state(), order)
    after = draws()
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    np.random.set_state(states[2])  # noqa: NPY002
    assert draws() == after


def test_a_model_is_put_back_after_an_exception(network, loader, data):
    network.calls = 0
    network(data[0]).sum().backward()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    grads = [p.grad for p in network.parameters()]

    def spoil():
        with untouched(network, loader):
            network.eval()
            network.calls += 1
            network[1].running_mean += 1.0
            with torch.no_grad():
                for p in network.parameters():
                    p.add_(1.0)
                    p.grad = torch.ones_like(p)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spoil()
    torch.testing.assert_close(network.state_dict(), before, rtol=0, atol=0)
    assert all(p.grad is grad for p, grad in zip(network.parameters(), grads, strict=True))
    assert all(module.training for module in network.modules())
    assert network.calls == 0


def test_every_trial_sees_the_same_batches(loader):
    batches = BatchReplay(loader, CPU)
    late = batches[20][0]  # beyond the first epoch of 16
    assert torch.equal(batches[20][0], late)
    assert not torch.equal(batches[4][0], late)
    assert len(batches.samples(40)) == 3


def test_batches_that_take_too_much_memory_come_round_again(loader, monkeypatch):
    monkeypatch.setattr(BatchReplay, "MOST_BYTES", 3 * 16 * 5 * 4)  # three batches
    batches = BatchReplay(loader, CPU)
    assert torch.equal(batches[3][0], batches[0][0])
    assert not torch.equal(batches[2][0], batches[0][0])


def test_an_empty_loader_is_refused():
    with pytest.raises(ValueError, match="loader must be non-empty"):
        BatchReplay([], CPU)[0]


def test_batches_of_other_kinds(linear):
    named = {"x": torch.ones(3, 2), "y": torch.ones(3)}
    assert size_of(named) == 3
    assert joined([named, named])[0]["x"].shape == (6, 2)
    assert len(joined([[torch.ones(2, 2)], [torch.ones(2, 3)]])) == 2
    with pytest.raises(ValueError, match="batches must be pairs"):
        batch_loss(None)(linear, torch.ones(2))


def test_quiet_leaves_no_trace(network, data):
    x = data[0][:32]
    state = {name: value.clone() for name, value in network.state_dict().items()}
    modes = [module.training for module in network.modules()]
    with quiet(network):
        first = network(x)
        assert torch.equal(network(x), first)  # no dropout
        normal = network[1](network[0](x)).detach()
    # BatchNorm used the batch's own statistics.
    torch.testing.assert_close(normal.mean(dim=0), torch.zeros(16), rtol=0, atol=1e-5)
    assert [module.training for module in network.modules()] == modes
    assert network[1].momentum == 0.1
    for name, value in network.state_dict().items():
        if "num_batches" not in name:
            torch.testing.assert_close(value, state[name], rtol=0, atol=0)
