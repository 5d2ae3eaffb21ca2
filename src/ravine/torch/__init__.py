"""Advice, a monitor and an optimizer for PyTorch; needs the extra ``ravine[torch]``."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "torch must be installed for ravine.torch, got none: pip install 'ravine[torch]'"
    ) from error

from ravine.torch.advice import advise
from ravine.torch.answer import Advice
from ravine.torch.callbacks import lightning_callback, transformers_callback
from ravine.torch.curvature import LocalCurvature
from ravine.torch.monitor import Monitor, Reading
from ravine.torch.optimizer import ASG

__all__ = [
    "ASG",
    "Advice",
    "LocalCurvature",
    "Monitor",
    "Reading",
    "advise",
    "lightning_callback",
    "transformers_callback",
]
