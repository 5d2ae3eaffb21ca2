"""What can be set: ranges, addresses, presets, and the code for exactly what is shown."""

import contextlib
import io
import shlex
from urllib.parse import parse_qsl

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ravine
from ravine.cli import main
from ravine.sampling import Sampling
from ravine.theory.ladder.rungs import RUNGS
from ravine.web.answers import command_line, python_code, rates
from ravine.web.view import (
    CONTROLS,
    PRESETS,
    QUANTITIES,
    RIGHT,
    Axis,
    Example,
    Tab,
    View,
    parse,
    preset_of,
)


def from_query(query):
    """The view that an address holds, as the page sends it."""
    return parse(dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True)))


@given(
    Q=st.floats(1.001, 1e6),
    step=st.floats(1e-3, RIGHT),
    beta=st.floats(-1.0, 1.0),
    gamma=st.none() | st.floats(-2.0, 2.0),
    sigma2=st.just(0.0) | st.floats(1e-6, 100.0),
    K=st.integers(1, 5000),
    sampling=st.sampled_from(Sampling),
    example=st.sampled_from(Example),
    axis=st.sampled_from(Axis),
    tab=st.sampled_from(Tab),
    colour=st.sampled_from(["regions", *QUANTITIES]),
)
def test_the_address_holds_everything(**settings):
    view = View(**settings)
    assert from_query(view.query) == view


def test_what_is_usual_is_left_out():
    assert View().query == ""
    assert View(Q=8.0).query == "Q=8.0"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Q", "0.5"),
        ("Q", "<b>"),
        ("K", "2.5"),
        ("beta", "nan"),
        ("beta", "1.5"),
        ("step", "2.6"),
        ("sigma2", "-1"),
        ("sampling", "never"),
        ("colour", "red"),
        ("gamma", "7"),
        ("evil", "<script>"),
        ("__class__", "1"),
    ],
)
def test_a_wrong_setting_of_an_address_changes_nothing(name, value):
    assert from_query(f"?Q=8&{name}={value}".replace("?Q=8&Q=", "?Q=")) in (View(Q=8.0), View())


def test_a_number_out_of_range_names_the_range():
    with pytest.raises(ValueError, match="a number from 0 to 100"):
        CONTROLS["sigma2"].read("-1")
    assert CONTROLS["sigma2"].read("0") == 0.0


def test_scales_that_span_decades_have_a_logarithmic_slider():
    for name in ("Q", "sigma2", "K", "n", "ratio", "batch"):
        control = CONTROLS[name]
        assert control.slider == "log"
        assert control.low <= control.first < control.high


@pytest.mark.parametrize(
    ("view", "hidden"),
    [
        (View(), {"n", "sigma2", "K", "sampling"}),
        (View(example=Example.NOISE), {"n", "sampling"}),
        (View(example=Example.INCONSISTENT), {"sigma2"}),
        (View(colour="error"), {"n", "sampling"}),
        (View(colour="sum"), {"sigma2", "K"}),
    ],
    ids=lambda value: value.query if isinstance(value, View) else "",
)
def test_what_does_nothing_is_hidden(view, hidden):
    assert {*CONTROLS, "sampling"} - {*view.active} == hidden


def test_what_stands_in_a_box_is_short_and_means_the_same():
    assert View().typed["beta"] == "0.699558"
    assert View(Q=1.00123456789).typed["Q"] == "1.00123"
    assert parse(View(seed=12345678).typed) == View(seed=12345678, beta=0.699558)


@pytest.mark.parametrize("key", PRESETS)
def test_a_preset_is_known_by_its_settings_until_one_is_changed(key):
    view = PRESETS[key].applied(View())
    assert PRESETS[preset_of(view)].applied(View()) == view
    moved = parse(view.typed | {"beta": "0.123"})
    assert preset_of(moved) == ""


def test_every_rung_is_a_quantity():
    for rung in RUNGS:
        values = QUANTITIES[rung.key].values(View(), View().method)
        assert values == rung.rate(View().curvature, View().method).upper


VIEWS = [
    View(),
    View(Q=8.0, step=0.7, beta=-0.3, K=40, sigma2=0.0, example=Example.NOISE),
    View(Q=16.0, step=1.2, beta=0.4, gamma=0.0, example=Example.INCONSISTENT, n=7, K=30, seed=3),
    View(Q=32.0, ratio=4.0, batch=16),
]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.query or "usual")
def test_the_code_runs_and_prints_the_ladder_and_the_run(view):
    printed = io.StringIO()
    scope: dict[str, object] = {}
    with contextlib.redirect_stdout(printed):
        exec(compile(python_code(view), "page", "exec"), scope)
    lines = printed.getvalue().splitlines()
    largest = view.batches.L_max
    rungs = ravine.ladder(view.curvature, view.method, L_max=largest, batch_size=view.batch)
    assert lines[0] == rungs.verdict
    assert lines[1].endswith(str(scope["trace"].errors[-1]))
    assert np.isfinite(scope["trace"].errors).all()


def test_the_command_line_prints_the_same_rates(capsys):
    view = View(Q=8.0, step=0.7, beta=0.2)
    words = shlex.split(command_line(view))
    assert words[0] == "ravine"
    with pytest.raises(SystemExit) as ended:
        main([*words[1:], "--json"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    for rate in rates(view).values():
        assert repr(rate) in printed
