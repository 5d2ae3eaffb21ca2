"""Finite sums on the GPU give the numbers of the CPU, up to rounding."""

import numpy as np
import pytest

PROBLEMS = """
import numpy as np
from ravine.problems import QuadraticSum, counterexample

rng = np.random.default_rng(0)
A = rng.standard_normal((5, 3, 3))
hessians = A @ A.transpose(0, 2, 1) + 0.3 * np.eye(3)
slopes = 0.1 * rng.standard_normal((5, 3))
dense = QuadraticSum(hessians, gradients=slopes - slopes.mean(axis=0))
rested = QuadraticSum(hessians)
shared = counterexample(mu=0.05, L=100, n=6)
wide = QuadraticSum(np.stack([np.eye(513), 2 * np.eye(513)]))
"""
# Rounding in double precision: 40 steps of 3 coordinates with numbers of order 1, and logarithms in
# the rates. Normals are single-precision numbers (6e-8), which add up over the steps.
DOUBLE, NORMAL, SINGLE = 1e-12, 2e-6, 2e-5
CASES = {
    "iid": ({"sampling": "iid"}, DOUBLE),
    "iid, batch": ({"sampling": "iid", "batch": 2}, DOUBLE),
    "iid without repeat": ({"sampling": "iid-no-repeat"}, DOUBLE),
    "iid without repeat, batch": ({"sampling": "iid-no-repeat", "batch": 2}, DOUBLE),
    "cyclic": ({"sampling": "cyclic", "batch": 2}, DOUBLE),
    "reshuffling": ({"sampling": "reshuffle"}, DOUBLE),
    "reshuffling, batch": ({"sampling": "reshuffle", "batch": 2}, DOUBLE),
    "reshuffling without repeat": ({"sampling": "reshuffle-no-repeat", "batch": 2}, DOUBLE),
    "eigenvectors in common": ({"problem": "shared", "sampling": "reshuffle"}, DOUBLE),
    "single precision": ({"sampling": "iid", "dtype": "float32"}, SINGLE),
    "noise": ({"sampling": "iid", "sigma2": 1e-3, "repeats": 2}, NORMAL),
    "shared noise": ({"sampling": "iid", "sigma2": 1e-3, "noise": "shared"}, NORMAL),
    "sup-norm": ({"sampling": "iid", "measure": ["floor_sup", "floor"], "steps": 40}, DOUBLE),
    "no sampling": ({"problem": "rested"}, DOUBLE),
    "schedule": (
        {"problem": "rested", "sampling": "iid", "schedule": [0.05 * k for k in range(20)]},
        DOUBLE,
    ),
    "look-ahead": (
        {"problem": "rested", "gammas": 0.2, "schedule": [0.05 * k for k in range(20)]},
        DOUBLE,
    ),
    **{
        f"restart {when}": ({"sampling": "iid", "alphas": [0.9, 1.8], "restart": when}, DOUBLE)
        for when in (None, "gradient", "sampled", "full", 5)
    },
}


WIDE = {
    "wide": {"problem": "wide", "steps": 2},
    "wide, auto": {"problem": "wide", "steps": 2, "device": "auto"},
}


@pytest.fixture(scope="module")
def found(run_on_both):
    usual = {"problem": "dense", "alphas": [0.3, 3.2], "steps": 20}
    cases = {name: case for name, (case, _) in CASES.items()} | WIDE
    return run_on_both(PROBLEMS, {name: usual | case for name, case in cases.items()})


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_cpu(found, agree, name):
    agree(found[name], CASES[name][1])


def test_cases_are_not_trivial(found):
    """One pixel diverges; rules, batches, noise and restarts all change the result."""
    assert np.array(found["iid"][1][0]["outcome"]).ravel()[1] == 3
    named = [name for name in CASES if CASES[name][0].get("problem", "dense") == "dense"]
    floors = {name: str(found[name][1][0]["floor"]) for name in named}
    assert len(set(floors.values())) == len(floors)
    assert found["iid"][1][1].startswith("cuda (")


def test_what_does_not_fit_a_thread_is_refused(found):
    line = "'cuda' for a finite sum of 513 coordinates, more than 512: use device='cpu'"
    assert found["wide"][0][1] == "cpu"
    assert line in found["wide"][1][1]
    assert found["wide, auto"][1][1] == "cpu"
