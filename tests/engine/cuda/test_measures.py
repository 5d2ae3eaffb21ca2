"""Which bin a step falls into, worked out beforehand for the GPU."""

import numpy as np
import pytest

from ravine.engine.cuda.measures import batches, bin_levels, bins_of_steps
from ravine.engine.measures import bin_edges


@pytest.mark.parametrize("steps", [1, 63, 64, 65, 1000])
def test_every_step_has_the_bin_of_its_edges(steps):
    edges = bin_edges(steps)
    found = bins_of_steps(edges)
    assert len(found) == steps + 1
    for step in range(1, steps + 1):
        b = found[step]
        assert edges[b] < step <= edges[b + 1]
    assert found[0] == 0


def test_levels_are_the_logarithms_of_the_widths():
    # Bins are 1 step wide up to 64, 2 up to 128, 4 up to 256 and 8 or more beyond: chunks of 8.
    levels = bin_levels(600, 8)
    expected = [0] * 8 + [1] * 8 + [2] * 16 + [3] * 43
    assert levels.tolist() == expected


def test_launches_cover_all_trajectories(monkeypatch):
    monkeypatch.setattr("ravine.engine.cuda.measures._ROOM", 8 * 10 * 4)
    assert list(batches(10, 10)) == [(0, 4), (4, 8), (8, 10)]
    assert list(batches(2, 10**9)) == [(0, 1), (1, 2)]
    assert np.concatenate([range(*b) for b in batches(10, 10)]).tolist() == list(range(10))
