import contextlib
import io
import shlex

import numpy as np
import pytest

import ravine
from ravine.cli import main
from ravine.web.code import command_line, python_code
from ravine.web.readout import readout
from ravine.web.view import Example, View

VIEWS = [
    View(),
    View(Q=8.0, step=0.7, beta=-0.3, K=40, sigma2=0.0),
    View(Q=16.0, step=1.2, beta=0.4, gamma=0.0, example=Example.ODD, n=7, K=30, seed=3),
    View(Q=32.0, example=Example.TURNING, K=20),
    View(Q=32.0, ratio=4.0, batch=16, K=20),
]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.query or "usual")
def test_the_code_runs_and_says_what_the_page_says(view):
    printed = io.StringIO()
    scope: dict[str, object] = {}
    with contextlib.redirect_stdout(printed):
        exec(compile(python_code(view), "page", "exec"), scope)
    lines = printed.getvalue().splitlines()
    assert lines[0] == readout(view).verdict
    trace = scope["trace"]
    assert lines[1].endswith(str(trace.errors[-1]))
    assert np.isfinite(trace.errors).all()
    assert trace.steps == view.K


def test_the_command_line_prints_the_same_rates(capsys):
    view = View(Q=8.0, step=0.7, beta=0.2)
    words = shlex.split(command_line(view))
    assert words[0] == "ravine"
    with pytest.raises(SystemExit) as ended:
        main(words[1:])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    rungs = ravine.ladder(view.curvature, view.method)
    assert f"{rungs.worst_case_rate:.6f}" in printed
    for row in readout(view).rows:
        assert row.text in printed
