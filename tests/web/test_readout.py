import pytest

import ravine
from ravine.theory.ladder.rungs import RUNGS
from ravine.web.readout import at_cursor, digits, readout
from ravine.web.view import View


def test_every_rung_has_its_number_and_tone():
    view = View(Q=8.0, step=0.7, beta=0.6, ratio=2.0, batch=4)
    rungs = ravine.ladder(view.curvature, view.method, L_max=16.0, batch_size=4)
    known = readout(view)
    assert [row.text for row in known.rows] == [
        digits(float(rungs.rates[rung.key].upper)) for rung in RUNGS
    ]
    assert [row.tone for row in known.rows] == [
        "good" if float(rungs.rates[rung.key].upper) < 1.0 else "bad" for rung in RUNGS
    ]
    assert known.verdict == rungs.verdict


def test_the_cursor_s_numbers_are_those_of_its_place():
    there = readout(View(Q=8.0, step=0.3, beta=0.2))
    assert at_cursor(View(Q=8.0), 0.3, 0.2) == [row.text for row in there.rows]


def test_a_cursor_outside_has_no_numbers():
    assert at_cursor(View(), float("nan"), 0.2) == []


@pytest.mark.parametrize(("value", "text"), [(0.5, "0.500000"), (2e7, "2e+07")])
def test_digits(value, text):
    assert digits(value) == text
