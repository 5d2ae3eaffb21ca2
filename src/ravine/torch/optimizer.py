"""The (alpha, beta, gamma) family as a PyTorch optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ravine.arguments import Refusal, one_number, whole

Group: TypeAlias = dict[str, Any]


class ASG(torch.optim.Optimizer):
    """Accelerated stochastic gradient: the paper's method with any momentum and look-ahead.

    One step, with g the gradient at the parameters, which are y::

        v⁺ = momentum v - lr g
        x⁺ = x + v⁺
        y⁺ = x⁺ + gamma v⁺

    For a constant lr and ``gamma = momentum`` this is ``torch.optim.SGD(nesterov=True)``, for
    ``gamma = 0`` its heavy ball. It differs where SGD departs from the theory: lr is inside the
    velocity, so a schedule of lr below the safe step is safe (in SGD a change of lr rescales the
    velocity), and with a schedule of momentum x still follows its recursion.

    Parameters
    ----------
    params
        Parameters or parameter groups.
    lr
        The step size alpha, zero or more. Schedulers of ``torch.optim`` may change it.
    momentum
        beta, any number between -1 and 1; it may be negative.
    gamma
        Look-ahead, any number; None follows ``momentum``: Nesterov's method.
    weight_decay
        Added to the gradient as weight_decay times the parameters, as in SGD; zero or more.
    restart
        ``"gradient"`` sets the velocity to zero after a step against its own gradient (over all
        parameters; costs one synchronisation with the device), a whole number after that many
        steps, None never.
    foreach, fused
        The kernels to use, as in ``torch.optim.SGD``; None: foreach.

    Examples
    --------
    >>> import torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    >>> optimizer = ASG([w], lr=0.5, momentum=-0.5)
    >>> for _ in range(50):
    ...     optimizer.zero_grad()
    ...     (w**2).sum().div(2).backward()
    ...     optimizer.step()
    >>> bool(w.abs().max() < 1e-6)
    True
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float | Tensor,
        momentum: float = 0.9,
        gamma: float | None = None,
        *,
        weight_decay: float = 0.0,
        restart: str | int | None = None,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        if foreach and fused:
            raise Refusal("fused", "given without foreach", "both", "drop one")

        if isinstance(restart, str) and restart != "gradient":
            rule = "'gradient', a number of steps, or None"
            raise Refusal("restart", rule, repr(restart), "pick one")

        if restart is not None and not isinstance(restart, str):
            remedy = "give a number of steps between two restarts"
            restart = whole("restart", restart, 1, remedy=remedy)

        defaults = {
            "lr": lr,
            "momentum": momentum,
            "gamma": gamma,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "fused": fused,
            "restart": restart,
            "steps": 0,
            # The state s is the velocity in other units: v = -unit s. See _take.
            "unit": 1.0,
            # The look-ahead that the parameters carry: y = x + carried v.
            "carried": 0.0,
        }

        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; missing options are those of the optimizer."""
        given = {**self.defaults, **param_group}
        if not isinstance(given["lr"], Tensor):
            one_number("lr", given["lr"], "nonnegative", remedy="give a step size, e.g. lr=0.01")

        one_number(
            "momentum", given["momentum"], "inside (-1, 1)", remedy="give a momentum, e.g. 0.9"
        )
        if given["gamma"] is not None:
            one_number("gamma", given["gamma"], remedy="omit it for Nesterov's method")

        one_number(
            "weight_decay", given["weight_decay"], "nonnegative", remedy="e.g. weight_decay=1e-4"
        )
        super().add_param_group(param_group)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step; a closure is called first, to compute the loss and its gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()

        restart = self.defaults["restart"]
        uphill: list[Tensor] = []
        for group in self.param_groups:
            params, grads, states = self._gather(group)
            if not params:
                continue
            _take(group, params, grads, states)
            if restart == "gradient":
                # v⁺ = -unit s⁺: the step goes against the gradient if g·v⁺ > 0, that is, g·s⁺ < 0.
                sums = [torch.sum(g * s) for g, s in zip(grads, states, strict=True)]
                uphill.append(-torch.stack(sums).sum() * group["unit"])

        leader = self.param_groups[0]
        leader["steps"] += 1
        if isinstance(restart, int):
            is_due = leader["steps"] % restart == 0
        else:
            is_due = bool(uphill) and float(torch.stack([u.cpu() for u in uphill]).sum()) > 0.0
        if is_due:
            self.restart()

        return loss

    @torch.no_grad()
    def restart(self) -> None:
        """Set the velocity to zero: x₋ = x, so that y = x."""
        for group in self.param_groups:
            for p in group["params"]:
                if "velocity" in self.state[p]:
                    s = self.state[p]["velocity"]
                    p.add_(s, alpha=float(group["carried"] * group["unit"]))
                    s.zero_()

    def _gather(self, group: Group) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Parameters that have a gradient, their gradients and velocities."""
        params = [p for p in group["params"] if p.grad is not None]
        grads = [p.grad for p in params]
        if any(grad.is_sparse for grad in grads):
            raise Refusal("gradients", "dense", "a sparse one", "use sparse=False")

        for p in params:
            if "velocity" not in self.state[p]:
                self.state[p]["velocity"] = torch.zeros_like(p)

        return params, grads, [self.state[p]["velocity"] for p in params]


