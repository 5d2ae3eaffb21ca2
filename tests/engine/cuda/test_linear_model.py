"""Linear models on the GPU give the numbers of the CPU, up to rounding."""

import numpy as np
import pytest

PROBLEMS = """
import numpy as np
from ravine.problems import from_data

rng = np.random.default_rng(3)
X = rng.standard_normal((10, 4))
logistic = from_data(X, X[:, 0] + rng.standard_normal(10) > 0, loss="logistic", l2=0.1)
softmax = from_data(X, np.arange(10) % 3, loss="multinomial", l2=0.05, batch_size=3)
squared = from_data(X, X[:, 0] + rng.standard_normal(10), loss="squared", l2=0.1, batch_size=5)
W = rng.standard_normal((8, 34))
many = from_data(W, W[:, 0] + rng.standard_normal(8), loss="squared", l2=0.1, batch_size=4)
V = rng.standard_normal((6, 513))
wide = from_data(V, V[:, 0], loss="squared", l2=1.0, batch_size=3)
"""
# As for finite sums. Normals differ by 6e-8, steps are up to 40 times too long, and the standard
# error of two runs is a difference, which loses another digit.
DOUBLE, NORMAL = 1e-12, 2e-5
CASES = {
    "logistic": ({"problem": "logistic"}, DOUBLE),
    "logistic, noise": ({"problem": "logistic", "sigma2": 0.01, "noise": "shared"}, NORMAL),
    "multinomial": ({}, DOUBLE),
    "multinomial, noise": ({"sigma2": 0.01, "repeats": 2}, NORMAL),
    "sup-norm": ({"sigma2": 0.01, "measure": ["floor_sup", "floor"]}, NORMAL),
    "schedule": ({"schedule": [0.05 * k for k in range(12)]}, DOUBLE),
    "iid": ({"sampling": "iid"}, DOUBLE),
    "reshuffling": ({"sampling": "reshuffle", "batch": 2, "sigma2": 0.01}, NORMAL),
    "squared": ({"problem": "squared", "sampling": "iid"}, DOUBLE),
    "squared, whole": ({"problem": "squared"}, DOUBLE),
    "squared, many features": ({"problem": "many", "sampling": "iid", "steps": 6}, DOUBLE),
    # In single precision: 12 steps of 12 weights, each the sum of 10 rows.
    "single, whole": ({"sigma2": 0.01, "dtype": "float32"}, 2e-5),
    "single, iid": ({"sampling": "iid", "sigma2": 0.01, "dtype": "float32"}, 2e-5),
    "restart, logistic": ({"problem": "logistic", "restart": "full"}, DOUBLE),
    **{
        f"restart {when}": ({"sampling": "iid", "alphas": [6.0, 40.0], "restart": when}, DOUBLE)
        for when in (None, "gradient", "sampled", "full", 3)
    },
}


WIDE = {
    "wide": {"problem": "wide", "steps": 2, "sampling": "iid"},
    "wide, whole": {"problem": "wide", "steps": 2},
}


@pytest.fixture(scope="module")
def found(run_on_both):
    usual = {"problem": "softmax", "alphas": [0.9, 40.0], "steps": 12}
    cases = {name: case for name, (case, _) in CASES.items()} | WIDE
    return run_on_both(PROBLEMS, {name: usual | case for name, case in cases.items()})


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_cpu(found, agree, name):
    agree(found[name], CASES[name][1])


def test_cases_are_not_trivial(found):
    """One pixel diverges; draws, noise and restarts change the result."""
    assert np.array(found["logistic"][1][0]["outcome"]).ravel()[1] == 3
    names = [name for name in CASES if CASES[name][0].get("problem", "softmax") == "softmax"]
    floors = {name: str(found[name][1][0]["floor"]) for name in names}
    assert len(set(floors.values())) == len(floors), floors
    assert found["multinomial"][1][1].startswith("cuda (")


def test_what_does_not_fit_a_thread_is_refused(found):
    for name, what in (
        ("wide", "a linear model of 513 weights, more than 512"),
        ("wide, whole", "a finite sum of 513 coordinates, more than 512"),
    ):
        (_, cpu), (_, refused) = found[name]
        assert cpu == "cpu"
        assert refused.endswith(f"'cuda' for {what}: use device='cpu'")
