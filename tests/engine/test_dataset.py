"""The dataset of a sweep names every variable and says what made it."""

import json
from itertools import permutations

import numpy as np
import pytest

from ravine.engine.dataset import Assembly, variable_dtype
from ravine.engine.repeats import MEASURES, variable_names
from ravine.engine.restart import Restart
from ravine.engine.schedule import Tail
from ravine.engine.spec import Spec
from ravine.problems import counterexample
from ravine.sampling import Sampling

PROBLEM = counterexample(1, 10, 4)


TILES = ((4, 6), (0, 4))


def dataset(tiles=TILES, **changes):
    """A plane of 2 x 3 pixels in tiles, filled with the numbers of the pixels."""
    plain = {
        "problem": PROBLEM,
        "alphas": np.array([0.1, 0.2]),
        "betas": np.array([0.0, 0.5, 0.9]),
        "steps": 10,
        "repeats": 2,
        "start": PROBLEM.start,
    }
    spec = Spec(**plain | changes)
    names = variable_names(spec.measures, spec.repeats)
    assembly = Assembly(spec, list(tiles))
    for first, last in tiles:
        assembly.keep((first, last), dict.fromkeys(names, np.arange(first, last, dtype=float)))

    return assembly.dataset()


@pytest.mark.parametrize("tiles", [TILES, *permutations(((0, 2), (2, 4), (4, 6)))])
def test_tiles_are_put_in_place_in_any_order_and_typed(tiles):
    data = dataset(tiles)
    for name in variable_names(MEASURES, 2):
        assert data[name].values.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert data[name].dtype == variable_dtype(name)
        assert data[name].attrs["long_name"]
    assert data["outcome"].dtype == np.int8
    assert data["rate_start"].dtype == np.int64


@pytest.mark.parametrize(
    ("changes", "attributes"),
    [
        ({}, {"batch": 1, "restart": "none", "schedule": "none", "sampling": "none"}),
        ({"batch": 3, "sampling": Sampling.IID}, {"batch": 3, "sampling": "iid"}),
        ({"restart": Restart.FULL}, {"restart": "full"}),
        ({"restart": 25}, {"restart": "25"}),
        ({"schedule": Tail(3, -0.5)}, {"schedule": "Tail(steps=3, beta=-0.5)"}),
        ({"schedule": np.array([0.1, 0.25])}, {"schedule": "[0.1, 0.25]"}),
        ({"gammas": np.array(0.3)}, {"method": "family (alpha, beta, gamma)"}),
    ],
)
def test_what_made_it_is_in_the_attributes(changes, attributes):
    made = dataset(**changes).attrs
    assert {name: made[name] for name in attributes} == attributes
    assert json.loads(made["problem_parameters"]) == {"mu": 1.0, "L": 10.0, "n": 4}
