import numpy as np

from ravine.theory.bracket import Bracket


def test_relative_width_is_taken_to_the_lower_bound() -> None:
    bracket = Bracket(np.array([2.0, 0.0, 0.0]), np.array([3.0, 0.0, 1.0]))
    assert bracket.width.tolist() == [1.0, 0.0, 1.0]
    assert bracket.relative_width.tolist() == [0.5, 0.0, np.inf]


def test_scalars_stay_scalars() -> None:
    bracket = Bracket(np.float64(1.0), np.float64(1.5))
    assert isinstance(bracket.relative_width, np.float64)
