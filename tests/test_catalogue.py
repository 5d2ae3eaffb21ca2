"""One contract for every named method."""

import numpy as np
import pytest

import ravine
from ravine import Curvature, LinearMethod, Method, iid_rate, spectral_radius, worst_case_rate
from ravine.catalogue import CATALOGUE, named_method

CURVATURE = Curvature(1.0, 40.0)
EVERY = pytest.mark.parametrize("name", CATALOGUE)


def linear(name):
    method = named_method(name)(CURVATURE, L_max=200.0, batch_size=8)
    return method if isinstance(method, LinearMethod) else LinearMethod.of(method)


def loop(name, h, steps):
    """The points y of the method on ½ h y², as its paper writes it; None where it has no loop."""
    c, L, mu = CURVATURE, 40.0, 1.0
    y, out = 1.0, []
    if name == "aggmo":
        speeds = np.zeros(3)
        for _ in range(steps):
            out.append(y)
            speeds = np.array([0.0, 0.9, 0.99]) * speeds - h * y
            y += speeds.sum() / (3 * L)
        return out
    if name == "stale-gradient":
        gradients = [0.0, 0.0]  # at rest none has been seen
        for _ in range(steps):
            out.append(y)
            gradients.append(h * y)
            y -= 0.5 / L * gradients[-3]
        return out
    if name == "adam":
        mean = 0.0
        for _ in range(steps):
            out.append(y)
            mean = 0.9 * mean + 0.1 * h * y
            y -= mean / L
        return out
    if name == "qhm":
        mean = 0.0
        for _ in range(steps):
            out.append(y)
            mean = 0.999 * mean + 0.001 * h * y
            y -= (0.3 * h * y + 0.7 * mean) / L
        return out
    if name == "mass":
        L_m, statistical = 200 / 8 + 7 / 8 * L, 5 / 8 + 7 / 8
        a = 1 / np.sqrt(L_m / mu * statistical)
        gamma, first = (1 - a) / (1 + a), 1 / L_m
        second = first * (1 - 1 / statistical) / (1 + a)
        w = y
        for _ in range(steps):
            out.append(y)
            g = h * y
            fresh = y - first * g
            y, w = (1 + gamma) * fresh - gamma * w + second * g, fresh
        return out
    if name == "asgd":
        L_m, statistical = 200 / 8 + 7 / 8 * L, 5 / 8 + 7 / 8
        root = np.sqrt(L_m / mu * statistical)
        a = 3 * np.sqrt(5) * root / (1 + 3 * np.sqrt(5) * root)
        b, long = 1 / (9 * root), 1 / (3 * np.sqrt(5) * mu * root)
        x = v = y
        for _ in range(steps):
            y = a * x + (1 - a) * v
            out.append(y)
            g = h * y
            x, v = y - g / (5 * L_m), b * y + (1 - b) * v - long * g
        return out
    method = named_method(name)(c)
    x = before = y
    for _ in range(steps):
        y = x + method.gamma * (x - before)
        out.append(y)
        x, before = x + method.beta * (x - before) - method.alpha * h * y, x
    return out


@EVERY
def test_it_follows_the_loop_of_its_paper(name):
    A, B, C = linear(name).state
    for h in (1.0, 7.0, 40.0):
        state = linear(name).at_rest(1.0)[:, 0]
        points = []
        for _ in range(30):
            y = float(C @ state)
            points.append(y)
            state = A @ state + B * (h * y)
        np.testing.assert_allclose(points, loop(name, h, 30), rtol=1e-9, atol=1e-12)


@EVERY
def test_it_rests_at_the_minimiser_and_keeps_its_memory(name):
    method = linear(name)
    A, _, C = method.state
    rest = method.at_rest(3.0)[:, 0]
    np.testing.assert_allclose(A @ rest, rest, rtol=1e-9)
    assert C @ rest == pytest.approx(3.0)
    assert method.memory == {"aggmo": 4, "stale-gradient": 3}.get(name, 2)


@EVERY
def test_its_rate_is_the_largest_radius_of_its_loop(name):
    method = named_method(name)(CURVATURE, L_max=200.0, batch_size=8)
    A, B, C = linear(name).state
    radii = [
        np.abs(np.linalg.eigvals(A + lam * np.outer(B, C))).max()
        for lam in np.geomspace(1.0, 40.0, 400)
    ]
    rate = spectral_radius(CURVATURE, method)
    assert max(radii) <= rate * (1 + 1e-6)
    assert max(radii) == pytest.approx(rate, rel=1e-3)


@EVERY
def test_no_rung_exceeds_the_next(name):
    method = named_method(name)(CURVATURE, L_max=200.0, batch_size=8)
    rates = [
        spectral_radius(CURVATURE, method),
        iid_rate(CURVATURE, method, L_max=200.0, batch_size=8, mu_min=0.5),
        worst_case_rate(Curvature(0.5, 200.0), method),
    ]
    assert rates[0] <= rates[1] * (1 + 1e-9)
    assert rates[1] <= rates[2] * (1 + 1e-9)


