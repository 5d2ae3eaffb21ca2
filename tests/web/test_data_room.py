import json

import pytest
from dash import html

from ravine.web.data_room import _left, _methods, data_room


def words(part):
    if part is None or isinstance(part, str | int | float):
        return [str(part)]
    children = part.children if hasattr(part, "children") else part
    if isinstance(children, list | tuple):
        return [word for child in children for word in words(child)]
    return words(children)


@pytest.fixture
def record():
    method = {
        "key": "<b>", "name": "<b>bold</b>", "alpha": 0.5, "beta": 0.9, "schedule": "constant",
        "averaged": False, "mean_square": {"rate": 0.98765}, "outcome": "converges",
        "measured": {"excess": [2.0, 0.5]}, "excess_after": {"value": 0.1},
    }  # fmt: skip
    return {"methods": [method], "recommended": "<b>", "data": {"start_excess": 2.0}}


def test_a_row_says_what_was_predicted_and_measured(record):
    shown = words(_methods(record))
    assert "0.9876" in shown or "0.9877" in shown
    assert "0.25" in shown
    assert "<b>bold</b> (recommended)" in shown  # text in a cell: React escapes it


def test_an_average_is_judged_as_one(record):
    averaged = record["methods"][0] | {"averaged": True}
    assert _left(averaged, 2.0) == "0.05"


def test_a_run_that_was_lost_leaves_no_number(record):
    lost = record["methods"][0] | {"measured": {"excess": [2.0, None]}}
    assert _left(lost, 2.0) == ""


def test_no_part_of_the_room_takes_markup():
    for part in data_room():
        assert isinstance(part, html.Div)
        assert "dangerously" not in json.dumps(part.to_plotly_json(), default=str)
