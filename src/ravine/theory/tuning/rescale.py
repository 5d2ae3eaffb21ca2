"""Step size and momentum for a new batch size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ravine.arguments import Refusal, one_number, overflow_allowed, whole
from ravine.curvature import Curvature
from ravine.digits import percent
from ravine.theory.ladder.batch_noise import Batches, check_batch_size, refuse_options
from ravine.theory.ladder.safety import safe_step
from ravine.theory.tuning.batch_gain import ONE_CURVATURE
from ravine.theory.tuning.table_moments import TableMoments
from ravine.values import Value

_LR = "give the learning rate that works at the old batch size, e.g. lr=0.1"
_HIGHEST = 0.9
"""Momentum is not raised beyond this; higher values gained nothing on tables."""
_WINDOWS = 10.0
"""Smallest length of a run in units of the memory of its momentum, 1/(1 - m) steps."""
_CAUTIOUS = 0.5
"""Largest share of the largest stable lr, unless the old lr had a larger share."""


@dataclass(frozen=True, eq=False, repr=False)
class Rescaled(Value):
    """New settings for a new batch size."""

    lr: float
    momentum: float
    rule: str
    """The rule that decides, in words."""
    share: float | None
    """New lr over the largest stable one; None if the curvature is not known."""
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
    steps: int | None = None,
    curvature: Curvature | None = None,
    L_max: float | None = None,
    data: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> Rescaled:
    """Return the lr and the momentum for a new batch size and the same number of epochs.

    SGD keeps its progress per sample, lr/((1 - m) b). In a direction of curvature λ the limit of lr
    is 1/lr = v/(2(1 - m)) + λ/(2(1 + m)), with v proportional to 1/b; a momentum m' with

        (1 - m')/(1 + m') = (1 - m)/((1 + m) k),     k the ratio of the batch sizes,

    keeps lr at the same share of every such limit, for any curvature. For a larger batch, momentum
    is raised towards m', but not above 0.9, and only as long as ``steps`` is at least ten times its
    memory 1/(1 - m'). A smaller batch keeps the momentum (the linear rule).

    With a curvature, lr is at most half of the largest stable lr (:func:`ravine.safe_step`), or the
    old share of it if that was larger. With ``data``, the momentum is kept, and lr minimises the
    expected loss of least squares on this table after ``steps`` steps.

    Adam's lr is in units of its preconditioner, which shrinks like 1/√k where gradient noise
    dominates it: lr' = √k lr.

    Parameters
    ----------
    lr, momentum
        Settings that work at the old batch size; momentum is beta1 for Adam.
    from_batch, to_batch
        Old and new batch size, at least 1.
    nesterov
        Whether SGD uses Nesterov's momentum.
    optimizer
        ``"sgd"`` or ``"adamw"``; what follows is for SGD only.
    steps
        Steps of the run at the new batch size.
    curvature, L_max
        As in :func:`ravine.iid_rate`.
    data
        (X, y), a table and its target, both centred; needs ``steps``.

    Examples
    --------
    >>> new = rescale(0.1, from_batch=64, to_batch=512)
    >>> round(new.lr, 4), round(new.momentum, 4)
    (0.1778, 0.7778)
    >>> known = {"curvature": Curvature(0.01, 1.0), "L_max": 100.0}
    >>> round(rescale(0.1, momentum=0.9, from_batch=64, to_batch=512, **known).lr, 4)
    0.6502
    """
    step = one_number("lr", lr, "positive", remedy=_LR)
    m = one_number("momentum", momentum, "nonnegative", remedy="give a momentum, e.g. 0.9")
    sizes = {"from_batch": from_batch, "to_batch": to_batch}
    old, new = (
        float(check_batch_size(one_number(name, size, remedy="give a batch size, e.g. 64")))
        for name, size in sizes.items()
    )
    if m >= 1.0:
        raise Refusal("momentum", "below 1", f"{m:g}", "give a momentum, e.g. 0.9")
    if optimizer not in ("sgd", "adamw"):
        raise Refusal("optimizer", "sgd or adamw", repr(optimizer), "pick one of the two")
    if steps is not None:
        whole("steps", steps, 1, remedy="give the steps of the new run, e.g. steps=1000")

    ratio = new / old
    rules = {"linear": ratio * step, "square_root": float(np.sqrt(ratio)) * step}
    if optimizer == "adamw":
        refuse_options("for adamw", "drop it", curvature=curvature, L_max=L_max, data=data)
        words = (
            "lr proportional to the square root of the batch size, since noise sets Adam's scale"
        )
        return Rescaled(rules["square_root"], m, words, None, **rules)

    if data is not None:
        if steps is None:
            raise Refusal("steps", "given with data", "none", "add the steps of the new run")
        gamma = m if nesterov else 0.0
        best = TableMoments(*data).best_step(m, gamma, batch_size=new, steps=steps)
        return Rescaled(best, m, f"smallest expected loss after {steps} steps", None, **rules)

    if curvature is None and L_max is not None:
        raise Refusal("L_max", "given with a curvature", "L_max alone", "add the curvature")

    later = _momentum(m, ratio, steps)
    kept = ratio * step * (1.0 - later) / (1.0 - m)
    words = "same progress per sample, lr/((1 - momentum) batch size)"
    if curvature is None:
        return Rescaled(kept, later, words, None, **rules)

    L = curvature.single(ONE_CURVATURE)[1]
    most = Batches(L_max).L_max
    before, after = (
        float(safe_step(L, beta, beta if nesterov else 0.0, batch_size=b, L_max=most))
        for b, beta in ((old, m), (new, later))
    )
    limit = max(step / before, _CAUTIOUS) * after
    if ratio > 1.0 and limit < kept:
        kept = limit
        words = f"{percent(limit / after)} of the largest lr that is stable in mean square"

    return Rescaled(kept, later, words, kept / after, **rules)


def _momentum(m: float, ratio: float, steps: int | None) -> float:
    """The momentum for a batch that is ``ratio`` times as large."""
    if ratio <= 1.0:
        return m

    damping = (1.0 - m) / ((1.0 + m) * ratio)
    longest = 1.0 if steps is None else 1.0 - _WINDOWS / steps
    return max(min((1.0 - damping) / (1.0 + damping), _HIGHEST, longest), m)
