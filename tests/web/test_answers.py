import json

import numpy as np
import pytest

import ravine
from ravine.web.answers import QUESTION_BYTES, told
from ravine.web.explore import HOST
from ravine.web.plane import COARSE, FINE
from ravine.web.presets import PRESETS
from ravine.web.readout import digits
from ravine.web.server import make_app
from ravine.web.view import View, parse

HOSTED = {"Host": "localhost:8124"}


@pytest.fixture(scope="module")
def client():
    return make_app(host=HOST, port=8124, warm=False).server.test_client()


@pytest.fixture(scope="module")
def first():
    return told({"search": "?Q=8&colour=error", "fine": True})


def pixels(answer):
    return int(answer["plane"]["figure"]["data"][0]["z"]["shape"].split(",")[0])


def test_the_first_answer_has_the_settings_of_the_address(first):
    assert first["settings"]["Q"] == "8"
    assert first["settings"]["colour"] == "error"
    assert parse(first["settings"])[0].query == first["query"]
    assert pixels(first) == FINE
    assert first["plane"]["fine"]
    assert not first["run"]["fine"]


def test_the_bound_comes_when_it_is_asked_for(first):
    wish = {"settings": first["settings"], "run": first["run"]["key"], "fine": True}
    assert told(wish)["run"] is None
    bounded = told(wish | {"bound": True})["run"]
    assert bounded["fine"]
    assert bounded["legend"][-1]["words"] == "bound"
    assert told(wish | {"run": bounded["key"]})["run"] is None


def test_a_moved_point_brings_the_run_and_not_the_plane(first):
    settings = first["settings"] | {"step": "0.5", "beta": "0.25"}
    shown = {"plane": first["plane"]["key"], "run": first["run"]["key"]}
    answer = told({"settings": settings, **shown})
    assert answer["plane"] is None
    assert not answer["run"]["fine"]
    rungs = ravine.ladder(ravine.Curvature(1, 8), ravine.Method(0.5 / 8, 0.25))
    assert answer["words"]["rungs"]["worst_case_rate"] == [digits(rungs.worst_case_rate), "good"]
    assert "0.25" in answer["words"]["python"]
    assert answer["query"] == View(Q=8.0, step=0.5, beta=0.25, colour="error").query


@pytest.mark.parametrize(("name", "value"), [("Q", "9"), ("K", "50"), ("sigma2", "0.5")])
def test_a_moved_setting_brings_a_coarse_plane_and_then_the_fine_one(first, name, value):
    wish = {"settings": first["settings"] | {name: value}, "plane": first["plane"]["key"]}
    coarse = told(wish)
    assert pixels(coarse) == COARSE
    fine = told(wish | {"plane": coarse["plane"]["key"], "fine": True})
    assert pixels(fine) == FINE
    # What is there in full is not followed by less.
    assert told(wish | {"plane": fine["plane"]["key"], "fine": False})["plane"] is None


@pytest.mark.parametrize("name", ["n", "seed", "step", "beta", "sampling"])
def test_what_the_plane_does_not_show_leaves_it_alone(first, name):
    value = {"sampling": "iid"}.get(name, "0.5" if name in ("step", "beta") else "7")
    wish = {"settings": first["settings"] | {name: value}, "plane": first["plane"]["key"]}
    assert told(wish)["plane"] is None


def test_the_light_is_part_of_a_picture(first):
    wish = {"settings": first["settings"], "plane": first["plane"]["key"], "fine": True}
    assert told(wish)["plane"] is None
    assert told(wish | {"theme": "dark"})["plane"]["key"].startswith("dark")


def test_a_preset_says_where_it_led(first):
    answer = told({"preset": "heavy-ball", "settings": first["settings"]})
    chosen = PRESETS["heavy-ball"].applied(8.0)
    assert float(answer["settings"]["beta"]) == pytest.approx(chosen["beta"], rel=1e-5)
    assert answer["settings"]["gamma"] == "0"
    assert told({"preset": "none", "settings": first["settings"]})["query"] == first["query"]


def test_the_turning_path_is_asked_for_by_its_step():
    settings = {"example": "turning", "K": "60"}
    answer = told({"settings": settings, "frame": 7})
    assert "step 7 of" in answer["run"]["figure"]["layout"]["annotations"][0]["text"]
    assert told({"settings": settings, "frame": 7, "run": answer["run"]["key"]})["run"] is None
    for wrong in (-5, "7", None, 1e9, True):
        text = told({"settings": settings, "frame": wrong})["run"]["figure"]["layout"]
        assert "step 0 of" in text["annotations"][0]["text"]


def test_numbers_under_the_cursor():
    answer = told({"settings": {"Q": "8"}, "cursor": {"step": 0.5, "beta": 0.25}})
    rungs = ravine.ladder(ravine.Curvature(1, 8), ravine.Method(0.5 / 8, 0.25))
    assert answer["cursor"]["worst_case_rate"] == digits(rungs.worst_case_rate)
    for wrong in ({}, None, {"step": "x", "beta": 1}, {"step": -1, "beta": 5}):
        answer = told({"settings": {}, "cursor": wrong})
        assert set(answer["cursor"].values()) == {"–"}


def test_what_cannot_be_used_is_named_and_what_is_unknown_ignored():
    settings = {"Q": "-3", "beta": [1], "evil": "1", "K": {"a": 1}, "colour": "<b>"}
    answer = told({"settings": settings})
    assert set(answer["words"]["complaints"]) == {"Q", "colour"}
    assert answer["query"] == ""


def test_answers_are_plain_json(first):
    def refuse(word):
        raise AssertionError(word)

    text = json.dumps(first)
    assert json.loads(text, parse_constant=refuse) == first
    diverging = told({"settings": {"step": "4", "beta": "1", "K": "5000"}, "bound": True})
    json.loads(json.dumps(diverging), parse_constant=refuse)


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"3"])
def test_a_question_that_is_none_is_refused(client, body):
    head = HOSTED | {"Content-Type": "application/json"}
    assert client.post("/answer", data=body, headers=head).status_code == 400


def test_questions_come_as_json_from_here_and_are_short(client):
    good = json.dumps({"settings": {}})
    assert client.post("/answer", data=good, headers=HOSTED).status_code == 400
    head = {"Content-Type": "application/json"}
    assert client.post("/answer", data=good, headers=head | HOSTED).status_code == 200
    foreign = head | {"Host": "evil.example"}
    assert client.post("/answer", data=good, headers=foreign).status_code == 403
    long = json.dumps({"settings": {"Q": "1" * QUESTION_BYTES}})
    assert client.post("/answer", data=long, headers=head | HOSTED).status_code == 413


def test_the_plane_is_given_away_as_a_table(client):
    reply = client.get("/ravine-plane.csv?Q=8&colour=floor", headers=HOSTED)
    assert reply.headers["Content-Disposition"] == "attachment; filename=ravine-plane.csv"
    assert reply.text.startswith("alpha_L,beta,spectral_radius")
    assert np.isfinite([float(x) for x in reply.text.splitlines()[1].split(",")]).all()
