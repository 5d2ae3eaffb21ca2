"""The callbacks with the calls that Lightning and Hugging Face make, and in the real libraries.

The libraries are too large for the group ``test``; ``pip install --group bench`` installs them.
"""

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


def rows(data):
    return [{"x": x, "labels": y} for x, y in zip(*data, strict=True)]


class Regression(torch.nn.Module):
    """A model that returns its own loss, as those of Hugging Face do."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.net = torch.nn.Linear(4, 1)

    def forward(self, x, labels):
        output = self.net(x)
        return {"loss": MSE(output, labels), "logits": output}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"learning_rate": 30.0}])
def test_hugging_face_s_trainer_with_its_default_optimizer(data, tmp_path, options):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    weights = []
    for guard in ("scale", None, "absent"):
        callback = transformers_callback(every=5, on_warning=None if guard == "absent" else guard)
        model = Regression()
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path), max_steps=80, per_device_train_batch_size=16, report_to=[],
            use_cpu=True, save_strategy="no", disable_tqdm=True, logging_strategy="no", **options,
        )  # fmt: skip
        trainer = transformers.Trainer(
            model, arguments, train_dataset=rows(data),
            callbacks=[] if guard == "absent" else [callback],
        )  # fmt: skip
        trainer.train()
        weights.append(model.net.weight.detach().clone())
        if guard != "absent":
            readings = callback.monitor.readings
            assert "AdamW" in type(callback.monitor._optimizer).__name__
            assert readings[-1].limit > 0.0
            acted = [reading for reading in readings if reading.action]
            assert bool(acted) == (guard == "scale" and bool(options))
    # A monitor that only watches changes nothing.
    assert torch.equal(weights[1], weights[2])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("lr", [1e-3, 30.0])
def test_lightning_s_trainer(data, tmp_path, lr):
    lightning = pytest.importorskip("lightning.pytorch")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Regression().net

        def training_step(self, batch, index):
            return MSE(self.net(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=lr)

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*data), batch_size=16)
    weights = []
    for guard in ("scale", None, "absent"):
        callback = lightning_callback(every=5, on_warning=None if guard == "absent" else guard)
        module = Module()
        trainer = lightning.Trainer(
            max_steps=80, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
            callbacks=[] if guard == "absent" else [callback],
        )  # fmt: skip
        trainer.fit(module, loader)
        weights.append(module.net.weight.detach().clone())
        if guard != "absent":
            readings = callback.monitor.readings
            assert readings[-1].limit > 0.0
            acted = [reading for reading in readings if reading.action]
            assert bool(acted) == (guard == "scale" and lr > 1.0)
    assert torch.equal(weights[1], weights[2])


@pytest.mark.parametrize("make", [lightning_callback, transformers_callback])
def test_without_the_library_it_says_how_to_install_it(monkeypatch, make):
    for name in ("lightning.pytorch.callbacks", "pytorch_lightning.callbacks", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install"):
        make()
