"""The callbacks with the calls that Lightning and Hugging Face make; see also the benchmarks."""

import sys
import types

import pytest
import torch

from ravine.torch import lightning_callback, transformers_callback

MSE = torch.nn.functional.mse_loss


@pytest.fixture
def libraries(monkeypatch):
    """Stand-ins for the base classes alone."""
    lightning = types.ModuleType("lightning.pytorch.callbacks")
    lightning.Callback = type("Callback", (), {})
    hugging = types.ModuleType("transformers")
    hugging.TrainerCallback = type("TrainerCallback", (), {})
    for name in ("lightning", "lightning.pytorch"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "lightning.pytorch.callbacks", lightning)
    monkeypatch.setitem(sys.modules, "transformers", hugging)


def test_lightning_s_order_of_calls(libraries, linear, loader):
    class Module(torch.nn.Module):
        net = linear

        def training_step(self, batch, index):
            return {"loss": MSE(self.net(batch[0]), batch[1])}

    module = Module()
    optimizer = torch.optim.SGD(linear.parameters(), lr=0.01, momentum=0.9)
    wrapped = types.SimpleNamespace(optimizer=optimizer, param_groups=optimizer.param_groups)
    trainer = types.SimpleNamespace(callback_metrics={})
    callback = lightning_callback(every=5)
    for index, batch in enumerate(loader):
        callback.on_train_batch_start(trainer, module, batch, index)
        optimizer.zero_grad()
        loss = module.training_step(batch, index)["loss"]
        callback.on_before_backward(trainer, module, loss)
        loss.backward()
        callback.on_before_optimizer_step(trainer, module, wrapped)
        optimizer.step()
    assert [reading.step for reading in callback.monitor.readings[:2]] == [0, 5]
    assert float(trainer.callback_metrics["ravine/margin"]) > 0.0


def test_hugging_face_s_order_of_calls(libraries, linear, loader):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = linear

        def forward(self, x=None, labels=None):
            return {"loss": MSE(self.net(x), labels)}

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    callback = transformers_callback(every=5)
    callback.on_train_begin(None, None, None, model=model)
    for x, y in loader:
        optimizer.zero_grad()
        model(x=x, labels=y)["loss"].backward()
        callback.on_pre_optimizer_step(None, None, None, model=model, optimizer=optimizer)
        optimizer.step()
    callback.on_train_end(None, None, None)
    assert [reading.step for reading in callback.monitor.readings[:2]] == [0, 5]
    assert callback.monitor.readings[-1].margin > 0.0
    assert not model._forward_hooks


@pytest.mark.parametrize("make", [lightning_callback, transformers_callback])
def test_without_the_library_it_says_how_to_install_it(monkeypatch, make):
    for name in ("lightning.pytorch.callbacks", "pytorch_lightning.callbacks", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install"):
        make()