@EVERY
def test_each_entry_says_where_it_is_from(name):
    entry = CATALOGUE[name]
    assert all((entry.title, entry.reference[-4:].isdigit(), entry.formula, entry.tuned))
    assert isinstance(entry(CURVATURE), Method | LinearMethod)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"method must be one of sgd, .* got 'adagrad'"):
        named_method("adagrad")
    assert ravine.named_method is named_method


@pytest.mark.parametrize("Q", [4.0, 100.0, 1e4])
@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("sgd", lambda Q: (Q - 1) / (Q + 1)),
        ("gradient-descent", lambda Q: 1 - 1 / Q),
        ("heavy-ball", lambda Q: (np.sqrt(Q) - 1) / (np.sqrt(Q) + 1)),
        ("nesterov", lambda Q: 1 - 1 / np.sqrt(Q)),
        ("triple-momentum", lambda Q: 1 - 1 / np.sqrt(Q)),
        ("robust-momentum", lambda Q: 1 - Q**-0.75),
        ("robust-accelerated", lambda Q: 1 - 0.5 / np.sqrt(Q)),
        ("robust-heavy-ball", lambda Q: 1 - 1 / np.sqrt(Q)),
    ],
)
def test_the_rate_of_its_paper(name, rate, Q):
    curvature = Curvature(1.0, Q)
    found = spectral_radius(curvature, named_method(name)(curvature))
    assert float(found) == pytest.approx(rate(Q), rel=1e-6)


def transfer(name, curvature, z):
    method = named_method(name)(curvature)
    return np.polyval(LinearMethod.of(method).numerator, z) / np.polyval(
        LinearMethod.of(method).denominator, z
    )


@pytest.mark.parametrize("Q", [4.0, 100.0, 1e4])
@pytest.mark.parametrize(
    ("name", "rate"),
    [("triple-momentum", lambda Q: 1 - Q**-0.5), ("robust-momentum", lambda Q: 1 - Q**-0.75)],
)
def test_the_rate_holds_for_every_smooth_strongly_convex_function(name, rate, Q):
    # The weighted off-by-one constraint of Lessard, Recht and Packard, in the frequency domain.
    def least(rho):
        z = rho * np.exp(1j * np.geomspace(1e-4, np.pi, 4000))
        G = transfer(name, Curvature(1.0, Q), z)
        below, above, multiplier = 1 + G, 1 + Q * G, 1 - rho**2 / z
        parts = np.conj(below) * multiplier * above
        return float((parts.real / np.abs(parts)).min())

    rho = rate(Q)
    # At the rate of triple momentum the constraint is exactly zero.
    assert least(rho + 1e-3 * (1 - rho)) > 0
    assert least(rho - 1e-3 * (1 - rho)) < 0


@pytest.mark.parametrize("Q", [4.0, 100.0, 1e4])
def test_the_robust_heavy_ball_amplifies_errors_of_the_gradient_least(Q):
    z = np.exp(1j * np.append(0.0, np.geomspace(1e-6, np.pi, 4000)) + 1e-9j)
    G = transfer("robust-heavy-ball", Curvature(1.0, Q), z)
    gains = [np.abs(np.sqrt(h / 2) * G / (1 + h * G)).max() for h in np.geomspace(1, Q, 50)]
    # At frequency zero every method that rests at the minimiser has this gain.
    assert max(gains) == pytest.approx(1 / np.sqrt(2), rel=1e-6)


def test_mass_in_the_form_of_its_authors_code():
    # u, w and v: w⁺ = u - η g, v⁺ = (1-a) v + a u - η/(a κ̃) g, u⁺ = (a v⁺ + w⁺)/(1+a).
    L_m, statistical = 200 / 8 + 7 / 8 * 40, 5 / 8 + 7 / 8
    a = 1 / np.sqrt(L_m * statistical)
    for h in (1.0, 7.0, 40.0):
        u = v = 1.0
        points = []
        for _ in range(30):
            points.append(u)
            g = h * u
            w, v = u - g / L_m, (1 - a) * v + a * u - g / (L_m * a * statistical)
            u = (a * v + w) / (1 + a)
        np.testing.assert_allclose(points, loop("mass", h, 30), rtol=1e-9, atol=1e-12)


def test_asgd_has_the_advantage_parameter_of_its_authors_code():
    # Their code takes a small constant c, the ratio of long and short step, and ξ = √(κ/κ̃).
    L_m, statistical = 200 / 8 + 7 / 8 * 40, 5 / 8 + 7 / 8
    c, ratio, advantage = np.sqrt(5) / 3, 5 * L_m, np.sqrt(L_m / statistical)
    b = c**2 * advantage / ratio
    for h in (1.0, 7.0, 40.0):
        x = v = 1.0
        points = []
        for _ in range(30):
            points.append(x)
            g = h * x
            v = (1 - b) * v + b * (x - ratio / (5 * L_m * c) * g)
            x = (c * (x - g / (5 * L_m)) + b * v) / (c + b)
        np.testing.assert_allclose(points, loop("asgd", h, 30), rtol=1e-9, atol=1e-12)
