"""The limit of a direction is where its noise just feeds itself, by the library's variance."""

import math

import pytest

import ravine
from ravine.torch.reading import stability_limit


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9, -0.3])
@pytest.mark.parametrize("look_ahead", [True, False])
def test_the_limit_is_where_the_noise_feeds_itself(momentum, look_ahead):
    first, second = 2.0, 7.0
    gamma = momentum if look_ahead else 0.0
    limit = stability_limit(first, second, momentum, gamma)
    variance = ravine.stationary_variance(first, ravine.Method(limit, momentum, gamma)).y
    assert float(variance) * (second - first**2) == pytest.approx(1.0, rel=1e-9)
    assert stability_limit(-1.0, 1.0, momentum, gamma) == math.inf