def _take(group: Group, params: list[Tensor], grads: list[Tensor], states: list[Tensor]) -> None:
    """One step of a group; the state s is the velocity in units: v = -unit s."""
    gamma = group["momentum"] if group["gamma"] is None else group["gamma"]
    lr = group["lr"]
    # At lr = 0 no s gives v = -lr s, and the kernel has only these two look-aheads.
    known = group["momentum"] != 0.0 and gamma in (0.0, group["momentum"])
    if group["fused"] and known and float(lr) > 0.0:
        _fused(group, params, grads, states, gamma)
    else:
        if group["weight_decay"] != 0.0:
            grads = list(torch._foreach_add(grads, params, alpha=group["weight_decay"]))
        if group["unit"] == 1.0 and not isinstance(lr, Tensor) and lr > 0.0:
            # At the first step, set the unit of s to lr/(1 - momentum): the update of s is then an
            # interpolation, one pass over the memory instead of two for a product and a sum. If lr
            # or momentum changes later, the unit stays and the update takes two passes; rescaling s
            # would cost as much.
            group["unit"] = lr / (1.0 - group["momentum"])
            torch._foreach_div_(states, group["unit"])
        if group["foreach"] is False:
            # One parameter at a time needs no memory for lists of intermediate tensors.
            for p, g, s in zip(params, grads, states, strict=True):
                _foreach(group, [p], [g], [s], gamma)
        else:
            _foreach(group, params, grads, states, gamma)

    group["carried"] = gamma


def _fused(
    group: Group, params: list[Tensor], grads: list[Tensor], states: list[Tensor], gamma: float
) -> None:
    """PyTorch's own kernel: s⁺ = momentum s + g, y⁺ = y - lr (g + momentum s⁺).

    This is ASG in units of lr, where y contains the look-ahead gamma. If lr changes, s is rescaled,
    so that v stays the same; if gamma changes, y is moved, so that x stays the same.
    """
    lr = float(group["lr"])
    if group["unit"] != lr:
        torch._foreach_mul_(states, group["unit"] / lr)
        group["unit"] = lr
    if group["carried"] != gamma:
        torch._foreach_add_(params, states, alpha=(group["carried"] - gamma) * lr)

    torch._fused_sgd_(
        params,
        grads,
        states,
        weight_decay=group["weight_decay"],
        momentum=group["momentum"],
        lr=lr,
        dampening=0.0,
        nesterov=gamma != 0.0,
        maximize=False,
        is_first_step=False,
    )


def _foreach(
    group: Group, params: list[Tensor], grads: list[Tensor], states: list[Tensor], gamma: float
) -> None:
    """y⁺ = (y - carried v) + (1 + gamma) v⁺ in three passes; torch's Nesterov takes four.

    Without look-ahead there are two passes; after a change of lr or momentum, one more.
    """
    lr, momentum, unit = group["lr"], group["momentum"], group["unit"]
    plain = not isinstance(lr, Tensor)
    # If carried = momentum, the new y does not need the old s: in y⁺ = y + unit (carried s - (1 +
    # gamma) s⁺), carried s = s⁺ - (lr/unit) g.
    keeps = plain and momentum != 0.0 and group["carried"] == momentum
    if keeps:
        torch._foreach_add_(params, grads, alpha=-lr)
    elif group["carried"] != 0.0:
        torch._foreach_add_(params, states, alpha=group["carried"] * unit)

    # lr/(1 - momentum) times (1 - momentum) is lr up to two rounding errors of 1.1e-16.
    if plain and abs(unit * (1.0 - momentum) - lr) <= 3e-16 * lr:
        torch._foreach_lerp_(states, grads, 1.0 - momentum)
    else:
        torch._foreach_mul_(states, momentum)
        if plain:
            torch._foreach_add_(states, grads, alpha=lr / unit)
        else:
            share = (lr / unit).to(grads[0].device)
            torch._foreach_add_(states, torch._foreach_mul(grads, share))

    torch._foreach_add_(params, states, alpha=-(gamma if keeps else 1.0 + gamma) * unit)
