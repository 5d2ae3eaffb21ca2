"""The monitor's callbacks in the real Trainers of Lightning and of Hugging Face.

    pip install --group bench && python -m benchmarks.torch_trainers

Each trains a small model on squared error with a lr that is stable, then with one that is not, and
prints the readings; it stops with an error where a callback read nothing, warned of the stable run,
or changed what the trainer does. The libraries are too large for ``make test``, which calls the
callbacks in the same order with stand-ins for their base classes.
"""

from __future__ import annotations

import tempfile
import warnings
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from ravine.torch import lightning_callback, transformers_callback

STEPS = 100
STABLE, UNSTABLE = 0.02, 0.7
"""lrs below and above the limit 0.3 of the data's curvature, about 4.5, with momentum 0.9."""


def data() -> TensorDataset:
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(256, 4, generator=draw) * torch.linspace(0.3, 1.5, 4)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def with_lightning(lr: float, watched: bool) -> tuple[Any, torch.Tensor]:
    """Train with ``lightning.Trainer``; the callback and the weights at the end."""
    import lightning.pytorch as lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(1)
            self.net = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            return torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=lr, momentum=0.9, nesterov=True)

    callback = lightning_callback(every=20, loss_kind="mse")
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            max_steps=STEPS, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
            callbacks=[callback] if watched else [],
        )  # fmt: skip
        module = Module()
        trainer.fit(module, DataLoader(data(), batch_size=16))
    return callback, module.net.weight.detach()


def with_hugging_face(lr: float, watched: bool) -> tuple[Any, torch.Tensor]:
    """Train with ``transformers.Trainer``; the callback and the weights at the end."""
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(1)
            self.net = torch.nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            output = self.net(x)
            return {"loss": torch.nn.functional.mse_loss(output, labels), "logits": output}

    rows = [{"x": x, "labels": y} for x, y in data()]
    model = Model()
    rule = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)
    callback = transformers_callback(every=20, loss_kind="mse")
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, max_steps=STEPS, per_device_train_batch_size=16, report_to=[],
            use_cpu=True, save_strategy="no", disable_tqdm=True, logging_strategy="no",
            max_grad_norm=0.0,
        )  # fmt: skip
        constant = torch.optim.lr_scheduler.ConstantLR(rule, factor=1.0)
        trainer = Trainer(
            model, arguments, train_dataset=rows, optimizers=(rule, constant),
            callbacks=[callback] if watched else [],
        )  # fmt: skip
        trainer.train()
    return callback, model.net.weight.detach()


def main() -> None:
    """Both trainers, a stable and an unstable lr."""
    warnings.simplefilter("ignore")
    for name, train in (("Lightning", with_lightning), ("Hugging Face", with_hugging_face)):
        for lr in (STABLE, UNSTABLE):
            callback, weights = train(lr, True)
            _, alone = train(lr, False)
            readings = callback.monitor.readings
            shown = [(r.step, round(r.margin, 2), r.level) for r in readings]
            print(f"{name}, lr {lr:g}: {shown}")
            same = torch.equal(weights.nan_to_num(), alone.nan_to_num())
            if not readings or not same:
                raise SystemExit(f"{name}: {len(readings)} readings, trained the same: {same}")
            if (lr == UNSTABLE) != any(r.level != "calm" for r in readings):
                raise SystemExit(f"{name}: levels {shown} with lr {lr:g}")


if __name__ == "__main__":
    main()
