from functools import cache

import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import Method, heavy_ball, nesterov, sgd, triple_momentum
from ravine.theory.blocks import block
from ravine.theory.joint_spectral_radius.radius import joint_spectral_radius
from ravine.theory.ladder import commuting
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate


def random_parameters(count: int, seed: int) -> tuple[Curvature, Method]:
    generator = np.random.default_rng(seed)
    Q = 10.0 ** generator.uniform(0.001, 5.0, count)
    L = 10.0 ** generator.uniform(-3.0, 3.0, count)
    beta = generator.uniform(-1.0, 1.0, count)
    gamma = np.where(generator.uniform(size=count) < 0.6, beta, generator.uniform(-1, 1.5, count))
    return Curvature(L / Q, L), Method(generator.uniform(0.0, 2.5, count) / L, beta, gamma)


@pytest.mark.parametrize("Q", [1.01, 2.0, 17.0553550856302, 32.0, 2000.0, 1e6, 1e9])
def test_usual_parameters(Q: float) -> None:
    """4^(1/5)(1 - 1/√Q): four steps with mu, one with L; 1e-11 is for the product's rounding."""
    curvature = Curvature(1.0, Q)
    rate = commuting_rate(curvature, nesterov(curvature))
    value = 4.0**0.2 * (1.0 - Q**-0.5)
    assert rate.lower == pytest.approx(value, rel=1e-11)
    assert rate.upper == pytest.approx(value, rel=1e-11)
    assert rate.lower <= value * (1.0 + 1e-14)
    assert rate.upper >= value * (1.0 - 1e-14)


def test_threshold_of_divergence_at_usual_parameters() -> None:
    """4^(1/5)(1 - 1/√Q) = 1 at Q = 17.0553550856302."""
    below, above = Curvature(1.0, 17.0553550), Curvature(1.0, 17.0553551)
    assert commuting_rate(below, nesterov(below)).upper < 1.0
    assert commuting_rate(above, nesterov(above)).lower > 1.0


def test_equals_the_spectral_radius_where_the_worst_case_does() -> None:
    curvature = Curvature(1.0, 50.0)
    rate = commuting_rate(curvature, sgd(curvature))
    assert rate.lower == rate.upper == spectral_radius(curvature, sgd(curvature))


def test_a_single_curvature_has_the_spectral_radius() -> None:
    curvature, method = Curvature(3.0, 3.0), Method(0.2, [0.3, 0.9, -0.4])
    rate = commuting_rate(curvature, method)
    np.testing.assert_array_equal(rate.lower, spectral_radius(curvature, method))
    np.testing.assert_array_equal(rate.upper, rate.lower)


def test_nesting_and_tolerance_on_random_parameters() -> None:
    curvature, method = random_parameters(5000, seed=11)
    rate = commuting_rate(curvature, method, tolerance=1e-3)
    assert np.all(spectral_radius(curvature, method) <= rate.lower)
    assert np.all(rate.lower <= rate.upper)
    assert np.all(rate.upper <= worst_case_rate(curvature, method))
    assert np.mean(rate.relative_width <= 1e-3) > 0.999
    # Not vacuous: a fair share is strictly between the two closed forms.
    between = (rate.lower > 1.001 * spectral_radius(curvature, method)) & (
        rate.upper < 0.999 * worst_case_rate(curvature, method)
    )
    assert between.mean() > 0.1


def test_bounds_are_nested_before_they_are_clipped() -> None:
    """The polygon knows neither rung but stays between them, up to 1e-7 at double eigenvalues."""
    curvature, method = random_parameters(1000, seed=5)
    pairs = commuting._pairs(curvature, method, (1000,))
    ceiling = worst_case_rate(curvature, method)
    lower, upper = commuting._brackets(pairs, 2.0 * ceiling, 1e-3)
    assert np.all(lower >= spectral_radius(curvature, method) * (1.0 - 1e-7))
    assert np.all(lower <= ceiling * (1.0 + 1e-7))
    assert np.all(upper >= lower)


