import pytest
from hypothesis import given
from hypothesis import strategies as st

from ravine.sampling import Sampling
from ravine.web.quantities import QUANTITIES
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
    colour=st.sampled_from(list(QUANTITIES)),
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


def test_an_address_with_more_fields_than_settings_is_none_of_ours():
    assert from_query("&".join(f"Q={i + 2}" for i in range(100))) == (View(), {})


@pytest.mark.parametrize(
    ("name", "text"), [("gamma", ""), ("Q", "32"), ("beta", "0.699558"), ("example", "noise")]
)
def test_what_stands_in_a_box(name, text):
    assert View().typed[name] == text


def test_a_number_that_is_not_short_keeps_its_digits():
    assert View(step=0.1234567891).typed["step"] == "0.123457"
    assert View(Q=1.00123456789).typed["Q"] == "1.00123"
    assert parse(View(seed=12345678).typed)[0] == View(seed=12345678, beta=0.699558)
