"""A process with Numba's CUDA simulator that runs pieces of code, one for all tests of the GPU."""

import json
import os
import subprocess
import sys

import pytest

LOOP = """
import json, sys
sys.setswitchinterval(5e-5)
import numpy as np
from numba import cuda

for line in sys.stdin:
    scope = {"np": np, "cuda": cuda}
    try:
        with np.errstate(all="ignore"):
            exec(json.loads(line), scope)
        answer = {"result": scope["result"]}
    except BaseException as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture(scope="session")
def in_simulator():
    """Return a function that runs code in the simulator, and returns what it calls ``result``."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(
        [sys.executable, "-c", LOOP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:

        def run(code):
            process.stdin.write(json.dumps(code) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert "error" not in answer, answer["error"]
            return answer["result"]

        yield run
