"""Small models and loaders, the same in every test."""

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

# Models this small are faster on one thread, by far where other processes use the cores too.
torch.set_num_threads(1)


def _regression(seed=0, n=256, d=4):
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=draw) * torch.linspace(0.3, 1.5, d)
    return x, x @ torch.ones(d, 1) + 0.1 * torch.randn(n, 1, generator=draw)


@pytest.fixture
def data():
    return _regression()


@pytest.fixture
def loader(data):
    generator = torch.Generator().manual_seed(3)
    return DataLoader(TensorDataset(*data), batch_size=16, shuffle=True, generator=generator)


@pytest.fixture
def linear():
    torch.manual_seed(1)
    return torch.nn.Linear(4, 1)


@pytest.fixture
def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 16), torch.nn.BatchNorm1d(16), torch.nn.Tanh(), torch.nn.Dropout(0.2),
        torch.nn.Linear(16, 1),
    )  # fmt: skip
