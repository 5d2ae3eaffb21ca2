"""Sweeps on the GPU give the numbers of the CPU, up to rounding.

They run on a GPU where there is one, else in Numba's simulator, which has to be switched on before
Numba is imported: both devices are run in a process of their own.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from ravine.engine.device import missing_cuda

# The normals are single-precision numbers, whose last digit (6e-8) depends on which products and
# sums the device fuses; 16 draws and more add up to 1e-6. A state in single precision rounds every
# step: 24 steps of 5 coordinates. Without noise only double-precision rounding is left.
CASES = {
    "independent": ({"noise": "independent", "sigma2": 1e-3}, 2e-6),
    "independent single": ({"noise": "independent", "sigma2": 1e-3, "dtype": "float32"}, 2e-5),
    "shared": ({"noise": "shared", "sigma2": 1e-3, "repeats": 2}, 2e-6),
    "shared single": ({"noise": "shared", "sigma2": 1e-3, "dtype": "float32"}, 2e-5),
    "none": ({}, 1e-12),
    "general look-ahead": ({"gammas": 0.2, "sigma2": 1e-3}, 2e-6),
    "sup-norm": ({"sigma2": 1e-3, "measure": ["floor_sup", "floor"], "steps": 40}, 2e-6),
    "wide bins": ({"sigma2": 1e-3, "steps": 80, "alphas": [0.5]}, 2e-6),
    "two coordinates a thread": ({"d": 9, "sigma2": 1e-3, "steps": 10, "alphas": [0.5]}, 2e-6),
}
SCRIPT = """
import json, sys
import numpy as np
from ravine.engine.sweep import sweep
from ravine.problems import worst_case_quadratic

def run(case, device):
    case = dict(case)
    problem = worst_case_quadratic(Q=16, d=case.pop("d", 5))
    alphas = np.array(case.pop("alphas", [0.5, 2.6])) / float(problem.curvature.L)
    with np.errstate(all="ignore"):
        found = sweep(problem, alphas, [0.6], steps=case.pop("steps", 20), seed=5, device=device,
                      **case)
    named = {name: found[name].values.tolist() for name in found}
    return named, found.attrs["device"]

cases = json.load(sys.stdin)
print(json.dumps({name: [run(case, device) for device in ("cpu", "cuda")]
                  for name, case in cases.items()}))
"""


@pytest.fixture(scope="module")
def found():
    environment = dict(os.environ)
    if missing_cuda() is not None:
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    cases = {name: case for name, (case, _) in CASES.items()}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_cpu(found, name):
    (cpu, _), (gpu, _) = found[name]
    assert cpu.keys() == gpu.keys()
    for variable, expected in cpu.items():
        got, want = np.array(gpu[variable], float), np.array(expected, float)
        if variable in ("outcome", "diverged_at", "rate_start", "rate_stop", "diverged_share"):
            np.testing.assert_array_equal(got, want, variable)
        else:
            # The rate of a run at its noise floor is the slope of a level line: absolute there.
            np.testing.assert_allclose(got, want, CASES[name][1], CASES[name][1] * 1e-3, True)


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
