"""The table of rungs: complete, told apart, and in order for all parameters."""

import re
from itertools import pairwise

import numpy as np

import ravine
from ravine import Curvature, Method, nesterov
from ravine.theory.bracket import Bracket
from ravine.theory.ladder.rungs import RUNGS


def test_no_rung_exceeds_the_next():
    rng = np.random.default_rng(0)
    Q = 10.0 ** rng.uniform(0.0, 4.0, 300)
    curvature = Curvature(1.0, Q)
    method = Method(rng.uniform(0.0, 3.0, 300) / Q, rng.uniform(-1.2, 1.2, 300))
    rates = [rung.rate(curvature, method) for rung in RUNGS]
    for low, high in pairwise(rates):
        assert np.all(low.lower <= low.upper)
        # Rungs are computed on different paths: their last digits may differ.
        assert np.all(low.upper <= high.upper * (1.0 + 1e-9))


def test_a_key_is_the_public_function():
    for rung in RUNGS:
        assert getattr(ravine, rung.key, rung.function) is rung.function
        assert rung.function.__doc__


def test_only_a_bracketed_rung_has_two_bounds():
    curvature = Curvature(1, 32)
    for rung in RUNGS:
        value = rung.function(curvature, nesterov(curvature))
        assert isinstance(value, Bracket) == rung.bracketed


def test_rungs_are_told_apart():
    for part in ("key", "name", "symbol", "holds_for", "region", "colour", "contour"):
        values = [getattr(rung, part) for rung in RUNGS]
        assert len(set(values)) == len(RUNGS), part
    for rung in RUNGS:
        assert re.fullmatch("#[0-9a-f]{6}", rung.colour)
        assert re.fullmatch("#[0-9a-f]{6}", rung.contour[0])
