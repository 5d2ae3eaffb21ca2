"""Translate momentum methods between PyTorch, optax, Keras, QHM and the paper.

Every library writes momentum in its own way. Each is converted to the form of the paper::

    y  = x + gamma (x - x₋)          v⁺ = beta v - alpha g(y),  v = x - x₋
    x⁺ = x + v⁺                      y⁺ = x⁺ + gamma v⁺

and from it to any other. The parameters that a library stores are y (for heavy ball y = x), so its
losses and gradients are those of the sequence that the paper analyses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ravine.arguments import Refusal, known_name, one_number
from ravine.methods import Method

_SHARED = {"nesterov": False, "weight_decay": 0.0}
_WORDS: dict[str, dict[str, Any]] = {
    "paper": {"alpha": None, "beta": 0.0, "gamma": None},
    "torch": {"lr": None, "momentum": 0.0, "dampening": 0.0, **_SHARED},
    "optax": {"learning_rate": None, "momentum": 0.0, **_SHARED},
    "keras": {"learning_rate": None, "momentum": 0.0, **_SHARED},
    "qhm": {"lr": None, "momentum": 0.0, "nu": 1.0, "weight_decay": 0.0},
}
"""Parameters of each convention with their defaults. None: must be given, or follows from
others."""

_MOMENTA: dict[str, tuple[Callable[[float], bool], str, str]] = {
    "torch": (lambda m: m >= 0.0, "zero or more", "use ravine.torch.ASG or optax"),
    "keras": (lambda m: 0.0 <= m <= 1.0, "between 0 and 1", "use ravine.torch.ASG or optax"),
    "qhm": (lambda m: m < 1.0, "below 1", "its buffer is an average"),
}
"""The range of momentum that a library accepts, and what to do outside it. Others accept any."""

_CALLS = {
    "torch": "torch.optim.SGD(model.parameters(), {})",
    "optax": "optax.sgd({})",
    "keras": "keras.optimizers.SGD({})",
    "qhm": "QHM(model.parameters(), {})",
}
"""The call that makes a method in each library, without its settings."""

_SAME = 1e-12
"""Relative difference between gamma and beta up to which a method counts as Nesterov's: well above
the rounding error of a conversion and back (a few 1e-16), well below any intended difference."""


@dataclass(frozen=True)
class Rule:
    """A momentum method as it runs: the paper's method, its first velocity and its weight decay."""

    alpha: float
    beta: float
    gamma: float
    first_velocity: float = 0.0
    """v at the start, in units of the first gradient: torch's dampening makes it non-zero."""
    weight_decay: float = 0.0
    """Added to the gradient as weight_decay times y (l2), or, if decoupled, applied to y
    directly."""
    decoupled: bool = False


@dataclass(frozen=True)
class Conversion:
    """A method in the convention of another library; see ``convert``."""

    source: str
    target: str
    parameters: dict[str, float | bool]
    """Names and values in the target's convention."""
    method: Method
    """The same method in the paper's family."""
    sequence: str
    """Which of the paper's sequences the library's parameters are: "y", or "x = y"."""
    first_velocity: float
    """Velocity at the start, in units of the first gradient; zero except with dampening."""
    code: str
    """The call that creates it."""
    notes: tuple[str, ...]
    """Where the two libraries differ, and what else a user should know."""


