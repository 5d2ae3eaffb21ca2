"""``Monitor`` in a Lightning ``Trainer`` and in a Hugging Face ``Trainer``.

Neither library is imported here: the methods that they call are written out, and their base classes
are looked up when a callback is created.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from ravine.arguments import Refusal
from ravine.torch.monitor import Monitor


def lightning_callback(every: int = 20, **options: Any) -> Any:
    """Return a callback for ``lightning.Trainer(callbacks=[...])`` that watches its optimizer.

    For a check, ``training_step(batch, index)`` is called again on the same batch. If there are
    several optimizers, the first is watched. Readings are in ``callback.monitor.readings``, and the
    last ones in ``trainer.callback_metrics`` as ``ravine/margin`` and ``ravine/loss``.

    Parameters
    ----------
    every, options
        As in ``Monitor``.
    """
    modules = ("lightning.pytorch.callbacks", "pytorch_lightning.callbacks")
    base = _base_class("Callback", modules, "lightning")

    class MonitorCallback(base):  # type: ignore[misc, valid-type]
        """Calls ``Monitor.check`` before every optimizer step."""

        monitor: Monitor | None = None

        def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, index: int) -> None:
            self._batch = (batch, index)

        def on_before_backward(self, trainer: Any, module: Any, loss: Tensor) -> None:
            self._loss = loss

        def on_before_optimizer_step(self, trainer: Any, module: Any, optimizer: Any) -> None:
            if self.monitor is None:
                self.monitor = Monitor(_inner(optimizer), every, model=module, **options)

            batch, index = self._batch
            reading = self.monitor.check(
                lambda: _loss_in(module.training_step(batch, index)), self._loss
            )
            if reading is not None:
                trainer.callback_metrics["ravine/margin"] = torch.tensor(reading.margin)
                trainer.callback_metrics["ravine/loss"] = torch.tensor(reading.loss)

    return MonitorCallback()


def transformers_callback(every: int = 20, **options: Any) -> Any:
    """Return a callback for ``transformers.Trainer(callbacks=[...])`` that watches a run.

    Hugging Face passes the optimizer and the model to a callback, but not the batch, so a hook
    keeps the last inputs of the model. The model must return its own loss, as Hugging Face's models
    do with labels.
    """
    base = _base_class("TrainerCallback", ("transformers",), "transformers")

    class MonitorCallback(base):  # type: ignore[misc, valid-type]
        """Calls ``Monitor.check`` before every optimizer step."""

        monitor: Monitor | None = None

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._inputs: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
            self._loss: Tensor | None = None

            def remember(module: Any, args: Any, kwargs: Any, output: Any) -> None:
                self._inputs = (args, kwargs)
                self._loss = _loss_in(output).detach()

            model = kwargs["model"]
            self._hook = model.register_forward_hook(remember, with_kwargs=True)

        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            model = kwargs["model"]
            if self.monitor is None:
                self.monitor = Monitor(_inner(kwargs["optimizer"]), every, model=model, **options)

            positional, named = self._inputs
            self.monitor.check(lambda: _loss_in(model(*positional, **named)), self._loss)

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._hook.remove()

    return MonitorCallback()


def _base_class(name: str, modules: tuple[str, ...], package: str) -> Any:
    """A class from the first of these modules that can be imported."""
    for module in modules:
        try:
            return getattr(import_module(module), name)
        except ImportError:
            continue

    raise ImportError(
        f"{package} must be installed for {package}_callback, got none: pip install {package}"
    )


def _inner(optimizer: Any) -> Any:
    """The torch optimizer inside the wrappers of these libraries."""
    while not hasattr(optimizer, "param_groups") or hasattr(optimizer, "optimizer"):
        optimizer = optimizer.optimizer

    return optimizer


def _loss_in(output: Any) -> Tensor:
    """The loss in the output of a training step or a model."""
    if isinstance(output, Tensor):
        return output

    loss = output.get("loss") if hasattr(output, "get") else getattr(output, "loss", None)
    if not isinstance(loss, Tensor):
        shown = type(output).__name__
        remedy = "return {'loss': ...}, or call Monitor.check yourself"
        raise Refusal("training step", "a loss, or a mapping with one", shown, remedy)

    return loss
