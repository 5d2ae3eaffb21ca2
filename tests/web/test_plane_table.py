import numpy as np
import pytest

import ravine
from ravine.theory.ladder.rungs import RUNGS
from ravine.web.plane import FINE
from ravine.web.plane_table import plane_csv
from ravine.web.view import View


def test_the_table_to_take_away_holds_the_library_s_numbers():
    text = plane_csv(View(Q=8.0, colour="floor", sigma2=0.5))
    head, *rows = text.splitlines()
    assert head == ",".join(["alpha_L", "beta", *(rung.key for rung in RUNGS), "floor"])
    assert len(rows) == FINE**2
    row = dict(zip(head.split(","), map(float, rows[FINE * 150 + 40].split(",")), strict=True))
    method = ravine.Method(row["alpha_L"] / 8.0, row["beta"])
    rungs = ravine.ladder(ravine.Curvature(1, 8), method)
    assert row["worst_case_rate"] == pytest.approx(rungs.worst_case_rate, rel=1e-7)
    assert row["commuting_rate"] == pytest.approx(float(rungs.commuting.upper), rel=1e-7)
    expected = 0.5 * ravine.exact_noise_coefficient(ravine.Curvature(1, 8), method)
    np.testing.assert_allclose(row["floor"], expected, rtol=1e-6)