def convert(source: str, target: str, **parameters: float | bool) -> Conversion:
    """Translate the settings of a momentum method to another library.

    =======  =======================================================  ==========================
    name     parameters                                               in the paper's family
    =======  =======================================================  ==========================
    paper    alpha, beta, gamma                                       itself
    torch    lr, momentum, dampening d, nesterov, weight_decay        alpha = lr (1 - d)
    optax    learning_rate, momentum, nesterov, weight_decay          alpha = learning_rate
    keras    learning_rate, momentum, nesterov, weight_decay          alpha = learning_rate
    qhm      lr, momentum m, nu, weight_decay                         alpha = lr (1 - m),
                                                                      gamma = m (1 - nu)/(1 - m)
    =======  =======================================================  ==========================

    with beta = momentum, and gamma = beta for Nesterov's method and 0 for heavy ball. ``lr`` is
    accepted everywhere for ``learning_rate``.

    Parameters
    ----------
    source, target
        ``"paper"``, ``"torch"``, ``"optax"``, ``"keras"`` or ``"qhm"``.
    parameters
        In the convention of ``source``.

    Returns
    -------
    Conversion
        The target's parameters, the paper's ``Method``, the call that creates it, and notes on
        where the two differ. With a constant lr the trajectories agree to rounding.

    Raises
    ------
    ValueError
        If the target has no such method: negative momentum in torch and Keras, gamma other than 0
        and beta anywhere but in the paper and QHM, weight decay of the other kind.

    Examples
    --------
    >>> same = convert("torch", "paper", lr=0.1, momentum=0.9, nesterov=True)
    >>> same.parameters, same.sequence
    ({'alpha': 0.1, 'beta': 0.9, 'gamma': 0.9}, 'y')
    >>> convert("torch", "qhm", lr=0.125, momentum=0.75, nesterov=True).parameters
    {'lr': 0.5, 'momentum': 0.75, 'nu': 0.75, 'weight_decay': 0.0}
    >>> convert("paper", "optax", alpha=0.1, beta=-0.5).code  # torch and Keras refuse it
    'optax.sgd(learning_rate=0.1, momentum=-0.5, nesterov=True)'
    """
    rule = rule_of(source, **parameters)
    known_name("target", target, _WORDS)
    _check(target, rule, "beta")
    words = _words(target, rule)

    return Conversion(
        source=source,
        target=target,
        parameters=words,
        method=Method(rule.alpha, rule.beta, rule.gamma),
        sequence="x = y" if rule.gamma == 0.0 else "y",
        first_velocity=rule.first_velocity,
        code=_code(target, words),
        notes=_notes(source, target, rule),
    )


def rule_of(source: str, **parameters: float | bool) -> Rule:
    """Read the parameters of a library into the paper's form.

    Examples
    --------
    >>> rule_of("torch", lr=0.1, momentum=0.5, dampening=0.5)
    Rule(alpha=0.05, beta=0.5, gamma=0.0, first_velocity=-0.1, weight_decay=0.0, decoupled=False)
    """
    known_name("source", source, _WORDS)
    words = dict(_WORDS[source])
    for name, value in parameters.items():
        own = "learning_rate" if name == "lr" and "learning_rate" in words else name
        if own not in words:
            known = ", ".join(words)
            raise Refusal("parameters", f"among {known} for {source}", name, "drop it")
        if own == "nesterov":
            words[own] = bool(value)
        elif value is not None:
            words[own] = one_number(own, value, remedy=f"give a number, e.g. {own}=0.1")

    step = next(iter(words))
    if words[step] is None:
        raise Refusal(step, "given", "none", f"add {step}=0.1")
    if words[step] < 0.0:
        raise Refusal(step, "zero or more", f"{words[step]:g}", "drop the sign")

    rule = _rule(source, words[step], words)
    _check(source, rule, "momentum")
    return rule


def _rule(source: str, lr: float, words: dict[str, Any]) -> Rule:
    """The method that a library runs with these settings."""
    if source == "paper":
        beta = words["beta"]
        return Rule(lr, beta, beta if words["gamma"] is None else words["gamma"])

    m = words["momentum"]
    decay = words["weight_decay"]
    if source == "qhm":
        # No such method has momentum 1; the check of its value refuses it.
        gamma = m * (1.0 - words["nu"]) / (1.0 - m) if m != 1.0 else 0.0
        return Rule(lr * (1.0 - m), m, gamma, weight_decay=decay)

    d = words.get("dampening", 0.0)
    if source == "torch" and words["nesterov"] and (m == 0.0 or d != 0.0):
        given = f"momentum={m:g}, dampening={d:g}"
        rule = "used with momentum and without dampening in torch"
        raise Refusal("nesterov", rule, given, "drop nesterov or dampening")

    # Without momentum torch has no buffer, dampening does nothing, and both kinds of decay agree.
    if m == 0.0:
        return Rule(lr, 0.0, 0.0, weight_decay=decay)

    # Torch's buffer starts as g, not (1 - d) g: the first step is m v - lr (1 - d) g = -lr g.
    return Rule(
        alpha=lr * (1.0 - d),
        beta=m,
        gamma=m if words["nesterov"] else 0.0,
        first_velocity=-lr * d / m,
        weight_decay=decay,
        decoupled=source == "keras" and decay != 0.0,
    )


