"""The verdict says what the rungs say."""

import pytest

from ravine import Curvature, Method, heavy_ball, ladder, nesterov, sgd, triple_momentum


def test_rungs_are_in_order():
    curvature = Curvature(1, 32)
    rungs = ladder(curvature, nesterov(curvature))
    assert rungs.spectral_radius <= rungs.iid_rate <= rungs.commuting.lower
    assert rungs.commuting.lower <= rungs.commuting.upper
    assert rungs.commuting.upper <= rungs.worst_case_rate <= rungs.contraction


@pytest.mark.parametrize(
    ("Q", "make", "words"),
    [
        (
            2000,
            nesterov,
            ["Standard Nesterov", "can diverge", "Even if their Hessians share eigenvectors"],
        ),
        (14, nesterov, ["can diverge", "converges in every order if their Hessians share"]),
        (
            8,
            nesterov,
            ["certain to converge on every finite sum", "worst-case rate 0.914 per step"],
        ),
        (32, sgd, ["SGD at 2/(mu + L)", "certain to converge", "0.939 per step"]),
        (32, heavy_ball, ["Polyak's heavy ball", "can diverge"]),
        (8, triple_momentum, ["Triple momentum", "certain"]),
        (
            8,
            lambda c: Method(3 / c.L, 0.9),
            ["diverges even with exact gradients", "grows by a factor of 4.23 per step"],
        ),
        (8, lambda c: Method(0.1 / c.L, 0.0), ["SGD: converges"]),
        (8, lambda c: Method(0.1 / c.L, 0.2, 0.1), ["Momentum with look-ahead"]),
    ],
)
def test_verdicts(Q, make, words):
    curvature = Curvature(1, Q)
    verdict = ladder(curvature, make(curvature)).verdict
    for phrase in words:
        assert phrase in verdict


def test_noise_is_compared_with_sgd():
    """At usual parameters the worst direction is noisier than SGD's iff Q > 7.697007361."""
    for Q, noisier in ((7.69, False), (7.71, True)):
        curvature = Curvature(1, Q)
        rungs = ladder(curvature, nesterov(curvature))
        assert (rungs.noise_coefficient > rungs.sgd_noise_coefficient) is noisier


@pytest.mark.parametrize(
    ("size", "words"), [(64, "can diverge in mean"), (100, "converge in mean")]
)
def test_the_verdict_counts_the_batch(size, words):
    curvature = Curvature(1, 1000)
    rungs = ladder(curvature, nesterov(curvature), L_max=10_000, batch_size=size)
    assert (rungs.iid_rate < 1.0) == (size > rungs.critical_batch_size)
    assert f"Batches of {size} drawn independently" in rungs.verdict
    assert words in rungs.verdict
    # Samples may be flat, so no order can be certain; SGD is offered in mean square.
    assert rungs.worst_case_rate > 1.0
    assert "is stable in mean square at this batch size" in rungs.verdict


def test_terms_with_a_least_curvature_keep_the_rungs_in_order():
    curvature = Curvature(1, 8)
    rungs = ladder(curvature, Method(0.01, 0.3), L_max=32, mu_min=1, batch_size=4)
    values = [float(rate.upper) for rate in rungs.rates.values()]
    assert values == sorted(values)
    assert rungs.worst_case_rate < 1.0


def test_arrays_are_refused():
    with pytest.raises(ValueError, match="L must be a single number"):
        ladder(Curvature(1, [2, 3]), Method(0.1))


def test_a_notebook_shows_every_rung():
    c = Curvature(1, 32)
    rungs = ladder(c, nesterov(c))
    html = rungs._repr_html_()
    assert f"{rungs.worst_case_rate:.6g}" in html
    assert "can diverge when mini-batches disagree" in html
    assert html.count("<tr>") == 1 + 5
    assert "<script" not in html
