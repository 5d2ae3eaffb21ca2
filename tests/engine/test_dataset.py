import numpy as np

from ravine.engine.dataset import reduce_repeats
from ravine.engine.measures import FIELDS


def fields(**given):
    shape = next(iter(given.values())).shape
    return dict.fromkeys(FIELDS, np.full(shape, np.nan)) | given


def test_standard_errors_are_those_of_the_mean():
    values = np.array([[1.0, 2.0, 4.0], [1.0, np.nan, 3.0], [np.nan, np.nan, 2.0]])
    found = reduce_repeats(fields(rate=values), ("rate",), 3)
    np.testing.assert_allclose(found["rate"], [7 / 3, 2.0, 2.0])
    expected = [np.std([1, 2, 4], ddof=1) / np.sqrt(3), np.sqrt(2) / np.sqrt(2), np.nan]
    np.testing.assert_allclose(found["rate_se"], expected)


def test_an_infinite_mean_has_no_standard_error():
    values = np.array([[1.0, 2.0, np.inf], [1.0, 2.0, 3.0]])
    found = reduce_repeats(fields(final_error=values), ("final_error",), 3)
    assert found["final_error"][0] == np.inf
    assert np.isnan(found["final_error_se"][0])
    assert found["final_error_se"][1] > 0
