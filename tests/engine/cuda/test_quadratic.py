"""Quadratics on the GPU give the numbers of the CPU, up to rounding."""

import numpy as np
import pytest

# The normals are single-precision numbers, whose last digit (6e-8) depends on which products and
# sums the device fuses; 16 draws and more add up to 1e-6. A state in single precision rounds every
# step: 24 steps of 5 coordinates. Without noise only double-precision rounding is left.
CASES = {
    "independent": ({"noise": "independent", "sigma2": 1e-3}, 2e-6),
    "independent single": ({"noise": "independent", "sigma2": 1e-3, "dtype": "float32"}, 2e-5),
    "shared": ({"noise": "shared", "sigma2": 1e-3, "repeats": 2}, 2e-6),
    "shared single": ({"noise": "shared", "sigma2": 1e-3, "dtype": "float32"}, 2e-5),
    "shared look-ahead": ({"noise": "shared", "sigma2": 1e-3, "gammas": 0.2, "steps": 10}, 2e-6),
    "shared sup-norm": (
        {"noise": "shared", "sigma2": 1e-3, "measure": ["floor_sup", "floor"], "steps": 40}
        | {"alphas": [0.5], "problem": "two"},
        2e-6,
    ),
    "none": ({}, 1e-12),
    "general look-ahead": ({"gammas": 0.2, "sigma2": 1e-3}, 2e-6),
    "sup-norm": ({"sigma2": 1e-3, "measure": ["floor_sup", "floor"], "steps": 40}, 2e-6),
    "wide bins": ({"sigma2": 1e-3, "steps": 80, "alphas": [0.5]}, 2e-6),
    "two coordinates a thread": (
        {"problem": "nine", "sigma2": 1e-3, "steps": 10, "alphas": [0.5]},
        2e-6,
    ),
}
PROBLEMS = """
from ravine.problems import worst_case_quadratic

two, five = worst_case_quadratic(Q=16, d=2), worst_case_quadratic(Q=16, d=5)
nine = worst_case_quadratic(Q=16, d=9)
"""


@pytest.fixture(scope="module")
def found(run_on_both):
    usual = {"problem": "five", "alphas": [0.5, 2.6], "steps": 20}
    return run_on_both(PROBLEMS, {name: usual | case for name, (case, _) in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_cpu(found, agree, name):
    agree(found[name], CASES[name][1])


def test_result_says_where_it_ran(found):
    (_, cpu), (_, gpu) = found["none"]
    assert cpu == "cpu"
    assert gpu.startswith("cuda (")


def test_cases_are_not_trivial(found):
    """One pixel stays bounded and one diverges; draws differ between repeats and noises."""
    outcomes = np.array(found["independent"][0][0]["outcome"])
    assert outcomes[1, 0] == 3
    assert outcomes[0, 0] != 3
    floors = [found[name][1][0]["floor"][0][0] for name in ("independent", "shared", "none")]
    assert len(set(floors)) == 3
