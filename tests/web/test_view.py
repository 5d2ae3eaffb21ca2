import pytest
from hypothesis import given
from hypothesis import strategies as st

from ravine.sampling import Sampling
from ravine.web.view import Axis, Example, Room, View, from_query, parse


@given(
    Q=st.floats(1.001, 1e6),
    step=st.floats(1e-6, 4.0),
    beta=st.floats(-1.0, 1.0),
    gamma=st.none() | st.floats(-2.0, 2.0),
    K=st.integers(1, 5000),
    sampling=st.sampled_from(Sampling),
    example=st.sampled_from(Example),
    axis=st.sampled_from(Axis),
    room=st.sampled_from(Room),
)
def test_the_address_holds_everything(**settings):
    view = View(**settings)
    again, complaints = from_query(view.query)
    assert again == view
    assert complaints == {}


def test_what_is_usual_is_left_out():
    assert View().query == ""
    assert View(Q=8.0).query == "Q=8.0"


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("Q", "0.5", "a number from 1.001 to 1e+06"),
        ("Q", "<b>", "a number from 1.001 to 1e+06"),
        ("K", "2.5", "a whole number"),
        ("beta", "nan", "a number from -1 to 1"),
        ("sampling", "never", "one of iid, "),
        ("colour", "red", "one of regions, "),
        ("gamma", "7", "a number from -2 to 2"),
    ],
)
def test_a_wrong_setting_has_one_line_and_changes_nothing(name, value, rule):
    view, complaints = parse({name: value})
    assert view == View()
    assert rule in complaints[name]
    assert "\n" not in complaints[name]


def test_unknown_settings_of_an_address_are_ignored():
    assert from_query("?Q=8&evil=<script>&__class__=1") == (View(Q=8.0), {})
