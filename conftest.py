"""Settings of the whole suite, doctests among it."""

import gc
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# No deadline and no complaint of slow draws: how long an example takes says how busy the machine
# is. In CI the examples are the same every time, so that a failure there is that of the change;
# elsewhere new ones are tried.
settings.register_profile(
    "ravine",
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("ravine")

TOGETHER = {
    "src/ravine/engine": "kernels",
    "tests/engine/draws": "kernels",
    "tests/engine/kernels": "kernels",
    "tests/engine/cuda": "kernels",
    "tests/cli/test_reproduce.py": "reproduction",
    "tests/diagnosis": "diagnosis",
    "tests/engine/storage": "storage",
    "tests/engine/test_cluster.py": "cluster",
    "tests/figures": "figures",
    "tests/test_report.py": "report",
    "tests/reproduction": "reproduction",
    "tests/web": "web",
}
"""Tests that one worker runs: they share a diagnosis, a browser, a cluster or compiled kernels.

Another worker would make these once more. Kernels are kept on disk, but the parts that they are
made of are not, so that a kernel takes half the time where others were compiled before.
"""


def group_of(test: str) -> str:
    """The group of a test, itself where any worker may run it."""
    file = test.split("::")[0]
    for start, group in TOGETHER.items():
        if file == start or file.startswith(f"{start}/"):
            return group

    return test


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand the tests of a group to one worker, the largest groups first."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return GroupScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Compare devices last: in processes of their own, which find the kernels that are on disk."""
    items.sort(key=lambda item: "tests/engine/cuda" in item.path.as_posix())


def pytest_collection_finish() -> None:
    """Leave the half a million objects of all the imports out of every later garbage collection."""
    gc.collect()
    gc.freeze()
