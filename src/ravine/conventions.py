"""Translate momentum methods between PyTorch, optax, Keras, QHM and the paper.

Every library writes momentum in its own way. All of them are read into one form, the paper's::

    y  = x + gamma (x - x₋)          v⁺ = beta v - alpha g(y),  v = x - x₋
    x⁺ = x + v⁺                      y⁺ = x⁺ + gamma v⁺

and written out again. What a library keeps in its parameters is y (for heavy ball y = x), so its
losses and gradients are those of the sequence that the paper analyses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ravine.arguments import Refusal, one_number
from ravine.methods import Method

_WORDS = {
    "paper": {"alpha": None, "beta": 0.0, "gamma": None},
    "torch": {"lr": None, "momentum": 0.0, "dampening": 0.0, "nesterov": False,
              "weight_decay": 0.0},
    "optax": {"learning_rate": None, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0},
    "keras": {"learning_rate": None, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0},
    "qhm": {"lr": None, "momentum": 0.0, "nu": 1.0, "weight_decay": 0.0},
}  # fmt: skip
"""What each convention calls its parameters, and their defaults; None must be given or follows."""

_SAME = 1e-12
"""Relative difference of gamma and beta up to which a method counts as Nesterov's: well above the
rounding of a conversion and back (a few 1e-16), well below any difference that is meant."""


@dataclass(frozen=True)
class Rule:
    """A momentum method as run: the paper's method, its first velocity and its weight decay."""

    alpha: float
    beta: float
    gamma: float
    first_velocity: float = 0.0
    """v at the start, in units of the first gradient: torch's dampening makes it non-zero."""
    weight_decay: float = 0.0
    """Adds weight_decay times y to the gradient (l2), or, decoupled, shrinks y apart from it."""
    decoupled: bool = False


@dataclass(frozen=True)
class Conversion:
    """A method in the terms of another library; see ``convert``."""

    source: str
    target: str
    parameters: dict[str, float | bool]
    """The target's own names and values."""
    method: Method
    """The same in the paper's family."""
    sequence: str
    """Which of the paper's sequences the library's parameters are: "y", or "x = y"."""
    first_velocity: float
    """Velocity at the start in units of the first gradient; zero except with dampening."""
    code: str
    """The call that makes it."""
    notes: tuple[str, ...]
    """Where the two differ, and what else a user should know."""


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
    understood everywhere for ``learning_rate``.

    Parameters
    ----------
    source, target
        ``"paper"``, ``"torch"``, ``"optax"``, ``"keras"`` or ``"qhm"``.
    parameters
        In the terms of ``source``.

    Returns
    -------
    Conversion
        The target's parameters, the paper's ``Method``, the call that makes it, and notes on where
        the two differ. With a constant lr the trajectories are the same to rounding.

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
    _known("target", target)
    words = _WRITERS[target](target, rule)

    return Conversion(
        source=source,
        target=target,
        parameters=words,
        method=Method(rule.alpha, rule.beta, rule.gamma),
        sequence="x = y" if rule.gamma == 0.0 else "y",
        first_velocity=rule.first_velocity,
        code=_CODE[target](words),
        notes=_notes(source, target, rule),
    )


def rule_of(source: str, **parameters: float | bool) -> Rule:
    """Read the parameters of a library into the paper's form.

    Examples
    --------
    >>> rule_of("torch", lr=0.1, momentum=0.5, dampening=0.5)
    Rule(alpha=0.05, beta=0.5, gamma=0.0, first_velocity=-0.1, weight_decay=0.0, decoupled=False)
    """
    _known("source", source)
    words: dict[str, Any] = dict(_WORDS[source])
    for name, value in parameters.items():
        own = "learning_rate" if name == "lr" and "learning_rate" in words else name
        if own not in words:
            known = ", ".join(words)
            raise Refusal("parameters", f"among {known} for {source}", name, "drop it")
        words[own] = bool(value) if own == "nesterov" else _number(own, value)

    step = next(iter(words))
    if words[step] is None:
        raise Refusal(step, "given", "none", f"add {step}=0.1")
    if words[step] < 0.0:
        raise Refusal(step, "zero or more", f"{words[step]:g}", "drop the sign")

    return _READERS[source](source, words)


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None

    return one_number(name, value, remedy=f"give a number, e.g. {name}=0.1")


def _known(name: str, convention: str) -> None:
    if convention not in _WORDS:
        raise Refusal(name, f"one of {', '.join(_WORDS)}", repr(convention), "choose one of them")


def _check_momentum(library: str, name: str, m: float, preposition: str) -> None:
    """Refuse a momentum that a library refuses."""
    low, high, words = _MOMENTA.get(library, (-math.inf, math.inf, ""))
    if not low <= m <= high:
        title = "Keras" if (library, preposition) == ("keras", "in") else library
        raise Refusal(name, f"{words} {preposition} {title}", f"{m:g}", _NEGATIVE)


def _read_paper(_: str, words: dict[str, Any]) -> Rule:
    beta = words["beta"]
    return Rule(words["alpha"], beta, beta if words["gamma"] is None else words["gamma"])


def _read_sgd(library: str, words: dict[str, Any]) -> Rule:
    """SGD of a library: v⁺ = m v - lr (1 - d) g, with a switch for Nesterov's look-ahead."""
    m = words["momentum"]
    d = words.get("dampening", 0.0)
    _check_momentum(library, "momentum", m, "in")
    if library == "torch" and words["nesterov"] and (m == 0.0 or d != 0.0):
        given = f"momentum={m:g}, dampening={d:g}"
        rule = "used with momentum and without dampening in torch"
        raise Refusal("nesterov", rule, given, "drop nesterov or dampening")

    lr = next(iter(words.values()))
    decay = words["weight_decay"]

    # Without momentum torch has no buffer, dampening does nothing, and both decays are the same.
    if m == 0.0:
        return Rule(lr, 0.0, 0.0, weight_decay=decay)

    # Torch's buffer starts as g, not (1 - d) g: the first step is m v - lr (1 - d) g = -lr g.
    return Rule(
        alpha=lr * (1.0 - d),
        beta=m,
        gamma=m if words["nesterov"] else 0.0,
        first_velocity=-lr * d / m,
        weight_decay=decay,
        decoupled=library == "keras" and decay != 0.0,
    )


