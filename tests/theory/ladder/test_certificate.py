"""Certificates prove their rate, and a wrong one is caught."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ravine import Curvature, Method, nesterov, sgd
from ravine.theory.blocks import block
from ravine.theory.ladder.worst_case import certificate, worst_case_rate


@given(
    st.floats(1e-4, 2.5),
    st.floats(-0.99, 0.99),
    st.floats(-0.99, 0.99) | st.none(),
    st.floats(1.0, 1e4),
)
def test_every_method_gets_a_certificate_at_its_exact_rate(step, beta, gamma, Q):
    curvature, method = Curvature(1.0 / Q, 1.0), Method(step, beta, gamma)
    proof = certificate(curvature, method)
    assert proof.verify()
    exact = worst_case_rate(curvature, method)
    # A nearly nilpotent pair (r* below 1e-3) has an absolute margin, which may have been raised to
    # its limit; close to one the norm is so long that its proof needs more room.
    room = 1e-6 if exact > 1e-2 else 1e-3
    assert exact < proof.rate <= (exact * (1.0 + room) if exact > 1e-3 else exact + 1e-3)


def test_the_norm_contracts_every_block_between():
    curvature = Curvature(1.0, 8.0)
    proof = certificate(curvature, nesterov(curvature))
    root = np.linalg.cholesky(proof.P).T
    norms = [
        np.linalg.norm(root @ block(v, proof.method) @ np.linalg.inv(root), 2)
        for v in np.linspace(1.0, 8.0, 50)
    ]
    assert max(norms) <= proof.rate * (1.0 + 1e-12)


@pytest.mark.parametrize("change", ["rate", "P", "L", "alpha", "asymmetric"])
def test_a_certificate_that_does_not_hold_is_refused(change):
    curvature = Curvature(1.0, 8.0)
    proof = certificate(curvature, nesterov(curvature))
    wrong = {
        "rate": {"rate": proof.rate * (1.0 - 1e-6)},
        "P": {"P": np.eye(2)},
        "L": {"curvature": Curvature(1.0, 8.01)},
        "alpha": {"method": Method(1.01 / 8.0, proof.method.beta)},
        "asymmetric": {"P": proof.P + np.array([[0.0, 1e-12], [0.0, 0.0]])},
    }[change]
    assert not replace(proof, **wrong).verify()


def test_sgd_has_the_gains_of_its_corollary():
    """E‖y - x*‖ <= kappa^k ‖y_0 - x*‖ + σ/mu."""
    curvature = Curvature(0.5, 8.0)
    proof = certificate(curvature, sgd(curvature))
    assert proof.rate == pytest.approx(7.5 / 8.5, rel=1e-8)
    assert proof.transient_gain == pytest.approx(1.0, rel=1e-6)
    assert proof.noise_gain == pytest.approx(1.0 / 0.5, rel=1e-6)


def test_a_diverging_method_has_an_infinite_noise_gain():
    curvature = Curvature(1.0, 32.0)
    assert certificate(curvature, nesterov(curvature)).noise_gain == np.inf


def test_a_slower_rate_can_be_certified_and_a_faster_one_not():
    curvature = Curvature(1.0, 8.0)
    assert certificate(curvature, nesterov(curvature), rate=0.95).rate == 0.95
    with pytest.raises(ValueError, match=r"rate must be above the exact worst-case rate 0\.9142"):
        certificate(curvature, nesterov(curvature), rate=0.9)


def test_it_can_be_written_down_and_read_back():
    curvature = Curvature(0.3, 8.0)
    proof = certificate(curvature, nesterov(curvature))
    text = str(proof)
    assert repr(proof.rate) in text
    rows = eval(text.split("P = ")[1])
    assert replace(proof, P=np.array(rows)).verify()


def test_arrays_are_refused():
    with pytest.raises(ValueError, match="alpha must be a single number"):
        certificate(Curvature(1.0, 8.0), Method([0.1, 0.2]))


def test_a_notebook_shows_the_rate_and_its_proof():
    proof = certificate(Curvature(1, 32), Method(0.5 / 32, 0.3))
    html = proof._repr_html_()
    assert f"{proof.rate:.9g}" in html
    assert "proven in exact arithmetic" in html
    wrong = replace(proof, rate=0.9 * proof.rate)
    assert "not proven" in wrong._repr_html_()
