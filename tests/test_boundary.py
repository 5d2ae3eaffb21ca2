from __future__ import annotations

import numpy as np
import pytest

import ravine
from ravine.arguments import WrongType
from ravine.boundary import public
from ravine.curvature import Curvature


@public
def middle(curvature: Curvature, weight: float = 0.5, *, quiet: bool = False) -> float:
    """A function with an object, a number and a flag."""
    return float(curvature.mu + weight * (curvature.L - curvature.mu))


def test_what_is_right_passes():
    assert middle(Curvature(1, 3)) == 2.0
    assert middle(curvature=Curvature(1, 3), weight=1.0, quiet=np.True_) == 3.0


@pytest.mark.parametrize("wrong", [None, 1.0, "mu", [1, 2], np.ones(2), Curvature, np])
def test_an_object_of_another_kind_is_refused_by_position_and_by_name(wrong):
    line = r"curvature must be a Curvature, got .*: pass ravine.Curvature\(mu, L\)"
    with pytest.raises(WrongType, match=line):
        middle(wrong)
    with pytest.raises(WrongType, match=line):
        middle(curvature=wrong)


def test_flags_and_unknown_names_are_refused():
    with pytest.raises(WrongType, match="quiet must be True or False, got int 1"):
        middle(Curvature(1, 3), quiet=1)
    with pytest.raises(WrongType, match=r"wieght must be an argument of middle.*weight"):
        middle(Curvature(1, 3), wieght=1.0)


def test_constructors_are_named_by_their_class():
    with pytest.raises(WrongType, match=r"Mu must be an argument of Curvature.*mu"):
        Curvature(Mu=1, L=2)


def test_numpy_stays_quiet_inside():
    @public
    def overflow() -> float:
        return float(np.float64(1e308) * 10.0)

    assert overflow() == np.inf


def test_every_public_function_stands_at_the_boundary():
    """A new one is decorated, or this test says so."""
    functions = [getattr(ravine, name) for names in ravine._HOMES.values() for name in names]
    functions += [
        getattr(module, name)
        for module in (
            ravine.bounds,
            ravine.finite_sums,
            ravine.noise,
            ravine.rates,
            ravine.problems,
        )
        for name in module.__all__
    ]
    plain = [
        f.__name__ for f in functions if type(f) is type(middle) and not hasattr(f, "__wrapped__")
    ]
    assert plain == []
