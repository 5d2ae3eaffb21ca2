"""The same trajectory from the real libraries and from the paper's recursion."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import jax
import jax.numpy as jnp
import keras
import numpy as np
import optax
import pytest
import torch

from ravine.conventions import Rule, convert, rule_of

EIGENVALUES = np.array([0.05, 0.4, 1.0])
LR = 0.3125  # a number that single precision holds: Keras rounds its lr to it
START = np.array([1.0, -2.0, 0.5])
STEPS = 40
# Forty steps of a stable recursion on numbers of order one: a few units in the last place.
TOLERANCE = 1e-14


def gradient(w):
    return EIGENVALUES * w


def paper_run(rule: Rule, steps=STEPS, lrs=None, rescale=False):
    """y_0, y_1, ... of the family in velocity form; ``lrs`` are step sizes that change."""
    y = START.copy()
    v = None
    out = [y]
    for k in range(steps):
        alpha = rule.alpha if lrs is None else lrs[k]
        g = gradient(y)
        decay = rule.weight_decay * y
        if not rule.decoupled:
            g = g + decay
        v = rule.first_velocity * g if v is None else v
        if rescale and k:
            v = v * lrs[k] / lrs[k - 1]

        # y⁺ - y = v⁺ + gamma (v⁺ - v), and x⁺ = x + v⁺.
        x = y - rule.gamma * v
        v = rule.beta * v - alpha * g
        y = x + v + rule.gamma * v - (alpha * decay if rule.decoupled else 0.0)
        if rescale:
            # The library's own state is (y, v): it forgets x when lr changes.
            y = out[-1] + rule.beta * v - alpha * g if rule.gamma else out[-1] + v
        out.append(y)
    return np.array(out)


def torch_run(steps=STEPS, lrs=None, **words):
    w = torch.tensor(START, requires_grad=True)
    rule = torch.optim.SGD([w], **words)
    out = [w.detach().numpy().copy()]
    for k in range(steps):
        if lrs is not None:
            rule.param_groups[0]["lr"] = lrs[k]
        w.grad = torch.tensor(gradient(w.detach().numpy()))
        rule.step()
        out.append(w.detach().numpy().copy())
    return np.array(out)


def optax_run(rule, steps=STEPS):
    with jax.enable_x64(True):
        w = jnp.asarray(START)
        state = rule.init(w)
        out = [np.array(w)]
        for _ in range(steps):
            update, state = rule.update(jnp.asarray(gradient(np.array(w))), state, w)
            w = optax.apply_updates(w, update)
            out.append(np.array(w))
    return np.array(out)


def keras_run(steps=STEPS, lrs=None, **words):
    w = keras.Variable(START, dtype="float64")
    rule = keras.optimizers.SGD(**{**words, "weight_decay": words["weight_decay"] or None})
    with keras.device("cpu"):
        rule.build([w])
    out = [w.value.detach().numpy().copy()]
    for k in range(steps):
        if lrs is not None:
            rule.learning_rate = lrs[k]
        g = keras.ops.convert_to_tensor(gradient(out[-1]), dtype="float64")
        rule.apply([g], [w])
        out.append(w.value.detach().numpy().copy())
    return np.array(out)


TORCH_SETTINGS = [
    {"lr": 0.3},
    {"lr": 0.3, "momentum": 0.9},
    {"lr": 0.3, "momentum": 0.9, "nesterov": True},
    {"lr": 0.3, "momentum": 0.7, "dampening": 0.4},
    {"lr": 0.3, "dampening": 0.4},
    {"lr": 0.3, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
]


@pytest.mark.parametrize("words", TORCH_SETTINGS)
def test_torch_is_the_paper_s_method(words):
    np.testing.assert_allclose(
        torch_run(**words), paper_run(rule_of("torch", **words)), rtol=0, atol=TOLERANCE
    )


@pytest.mark.parametrize("words", TORCH_SETTINGS)
def test_torch_survives_a_round_trip(words):
    back = convert("torch", "torch", **words).parameters
    np.testing.assert_allclose(torch_run(**back), torch_run(**words), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("momentum", [0.0, 0.9, -0.4])
@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_optax_is_the_paper_s_method(momentum, nesterov, decay):
    words = {"lr": 0.3, "momentum": momentum, "nesterov": nesterov, "weight_decay": decay}
    code = convert("optax", "optax", **words).code
    np.testing.assert_allclose(
        optax_run(eval(code)), paper_run(rule_of("optax", **words)), rtol=0, atol=TOLERANCE
    )


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_keras_is_the_paper_s_method_with_decoupled_decay(momentum, nesterov, decay):
    words = {"learning_rate": LR, "momentum": momentum, "nesterov": nesterov,
             "weight_decay": decay}  # fmt: skip
    rule = rule_of("keras", **words)
    assert rule.decoupled == (decay > 0.0 and momentum > 0.0)
    np.testing.assert_allclose(keras_run(**words), paper_run(rule), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("nu", [0.0, 0.7, 1.0])
def test_qhm_is_in_the_family(nu):
    a, m = 0.8, 0.7
    w, d = START.copy(), np.zeros(3)
    out = [w]
    for _ in range(STEPS):
        g = gradient(w)
        d = m * d + (1 - m) * g
        w = w - a * ((1 - nu) * g + nu * d)
        out.append(w)
    rule = rule_of("qhm", lr=a, momentum=m, nu=nu)
    np.testing.assert_allclose(np.array(out), paper_run(rule), rtol=0, atol=TOLERANCE)
    back = convert("paper", "qhm", alpha=rule.alpha, beta=rule.beta, gamma=rule.gamma).parameters
    assert back["nu"] == pytest.approx(nu, abs=1e-15)
    assert back["lr"] == pytest.approx(a, rel=1e-15)


def test_a_changing_lr_parts_torch_from_keras_and_the_paper():
    lrs = np.geomspace(0.4, 0.02, STEPS).astype(np.float32).astype(np.float64)
    words = {"momentum": 0.9, "nesterov": True}
    rule = rule_of("torch", lr=0.4, **words)
    paper = paper_run(rule, lrs=lrs)
    np.testing.assert_allclose(
        keras_run(lrs=lrs, learning_rate=0.4, weight_decay=0.0, **words),
        paper, rtol=0, atol=TOLERANCE,
    )  # fmt: skip
    by_torch = torch_run(lrs=lrs, lr=0.4, **words)
    np.testing.assert_allclose(
        by_torch, paper_run(rule, lrs=lrs, rescale=True), rtol=0, atol=TOLERANCE
    )
    assert np.abs(by_torch - paper).max() > 0.1
    assert "lr outside its buffer" in " ".join(convert("torch", "keras", lr=0.4, **words).notes)


def test_dampening_starts_with_a_velocity():
    same = convert("torch", "paper", lr=0.1, momentum=0.5, dampening=0.5)
    assert same.first_velocity == pytest.approx(-0.1)
    assert "the first steps differ" in same.notes[-1]
    assert convert("torch", "paper", lr=0.1, momentum=0.5).first_velocity == 0.0


def test_the_code_is_what_one_would_write():
    same = convert("paper", "torch", alpha=0.1, beta=0.9)
    assert same.code == ("torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)")
    same = convert("torch", "paper", lr=0.1, momentum=0.9)
    assert same.code == "ravine.Method(0.1, 0.9, 0.0)"
    assert same.sequence == "x = y"


@pytest.mark.parametrize(
    ("source", "target", "words", "line"),
    [
        ("torch", "paper", {"lr": 0.1, "momentum": -0.5}, "momentum must be zero or more"),
        ("torch", "paper", {"lr": 0.1, "nesterov": True}, "nesterov must be used with momentum"),
        ("torch", "paper", {"momentum": 0.5}, "lr must be given, got none"),
        ("torch", "paper", {"lr": -1}, "lr must be zero or more"),
        ("torch", "paper", {"lr": 0.1, "nu": 1}, "parameters must be among lr, momentum"),
        ("flax", "paper", {"lr": 0.1}, "source must be one of paper, torch"),
        ("torch", "flax", {"lr": 0.1}, "target must be one of paper, torch"),
        ("paper", "torch", {"alpha": 0.1, "beta": 0.5, "gamma": 0.2}, "gamma must be 0 or beta"),
        ("paper", "keras", {"alpha": 0.1, "beta": -0.5}, "beta must be between 0 and 1 for keras"),
        ("paper", "qhm", {"alpha": 0.1, "beta": 0, "gamma": 1}, "gamma must be 0 for qhm"),
        ("qhm", "paper", {"lr": 0.1, "momentum": 1}, "momentum must be below 1 for qhm"),
        ("torch", "keras", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.2},
         "use keras.regularizers.L2(0.1)"),
        ("keras", "torch", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.2},
         "weight_decay must be part of the gradient (l2) for torch"),
    ],
)  # fmt: skip
def test_what_a_library_cannot_say_is_refused(source, target, words, line):
    with pytest.raises(ValueError, match="must be") as refusal:
        convert(source, target, **words)
    assert line in str(refusal.value)
