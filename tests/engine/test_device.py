"""Where a sweep runs, and what is said when it cannot."""

import importlib.util

import numpy as np
import pytest

from ravine import Curvature
from ravine.engine import device
from ravine.engine.spec import Spec
from ravine.engine.sweep import sweep
from ravine.problems import from_functions, worst_case_quadratic

PROBLEM = worst_case_quadratic(Q=16, d=4)


def spec(problem=PROBLEM):
    """A plane of one pixel."""
    one = np.array([0.5])
    return Spec(problem=problem, alphas=one, betas=one, steps=10, start=problem.start)


@pytest.fixture
def without_package(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        device, "find_spec", lambda name: None if name == "numba_cuda" else find(name)
    )
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)


@pytest.mark.usefixtures("without_package")
def test_missing_package_is_named_with_its_remedy():
    with pytest.raises(
        ValueError, match=r"numba-cuda is not installed.*pip install 'ravine\[cuda\]'"
    ):
        sweep(PROBLEM, [0.5], [0.5], steps=10, device="cuda")


@pytest.mark.usefixtures("without_package")
def test_auto_falls_back_and_says_so():
    found = sweep(PROBLEM, [0.5], [0.5], steps=10, device="auto")
    assert found.attrs["device"] == "cpu"


def test_missing_gpu_is_named(monkeypatch):
    monkeypatch.setattr(device, "missing_cuda", lambda: "no NVIDIA GPU was found")
    with pytest.raises(device.DeviceError, match="no NVIDIA GPU was found"):
        device.choose_device("cuda", spec())


def test_package_that_does_not_import_is_named(monkeypatch):
    def broken(name):
        raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    monkeypatch.setattr(device, "find_spec", lambda name: object())
    monkeypatch.setattr(device, "import_module", broken)
    assert "row_stack" in device.missing_cuda()


def test_auto_takes_a_gpu_that_is_there(monkeypatch):
    monkeypatch.setattr(device, "missing_cuda", lambda: None)
    monkeypatch.setattr(device, "import_module", lambda name: Complete)
    assert device.choose_device("auto", spec()) == "cuda"
    assert device.choose_device("cuda", spec()) == "cuda"


class Complete:
    """A kernel on the GPU that can do all that the processor's does."""

    @staticmethod
    def lacking(spec):
        return None


class Lacking:
    """A kernel on the GPU that lacks something."""

    @staticmethod
    def lacking(spec):
        return "batch=7, more than 4"


def test_what_the_gpu_lacks_is_named(monkeypatch):
    monkeypatch.setattr(device, "missing_cuda", lambda: None)
    monkeypatch.setattr(device, "import_module", lambda name: Lacking)
    with pytest.raises(device.DeviceError, match=r"'cuda' for batch=7.*use device='cpu'"):
        device.choose_device("cuda", spec())
    assert device.choose_device("auto", spec()) == "cpu"


def test_a_gradient_in_python_is_refused(monkeypatch):
    monkeypatch.setattr(device, "missing_cuda", lambda: None)
    own = from_functions(lambda x: x, dimension=1, curvature=Curvature(1.0, 1.0), minimiser=[0.0])
    with pytest.raises(
        device.DeviceError, match=r"'cuda' for FunctionSum, which runs step by step.*: use device"
    ):
        sweep(own, [0.5], [0.5], steps=10, device="cuda")


def test_unknown_name_is_refused():
    with pytest.raises(ValueError, match="cpu, cuda, auto"):
        sweep(PROBLEM, [0.5], [0.5], steps=10, device="tpu")
