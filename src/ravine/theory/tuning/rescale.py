"""What to do with the step size and the momentum when the batch size changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ravine.arguments import Refusal, one_number, overflow_allowed
from ravine.curvature import Curvature
from ravine.theory.ladder.batch_noise import check_batch_size
from ravine.theory.ladder.safety import safe_step
from ravine.values import Value

_LR = "give the learning rate that works at the old batch size, e.g. lr=0.1"


@dataclass(frozen=True, eq=False, repr=False)
class Rescaled(Value):
    """New settings for a new batch size."""

    lr: float
    momentum: float
    rule: str
    """What was kept the same, in words."""
    share: float | None
    """lr over the largest stable one, before and after; None where the curvature is not known."""
    linear: float
    """The linear rule, for comparison: lr times the ratio of the batch sizes."""
    square_root: float
    """The square-root rule, for comparison."""


@overflow_allowed
def rescale(
    lr: float,
    *,
    from_batch: float,
    to_batch: float,
    momentum: float = 0.0,
    nesterov: bool = False,
    optimizer: Literal["sgd", "adamw"] = "sgd",
    curvature: Curvature | None = None,
    L_max: float | None = None,
) -> Rescaled:
    """Return the lr and the momentum for a new batch size.

    With the curvature of the objective and L_max of single samples, momentum is kept and lr keeps
    its share of the largest lr that is stable in mean square (:func:`ravine.safe_step`): nearly
    proportional to the batch size while the noise of small batches limits it, nearly constant
    where the curvature does.

    Without them, both change so that two things stay the same whatever the curvature: the
    progress per sample, lr/((1 - m) b), and the share of the limit
    1/lr = v/(2(1 - m)) + λ/(2(1 + m)), in which v is proportional to 1/b. With k the ratio of the
    batch sizes that needs

        (1 - m')/(1 + m') = (1 - m)/((1 + m) k),     lr' = k lr (1 - m')/(1 - m).

    Where m' would be negative it is 0 and lr' = k lr. Adam's lr is in units of its preconditioner,
    which shrinks like 1/√k where gradient noise dominates it: lr' = √k lr, with the same momentum.

    Parameters
    ----------
    lr, momentum
        Settings that work at the old batch size; momentum is beta1 for Adam.
    from_batch, to_batch
        Old and new batch size, at least 1.
    nesterov
        Whether SGD uses Nesterov's momentum.
    optimizer
        ``"sgd"`` or ``"adamw"``.
    curvature, L_max
        As in :func:`ravine.iid_rate`; only for SGD.

    Examples
    --------
    >>> new = rescale(0.1, momentum=0.9, from_batch=64, to_batch=512)
    >>> round(new.lr, 4), round(new.momentum, 4)
    (0.1046, 0.9869)
    >>> known = {"curvature": Curvature(0.01, 1.0), "L_max": 100.0}
    >>> round(rescale(0.1, momentum=0.9, from_batch=64, to_batch=512, **known).lr, 4)
    0.6502
    """
    step = one_number("lr", lr, "positive", remedy=_LR)
    m = one_number("momentum", momentum, "nonnegative", remedy="give a momentum, e.g. 0.9")
    old, new = (float(check_batch_size(size)) for size in (from_batch, to_batch))
    if m >= 1.0:
        raise Refusal("momentum", "below 1", f"{m:g}", "give a momentum, e.g. 0.9")
    if optimizer not in ("sgd", "adamw"):
        raise Refusal("optimizer", "sgd or adamw", repr(optimizer), "pick one of the two")

    ratio = new / old
    rules = {"linear": ratio * step, "square_root": float(np.sqrt(ratio)) * step}
    if curvature is not None and optimizer == "sgd":
        gamma = m if nesterov else 0.0
        most = curvature.L if L_max is None else L_max
        before, after = (
            float(safe_step(curvature.L, m, gamma, batch_size=size, L_max=most))
            for size in (old, new)
        )
        words = "momentum, and the share of the largest stable lr"
        return Rescaled(step * after / before, m, words, step / before, **rules)

    if curvature is not None or L_max is not None:
        name = "curvature" if optimizer == "adamw" else "L_max"
        raise Refusal(name, "given for SGD only, and L_max with it", "one", "drop it")

    damping = (1.0 - m) / ((1.0 + m) * ratio)
    later = max((1.0 - damping) / (1.0 + damping), 0.0)
    if optimizer == "adamw":
        words = "progress per sample and the share of the stability limit, if noise dominates"
        return Rescaled(rules["square_root"], later, words, None, **rules)

    words = "progress per sample and the share of the stability limit, whatever the curvature"
    return Rescaled(ratio * step * (1.0 - later) / (1.0 - m), later, words, None, **rules)