def _read_qhm(_: str, words: dict[str, Any]) -> Rule:
    m = words["momentum"]
    if m >= 1.0:
        raise Refusal("momentum", "below 1 in QHM", f"{m:g}", "its buffer is an average")

    gamma = m * (1.0 - words["nu"]) / (1.0 - m)
    return Rule(words["lr"] * (1.0 - m), m, gamma, weight_decay=words["weight_decay"])


_NEGATIVE = "use ravine.torch.ASG or optax"
_MOMENTA = {"torch": (0.0, math.inf, "zero or more"), "keras": (0.0, 1.0, "between 0 and 1")}
"""The momenta that a library takes; others take all."""


def _look_ahead(rule: Rule, target: str) -> bool:
    """Whether a library with a Nesterov switch needs it on; refuse what it cannot express."""
    if rule.gamma == 0.0:
        return False
    if math.isclose(rule.gamma, rule.beta, rel_tol=_SAME):
        return True

    given = f"{rule.gamma:g} with beta={rule.beta:g}"
    remedy = "use ravine.torch.ASG, or convert to qhm"
    raise Refusal("gamma", f"0 or beta for {target}", given, remedy)


def _check_decay(target: str, rule: Rule) -> None:
    """Refuse a weight decay of the other kind: Keras decouples it, the others do not."""
    decoupled = target == "keras"
    if rule.weight_decay != 0.0 and rule.beta != 0.0 and rule.decoupled != decoupled:
        kind = "decoupled from the gradient" if decoupled else "part of the gradient (l2)"
        remedy = (
            f"use keras.regularizers.L2({rule.weight_decay / 2.0:g}) on the weights"
            if decoupled
            else "multiply the weights by 1 - lr weight_decay yourself"
        )
        raise Refusal("weight_decay", f"{kind} for {target}", f"{rule.weight_decay:g}", remedy)


def _write_paper(_: str, rule: Rule) -> dict[str, float | bool]:
    return {"alpha": rule.alpha, "beta": rule.beta, "gamma": rule.gamma}


def _write_sgd(target: str, rule: Rule) -> dict[str, float | bool]:
    _check_momentum(target, "beta", rule.beta, "for")
    _check_decay(target, rule)
    shared = {"nesterov": _look_ahead(rule, target), "weight_decay": rule.weight_decay}
    if target != "torch":
        return {"learning_rate": rule.alpha, "momentum": rule.beta, **shared}

    # first_velocity = -lr d / m and alpha = lr (1 - d), solved for lr and d.
    lr = rule.alpha - rule.beta * rule.first_velocity
    dampening = 1.0 - rule.alpha / lr if rule.first_velocity != 0.0 else 0.0
    return {"lr": lr, "momentum": rule.beta, "dampening": dampening, **shared}


def _write_qhm(target: str, rule: Rule) -> dict[str, float | bool]:
    if rule.beta >= 1.0:
        raise Refusal("beta", "below 1 for qhm", f"{rule.beta:g}", "lower it")
    if rule.beta == 0.0 and rule.gamma != 0.0:
        raise Refusal("gamma", "0 for qhm without momentum", f"{rule.gamma:g}", "set gamma=0")

    _check_decay(target, rule)
    nu = 1.0 if rule.beta == 0.0 else 1.0 - rule.gamma * (1.0 - rule.beta) / rule.beta
    return {
        "lr": rule.alpha / (1.0 - rule.beta),
        "momentum": rule.beta,
        "nu": nu,
        "weight_decay": rule.weight_decay,
    }


def _arguments(words: dict[str, float | bool], leave_out: tuple[str, ...] = ()) -> str:
    shown = {
        name: value for name, value in words.items() if value is not False and name not in leave_out
    }
    return ", ".join(f"{name}={value!r}" for name, value in shown.items() if value != 0.0)


def _optax_code(words: dict[str, float | bool]) -> str:
    call = f"optax.sgd({_arguments(words, ('weight_decay',))})"
    if words["weight_decay"] == 0.0:
        return call

    return f"optax.chain(optax.add_decayed_weights({words['weight_decay']!r}), {call})"


_SGD = ("torch", "optax", "keras")
_READERS: dict[str, Callable[[str, dict[str, Any]], Rule]] = {
    "paper": _read_paper, **dict.fromkeys(_SGD, _read_sgd), "qhm": _read_qhm,
}  # fmt: skip
_WRITERS: dict[str, Callable[[str, Rule], dict[str, float | bool]]] = {
    "paper": _write_paper, **dict.fromkeys(_SGD, _write_sgd), "qhm": _write_qhm,
}  # fmt: skip
_CODE: dict[str, Callable[[dict[str, float | bool]], str]] = {
    "paper": lambda words: f"ravine.Method({', '.join(repr(value) for value in words.values())})",
    "torch": lambda words: f"torch.optim.SGD(model.parameters(), {_arguments(words)})",
    "optax": _optax_code,
    "keras": lambda words: f"keras.optimizers.SGD({_arguments(words)})",
    "qhm": lambda words: f"QHM(model.parameters(), {_arguments(words)})",
}

_INSIDE = {"paper", "keras"}
"""Where lr is inside the velocity, v⁺ = m v - lr g; elsewhere lr multiplies a buffer."""


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
