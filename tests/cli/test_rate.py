import json

import pytest

from ravine import Curvature, Method, ladder, nesterov


def test_the_paper_s_example(ravine):
    shown = ravine("rate", "--mu", 0.05, "--L", 100)
    assert shown.code == 0
    assert "standard Nesterov parameters: alpha = 0.01, beta = 0.956257" in shown.out
    assert "worst-case rate r*           1.38" in shown.out  # sqrt(2)(1 - 1/sqrt(2000))
    assert shown.out.endswith("  ravine recommend --mu 0.05 --L 100\n")
    words = " ".join(shown.out.split())
    assert "in the worst case the error grows by a factor of 1.38 per step" in words
    assert max(len(line) for line in shown.out.splitlines()) <= 80


def test_json_carries_the_ladder(ravine):
    curvature = Curvature(1, 32)
    rungs = ladder(curvature, nesterov(curvature))
    data = json.loads(ravine("rate", "--Q", 32, "--json").out)
    assert set(data) == {
        "curvature", "method", "spectral_radius", "iid_rate", "commuting_rate", "worst_case_rate",
        "contraction", "batches", "critical_batch_size", "noise_coefficient",
        "sgd_noise_coefficient", "converges", "verdict",
    }  # fmt: skip
    assert data["curvature"] == {"mu": 1.0, "L": 32.0, "Q": 32.0}
    assert data["worst_case_rate"] == rungs.worst_case_rate
    assert data["commuting_rate"]["upper"] == float(rungs.commuting.upper)
    assert data["converges"] == {
        "additive_noise": True, "iid_batches": False, "any_sampling": False,
    }  # fmt: skip
    assert data["batches"] == {"L_max": 32.0, "mu_min": 1.0, "batch_size": 1.0}
    assert data["critical_batch_size"] == rungs.critical_batch_size
    assert data["verdict"] == rungs.verdict


def test_batches_of_samples(ravine):
    arguments = ["--Q", 1000, "--L-max", 10_000, "--batch-size"]
    for size, safe in ((80, False), (81, True)):
        data = json.loads(ravine("rate", *arguments, size, "--json").out)
        assert data["converges"]["iid_batches"] is safe
        assert data["batches"] == {"L_max": 10_000.0, "mu_min": 0.0, "batch_size": size}
    shown = " ".join(ravine("rate", *arguments, 64).out.split())
    assert "samples from 0 to 10000, batches of 64" in shown
    assert "batches of 81 or more (limit 80.5) are stable" in " ".join(shown.split())
    assert "Independent batches of 81 or more (limit 80.5)" in " ".join(
        ravine("rate", *arguments, 81).out.split()
    )
    assert "Batches of 64 drawn independently can diverge in mean square" in shown
    kept = ravine("rate", "--Q", 8, "--L-max", 16, "--mu-min", 1).out
    assert "samples from 1 to 16" in kept
    assert kept.endswith("  ravine recommend --Q 8 --L-max 16 --mu-min 1\n")


def test_a_method_from_its_parameters_or_the_usual_one(ravine):
    usual = nesterov(Curvature(1.0, 8.0))
    for given, expected in (
        ([], usual),
        (["--alpha", 0.1], Method(0.1, 0.0)),
        (["--alpha", 0.1, "--beta", 0.5, "--gamma", 0.25], Method(0.1, 0.5, 0.25)),
    ):
        method = json.loads(ravine("rate", "--Q", 8, *given, "--json").out)["method"]
        assert {name: method[name] for name in expected.parameters} == expected.parameters


def test_infinite_numbers_become_null(ravine):
    data = json.loads(ravine("rate", "--Q", 32, "--alpha", 1, "--beta", 0.9, "--json").out)
    assert data["noise_coefficient"] is None
    assert data["converges"]["additive_noise"] is False


def test_given_parameters_are_judged(ravine):
    shown = ravine("rate", "--Q", 8, "--alpha", 0.1, "--beta", -0.2, "--gamma", 0)
    assert "heavy ball: alpha = 0.1, beta = -0.2, gamma = 0" in shown.out
    assert "certain to converge" in " ".join(shown.out.split())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--mu", 0, "--L", 1], "mu must be positive and finite, got 0"),
        (["--mu", 2, "--L", 1], "mu must be at most L, got mu=2 with L=1"),
        (["--mu", "nan", "--L", 1], "mu must be positive and finite, got nan"),
        (["--mu", 1, "--L", "inf"], "L must be positive and finite, got inf"),
        (["--mu", 1], "L must be given, got none: add --L, or give --Q alone"),
        (["--Q", 0.5], "Q must be at least 1, got 0.5"),
        (["--Q", "nan"], "Q must be"),
        (["--Q", 8, "--mu", 1], "Q must be given alone"),
        (["--Q", 8, "--beta", 0.5], "alpha must be given with beta or gamma"),
        (["--Q", 8, "--alpha", -1], "alpha must be zero or more"),
        (["--Q", 8, "--L-max", 4], "L_max must be at least L, got L_max=4 with L=8"),
        (["--Q", 8, "--batch-size", 0], "batch_size must be"),
        (["--Q", "eight"], "Invalid value for '--Q'"),
        (["--width", 3], "No such option: --width"),
    ],
)
def test_bad_input_is_one_line(refused, arguments, line):
    assert line in refused("rate", *arguments)


def test_a_named_method_is_judged_at_its_published_parameters(ravine):
    shown = ravine("rate", "--Q", "100", "--method", "triple-momentum", "--json")
    data = json.loads(shown.out)
    assert data["method"]["name"] == "triple momentum"
    assert data["spectral_radius"] == pytest.approx(0.9)
    shown = ravine("rate", "--Q", "100", "--method", "aggmo")
    assert "aggregated momentum: G = [0.01, -0.0126" in shown.out


def test_a_named_method_has_no_other_parameters(ravine):
    shown = ravine("rate", "--Q", "100", "--method", "sgd", "--alpha", "0.1")
    assert shown.code == 2
    assert "method must be given without parameters" in shown.err