def _check(library: str, rule: Rule, momentum: str) -> None:
    """Refuse a method that a library does not have; ``momentum`` is the user's name of beta."""
    if library == "paper":
        return

    takes, words, remedy = _MOMENTA.get(library, (math.isfinite, "", ""))
    if not takes(rule.beta):
        raise Refusal(momentum, f"{words} for {library}", f"{rule.beta:g}", remedy)

    if library == "qhm" and rule.beta == 0.0 and rule.gamma != 0.0:
        raise Refusal("gamma", "0 for qhm without momentum", f"{rule.gamma:g}", "set gamma=0")

    nesterov = math.isclose(rule.gamma, rule.beta, rel_tol=_SAME)
    if library != "qhm" and rule.gamma != 0.0 and not nesterov:
        given = f"{rule.gamma:g} with beta={rule.beta:g}"
        remedy = "use ravine.torch.ASG, or convert to qhm"
        raise Refusal("gamma", f"0 or beta for {library}", given, remedy)

    # Keras decouples weight decay from the gradient, the others do not.
    decoupled = library == "keras"
    if rule.weight_decay != 0.0 and rule.beta != 0.0 and rule.decoupled != decoupled:
        kind = "decoupled from the gradient" if decoupled else "part of the gradient (l2)"
        remedy = (
            f"use keras.regularizers.L2({rule.weight_decay / 2.0:g}) on the weights"
            if decoupled
            else "multiply the weights by 1 - lr weight_decay yourself"
        )
        raise Refusal("weight_decay", f"{kind} for {library}", f"{rule.weight_decay:g}", remedy)


def _words(target: str, rule: Rule) -> dict[str, float | bool]:
    """The settings with which a library runs a method."""
    m = rule.beta
    if target == "paper":
        return {"alpha": rule.alpha, "beta": m, "gamma": rule.gamma}

    if target == "qhm":
        nu = 1.0 if m == 0.0 else 1.0 - rule.gamma * (1.0 - m) / m
        settings = {"lr": rule.alpha / (1.0 - m), "momentum": m, "nu": nu}
        return settings | {"weight_decay": rule.weight_decay}

    shared = {"nesterov": rule.gamma != 0.0, "weight_decay": rule.weight_decay}
    if target != "torch":
        return {"learning_rate": rule.alpha, "momentum": m, **shared}

    # first_velocity = -lr d / m and alpha = lr (1 - d), solved for lr and d.
    lr = rule.alpha - m * rule.first_velocity
    dampening = 1.0 - rule.alpha / lr if rule.first_velocity != 0.0 else 0.0
    return {"lr": lr, "momentum": m, "dampening": dampening, **shared}


def _code(target: str, words: dict[str, float | bool]) -> str:
    """The call that creates a method, without the settings that are zero or off."""
    if target == "paper":
        return f"ravine.Method({', '.join(map(_short, words.values()))})"

    shown = {name: _short(value) for name, value in words.items() if value}
    decay = shown.pop("weight_decay", None) if target == "optax" else None
    call = _CALLS[target].format(", ".join(f"{name}={value}" for name, value in shown.items()))
    return f"optax.chain(optax.add_decayed_weights({decay}), {call})" if decay else call


def _short(value: float | bool) -> str:
    """A value as code, without the rounding error of the conversion."""
    return repr(value) if isinstance(value, bool) else repr(float(f"{value:.12g}"))


_INSIDE = {"paper", "keras"}
"""Conventions with lr inside the velocity, v⁺ = m v - lr g; in the others lr multiplies a
buffer."""


def _notes(source: str, target: str, rule: Rule) -> tuple[str, ...]:
    notes: list[str] = []

    if rule.gamma != 0.0 and {source, target} != {"paper"}:
        first = (1.0 + rule.gamma) * rule.alpha
        notes.append(
            f"parameters are the paper's y, not x; the first step is (1 + gamma) alpha = {first:g} "
            "times the gradient"
        )

    if rule.beta != 0.0 and (source in _INSIDE) != (target in _INSIDE):
        outside = source if source not in _INSIDE else target
        notes.append(
            f"the same for a constant lr only: {outside} keeps lr outside its buffer, so a change "
            "of lr rescales the velocity by lr_k/lr_{k-1}"
        )

    if rule.first_velocity != 0.0:
        notes.append(
            f"dampening starts with the velocity {rule.first_velocity:g} times the first gradient"
            + ("" if target == "torch" else f", which {target} cannot: the first steps differ")
        )

    if rule.weight_decay != 0.0 and target == "paper":
        notes.append(
            "weight decay is decoupled: no method of the family does it"
            if rule.decoupled
            else f"weight decay adds {rule.weight_decay:g} to every curvature, mu and L"
        )

    return tuple(notes)


__all__ = ["Conversion", "Rule", "convert", "rule_of"]
