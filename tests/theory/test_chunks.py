"""Pieces give the numbers of the whole, whatever the shape."""

import numpy as np
import pytest

from ravine.theory.chunks import PIXELS, by_chunks


def formula(a, b, c):
    return a * b + c, np.sin(a) - c


@pytest.mark.parametrize(
    "shapes",
    [
        ((), (), ()),
        ((3, 1), (4,), ()),
        ((301, 1), (1, 299), ()),
        ((2, 1, 1), (1, 150, 1), (151,)),
        ((3 * PIXELS + 17,), (), (3 * PIXELS + 17,)),
    ],
)
def test_same_as_in_one_go(shapes):
    rng = np.random.default_rng(0)
    parameters = [rng.normal(size=shape)[()] for shape in shapes]
    whole = np.broadcast_shapes(*shapes)
    pieces = by_chunks(formula, whole, *parameters)
    for piece, value in zip(pieces, formula(*parameters), strict=True):
        assert piece.shape == whole
        np.testing.assert_array_equal(piece, np.broadcast_to(value, whole))


@pytest.mark.parametrize("size", [5, PIXELS + 5])
def test_results_can_be_written_to(size):
    (result, _) = by_chunks(formula, (size,), np.ones(size), np.float64(2.0), np.float64(3.0))
    result[0] = 7.0
    assert result[0] == 7.0
    assert result[1] == 5.0
