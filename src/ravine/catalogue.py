"""Named methods with their published parameters, as functions of the curvature.

A new method is one function and one entry of ``CATALOGUE``: the command line, the league table and
the contract test read it. Methods with several gradients per step or with changing parameters are
not included: the rates do not cover them (docs/theory.md, Any memory).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ravine.arguments import known_name, one_number
from ravine.curvature import Curvature
from ravine.methods import (
    LinearMethod,
    Method,
    gradient_descent,
    heavy_ball,
    nesterov,
    quasi_hyperbolic,
    sgd,
    triple_momentum,
)

_ONE = "a catalogue entry is for one curvature"


@dataclass(frozen=True)
class NamedMethod:
    """A published method: its source, its formula, and the parameters left to tune."""

    title: str
    reference: str
    formula: str
    tuned: str
    """Parameters to tune; the others follow from the curvature."""
    build: Callable[[Curvature, float, float], Method | LinearMethod]
    """The method from the curvature and, for a batch of m terms, L_m and the statistical condition
    number κ̃_m: that of a single term is taken as L_max/L."""

    def __call__(
        self, curvature: Curvature, *, L_max: float | None = None, batch_size: float = 1.0
    ) -> Method | LinearMethod:
        """The method at its published parameters, for one curvature.

        ``L_max`` is the largest curvature of a single term.
        """
        mu, L = curvature.single(_ONE)
        most = L if L_max is None else one_number("L_max", L_max, "positive", remedy=_ONE)
        size = one_number("batch_size", batch_size, "positive", remedy="give the size of a batch")
        most, size = max(most, L), max(size, 1.0)
        rest = (size - 1.0) / size
        return self.build(Curvature(mu, L), most / size + rest * L, most / L / size + rest)


def _robust_momentum(c: Curvature, *_: float) -> Method:
    """A method between triple momentum and gradient descent: halfway in the logarithm of 1 - ρ."""
    Q = float(c.Q)
    if Q == 1.0:
        return gradient_descent(c)

    rho = 1.0 - Q**-0.75
    alpha = Q * (1.0 - rho) ** 2 * (1.0 + rho) / c.L
    gamma = rho**3 / ((Q - 1.0) * (1.0 - rho) ** 2 * (1.0 + rho))
    return Method(alpha, Q * rho**3 / (Q - 1.0), gamma)


def _robust_accelerated(c: Curvature, *_: float) -> Method:
    root = 0.5 * np.sqrt(c.mu / c.L)
    return Method(0.25 / c.L, (1.0 - root) / (1.0 + root))


def _robust_heavy_ball(c: Curvature, *_: float) -> Method:
    return Method(1.0 / c.L, (1.0 - np.sqrt(c.mu / c.L)) ** 2, 0.0)


def _asgd(c: Curvature, L: float, statistical: float) -> LinearMethod:
    """The method in the state (x, v): y = a x + (1-a) v, x⁺ = y - δ g, v⁺ = b y + (1-b) v - c g."""
    root = float(np.sqrt(L / float(c.mu) * statistical))
    a = 3.0 * np.sqrt(5.0) * root / (1.0 + 3.0 * np.sqrt(5.0) * root)
    b = 1.0 / (9.0 * root)
    long = 1.0 / (3.0 * np.sqrt(5.0) * float(c.mu) * root)
    A = [[a, 1.0 - a], [a * b, b * (1.0 - a) + 1.0 - b]]
    return LinearMethod.state_space(A, [-0.2 / L, -long], [a, 1.0 - a])


def _mass(c: Curvature, L: float, statistical: float) -> LinearMethod:
    """The method in the state (u, w): w⁺ = u - η₁ g, u⁺ = (1+γ) w⁺ - γ w + η₂ g."""
    a = 1.0 / float(np.sqrt(L / float(c.mu) * statistical))
    gamma = (1.0 - a) / (1.0 + a)
    first = 1.0 / L
    second = first * (1.0 - 1.0 / statistical) / (1.0 + a)
    A = [[1.0 + gamma, -gamma], [1.0, 0.0]]
    return LinearMethod.state_space(A, [second - (1.0 + gamma) * first, -first], [1.0, 0.0])


def _adam(c: Curvature, *_: float) -> Method:
    """x⁺ = x - lr m⁺, m⁺ = 0.9 m + 0.1 g: heavy ball with its step times 1 - beta1."""
    return Method(0.1 / c.L, 0.9, 0.0)


def _aggregated(c: Curvature, *_: float) -> LinearMethod:
    """x⁺ = x + lr/3 sum_i v_i⁺, v_i⁺ = β_i v_i - g, with β = 0, 0.9, 0.99."""
    dampings = (0.0, 0.9, 0.99)
    # The sum of 1/(z - β_i) is the derivative of the product of all z - β_i over that product.
    numerator = np.polymul(np.polyder(np.poly(dampings)), [1.0, 0.0]) / (3.0 * float(c.L))
    return LinearMethod(numerator, np.poly([1.0, *dampings]))


def _stale(c: Curvature, *_: float) -> LinearMethod:
    return LinearMethod.multi_step([1.0], [0.0, 0.0, 0.5 / float(c.L)])


CATALOGUE: dict[str, NamedMethod] = {
    "sgd": NamedMethod(
        "SGD", "Robbins and Monro 1951", "alpha = 2/(mu + L)", "alpha", lambda c, *_: sgd(c)
    ),
    "gradient-descent": NamedMethod(
        "gradient descent", "Cauchy 1847", "alpha = 1/L", "alpha", lambda c, *_: gradient_descent(c)
    ),
    "heavy-ball": NamedMethod(
        "heavy ball", "Polyak 1964",
        "alpha = 4/(√L + √mu)², beta = ((√Q - 1)/(√Q + 1))², gamma = 0",
        "alpha, beta", lambda c, *_: heavy_ball(c),
    ),
    "nesterov": NamedMethod(
        "Nesterov", "Nesterov 2004", "alpha = 1/L, beta = (√Q - 1)/(√Q + 1)",
        "alpha, beta", lambda c, *_: nesterov(c),
    ),
    "triple-momentum": NamedMethod(
        "triple momentum", "Van Scoy, Freeman and Lynch 2018",
        "ρ = 1 - 1/√Q, alpha = (1 + ρ)/L, beta = ρ²/(2 - ρ), gamma = ρ²/((1 + ρ)(2 - ρ))",
        "alpha, beta, gamma", lambda c, *_: triple_momentum(c),
    ),
    "robust-momentum": NamedMethod(
        "robust momentum", "Cyrus, Hu, Van Scoy and Lessard 2018",
        "ρ = 1 - Q^(-3/4), alpha = Q (1-ρ)² (1+ρ)/L, beta = Q ρ³/(Q-1), "
        "gamma = ρ³/((Q-1)(1-ρ)²(1+ρ))",
        "ρ between 1 - 1/√Q and 1 - 1/Q", _robust_momentum,
    ),
    "robust-accelerated": NamedMethod(
        "robust accelerated gradient", "Aybat, Fallah, Gürbüzbalaban and Ozdaglar 2020",
        "alpha = 1/(4L), beta = (1 - √(alpha mu))/(1 + √(alpha mu))",
        "alpha between 0 and 1/L", _robust_accelerated,
    ),
    "robust-heavy-ball": NamedMethod(
        "robust heavy ball", "Gürbüzbalaban 2023",
        "alpha = 1/L, beta = (1 - √(alpha mu))², gamma = 0", "alpha", _robust_heavy_ball,
    ),
    "qhm": NamedMethod(
        "QHM", "Ma and Yarats 2019", "alpha = 1/L, beta = 0.999, nu = 0.7",
        "alpha", lambda c, *_: quasi_hyperbolic(1.0 / c.L, 0.999, 0.7),
    ),
    "asgd": NamedMethod(
        "accelerated SGD", "Jain, Kakade, Kidambi, Netrapalli and Sidford 2018",
        "δ = 1/(5 L_m), a = 3√5 r/(1 + 3√5 r), b = 1/(9r), c = 1/(3√5 mu r), r = √(κ_m κ̃_m)",
        "δ and the statistical condition number κ̃", _asgd,
    ),
    "mass": NamedMethod(
        "MaSS", "Liu and Belkin 2020",
        "η₁ = 1/L_m, a = 1/√(κ_m κ̃_m), γ = (1-a)/(1+a), η₂ = η₁ (1 - 1/κ̃_m)/(1+a)",
        "η₁ and the statistical condition number κ̃", _mass,
    ),
    "adam": NamedMethod(
        "Adam, fixed preconditioner", "Kingma and Ba 2015",
        "lr = 1/L in preconditioned units, beta1 = 0.9; AdamW with weight decay 0", "lr", _adam,
    ),
    "rmsprop": NamedMethod(
        "RMSprop, fixed preconditioner", "Tieleman and Hinton 2012",
        "lr = 1/L in preconditioned units", "lr", lambda c, *_: gradient_descent(c),
    ),
    "aggmo": NamedMethod(
        "aggregated momentum", "Lucas, Sun, Zemel and Grosse 2019",
        "lr = 1/L, dampings 0, 0.9, 0.99", "lr", _aggregated,
    ),
    "stale-gradient": NamedMethod(
        "SGD, gradients two steps late", "Bertsekas and Tsitsiklis 1989",
        "x⁺ = x - alpha g(x two steps before), alpha = 1/(2L)", "alpha", _stale,
    ),
}  # fmt: skip
"""Every named method by its name on the command line."""


def named_method(name: str) -> NamedMethod:
    """Look up a method by name.

    Examples
    --------
    >>> named_method("nesterov")(Curvature(1, 9)).beta
    np.float64(0.5)
    """
    return CATALOGUE[known_name("method", name, CATALOGUE)]
