from dash import Dash

from ravine.web.callbacks import PICKS, connect
from ravine.web.layout import CHOICES


def test_every_list_is_heard():
    app = Dash("ravine")
    connect(app)
    heard = [entry for entry in app._callback_list if entry["output"] == "picked.data"]
    assert [one["id"] for one in heard[0]["inputs"]] == list(PICKS.values())
    assert set(PICKS) | {"gamma"} == set(CHOICES)


def test_nothing_that_moves_goes_through_dash():
    app = Dash("ravine")
    connect(app)
    inputs = {one["id"] for entry in app._callback_list for one in entry["inputs"]}
    assert not any(name.startswith(("box-", "slide-")) for name in inputs)
    assert all(entry["clientside_function"] for entry in app._callback_list)
