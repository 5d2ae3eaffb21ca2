"""Runs of the same sweeps on both devices, for the tests of the GPU's kernels.

They run on a GPU where there is one, else in Numba's simulator, which has to be switched on before
Numba is imported: both devices are run in a process of their own. The simulator's threads wait for
each other in a busy loop, so they take turns a hundred times as often as Python's usually do.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from ravine.engine.device import missing_cuda
from ravine.engine.spec import Spec

SCRIPT = """
import json, sys
sys.setswitchinterval(5e-5)
import numpy as np
from ravine.engine.device import DeviceError
from ravine.engine.sweep import sweep

given = json.load(sys.stdin)
scope = {}
exec(given["problems"], scope)

def run(case, device):
    case = {"device": device} | case
    problem = scope[case.pop("problem")]
    alphas = np.array(case.pop("alphas")) / float(problem.curvature.L)
    try:
        with np.errstate(all="ignore"):
            found = sweep(problem, alphas, [0.6], seed=5, **case)
    except DeviceError as refused:
        return {}, str(refused)
    return {name: found[name].values.tolist() for name in found}, found.attrs["device"]

print(json.dumps({name: [run(case, device) for device in ("cpu", "cuda")]
                  for name, case in given["cases"].items()}))
"""


@pytest.fixture(scope="session")
def run_on_both():
    """Return a function of source that makes problems, and of cases, that runs these."""

    def run(problems, cases):
        environment = dict(os.environ)
        if missing_cuda() is not None:
            environment["NUMBA_ENABLE_CUDASIM"] = "1"
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input=json.dumps({"problems": problems, "cases": cases}),
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def agree():
    """Return a function that compares what both devices found, to a relative tolerance."""
    # Rates at a noise floor are slopes of level lines: there the tolerance is absolute.
    exact = ("outcome", "diverged_at", "rate_start", "rate_stop", "diverged_share")

    def compare(found, tolerance):
        (cpu, _), (gpu, _) = found
        assert cpu.keys() == gpu.keys()
        for variable, expected in cpu.items():
            got, want = np.array(gpu[variable], float), np.array(expected, float)
            if variable in exact:
                np.testing.assert_array_equal(got, want, variable)
            else:
                np.testing.assert_allclose(got, want, tolerance, tolerance * 1e-3, True, variable)

    return compare


@pytest.fixture
def spec():
    """Make the ``Spec`` of a small plane, 5 step sizes by 6 momenta, as ``sweep`` would."""

    def make(problem, **changes):
        # Of the batches where there are any: steps that are stable for each of them.
        batches = getattr(problem, "batch_curvatures", None)
        L = float(problem.curvature.L if batches is None else batches[:, 1].max())
        plain = {
            "problem": problem,
            "alphas": np.linspace(0.1, 1.2, 5) / L,
            "betas": np.linspace(-0.2, 0.8, 6),
            "steps": 60,
            "repeats": 2,
            "measures": ("rate",),
            "seed": 8,
            "start": problem.start,
        }
        return Spec(**plain | changes)

    return make