def test_no_product_beats_the_upper_bound() -> None:
    """Random words up to length 40: ρ(product)^(1/k) <= upper, 1e-7 for double eigenvalues."""
    curvature, method = random_parameters(400, seed=3)
    rate = commuting_rate(curvature, method)
    pair = np.stack([block(curvature.mu, method), block(curvature.L, method)])
    unit = np.asarray(rate.upper)[:, None, None]
    generator = np.random.default_rng(4)
    for _ in range(60):
        product = np.broadcast_to(np.eye(2), pair[0].shape)
        period = generator.integers(0, 2, generator.integers(2, 12))
        length = int(generator.integers(2, 41))
        for k in range(length):
            product = pair[period[k % len(period)]] / unit @ product
        radius = np.abs(np.linalg.eigvals(product)).max(axis=-1) ** (1.0 / length)
        assert np.all(radius <= 1.0 + 1e-7)


def test_agrees_with_the_general_solver() -> None:
    """Two programs that share no polygon code: each one's lower is below the other's upper."""
    curvature, method = random_parameters(40, seed=8)
    rate = commuting_rate(curvature, method, tolerance=1e-3)
    for k in range(40):
        one = Method(method.alpha[k], method.beta[k], method.gamma[k])
        # The block in the middle changes nothing but the engine: three matrices have no polygon.
        middle = 0.5 * (curvature.mu[k] + curvature.L[k])
        blocks = [block(v, one) for v in (curvature.mu[k], curvature.L[k], middle)]
        general = joint_spectral_radius(blocks, tolerance=1e-3, budget=3000)
        assert general.lower <= rate.upper[k] * (1.0 + 1e-7)
        assert rate.lower[k] <= general.upper * (1.0 + 1e-7)


def test_compiled_and_interpreted_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of them runs depends on what the process has done before."""
    curvature, method = random_parameters(commuting._FEW + 40, seed=2)
    compiled = commuting_rate(curvature, method)
    monkeypatch.setattr(commuting, "compiled_sweep", cache(lambda: pytest.fail("was compiled")))
    monkeypatch.setattr(commuting, "_FEW", commuting._FEW + 40)
    interpreted = commuting_rate(curvature, method)
    np.testing.assert_array_equal(interpreted.lower, compiled.lower)
    np.testing.assert_array_equal(interpreted.upper, compiled.upper)


def test_few_pairs_use_compiled_code_that_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    curvature, method = random_parameters(commuting._FEW + 40, seed=2)
    many = commuting_rate(curvature, method)
    monkeypatch.setattr(commuting, "sweep", lambda *_: pytest.fail("was interpreted"))
    one = commuting_rate(
        Curvature(curvature.mu[7], curvature.L[7]),
        Method(method.alpha[7], method.beta[7], method.gamma[7]),
    )
    assert (one.lower, one.upper) == (many.lower[7], many.upper[7])


def test_scaling_of_step_and_curvature() -> None:
    curvature, method = Curvature(1.0, 40.0), Method(1.3 / 40.0, 0.5, 0.2)
    scaled = commuting_rate(Curvature(7.0, 280.0), Method(1.3 / 280.0, 0.5, 0.2))
    assert commuting_rate(curvature, method).lower == pytest.approx(scaled.lower, rel=1e-10)


def test_broadcasts_and_takes_the_family() -> None:
    curvature = Curvature(1.0, np.array([4.0, 100.0])[:, None])
    rate = commuting_rate(curvature, Method(0.01, np.array([0.0, 0.5, 0.9]), 0.1))
    assert np.shape(rate.lower) == np.shape(rate.upper) == (2, 3)
    for method in (heavy_ball(Curvature(1, 9)), triple_momentum(Curvature(1, 9))):
        one = commuting_rate(Curvature(1, 9), method)
        assert isinstance(one.lower, np.float64)
        assert one.relative_width < 1e-4


def test_diverging_parameters_are_bracketed() -> None:
    rate = commuting_rate(Curvature(1.0, 100.0), Method([5.0, 1e3], [3.0, -1e6]))
    assert np.all(rate.lower > 1.0)
    assert np.all(rate.relative_width < 1e-4)


def test_methods_that_forget_everything_have_rate_zero() -> None:
    rate = commuting_rate(Curvature(2.0, 2.0), Method(0.5, 0.0))
    assert rate.lower == rate.upper == 0.0


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 2.0, 1e-12, np.nan])
def test_refuses_a_senseless_tolerance(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance must be"):
        commuting_rate(Curvature(1, 2), Method(0.1), tolerance=tolerance)
