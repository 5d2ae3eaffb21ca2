"""What Python answers: words, numbers and pictures that are the library's own."""

import base64
import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import colormaps

import ravine
from ravine.figures import plane as planes
from ravine.figures.style import METHODS
from ravine.theory.ladder.rungs import RUNGS
from ravine.theory.noise.moments import noise_floor
from ravine.web import answers
from ravine.web import view as quantities
from ravine.web.answers import answer, page, readout
from ravine.web.picture import CEILING, as_json, axis, decades, line
from ravine.web.plane_picture import (
    draw_plane_figure,
    middles,
    plane_csv,
    plane_picture,
    quantity_map,
)
from ravine.web.run_picture import TURNS, run_picture
from ravine.web.view import Example, View


def lines_of(picture):
    return {one["words"]: one for one in picture["layers"] if one["kind"] == "line"}


def of_kind(picture, kind):
    return [one for one in picture["layers"] if one["kind"] == kind]


# --- words ----------------------------------------------------------------------------------


def test_the_verdict_is_one_line_that_names_the_remedy():
    words = readout(View())
    assert words["verdict"].startswith("Diverges for some finite sums")
    limit = float(words["verdict"].rstrip(".").split("momentum ≤ ")[1])
    c = View().curvature
    assert ravine.worst_case_rate(c, ravine.Method(1 / 32, limit)) < 1.0
    assert ravine.worst_case_rate(c, ravine.Method(1 / 32, limit + 0.02)) >= 1.0
    assert words["tone"] == "unsure"


@pytest.mark.parametrize(
    ("view", "tone", "words"),
    [
        (View(beta=0.2), "good", "Converges on every finite sum, in any order"),
        (View(step=2.4, beta=0.9), "bad", "Diverges even with exact gradients; safe if step size"),
        (View(step=1.4, beta=0.95), "bad", "Diverges even with exact gradients; safe if momentum"),
    ],
    ids=["safe", "far", "near"],
)
def test_the_verdict_says_how_much_is_certain(view, tone, words):
    said = readout(view)
    assert said["tone"] == tone
    assert said["verdict"].startswith(words)


def test_every_rung_has_its_number_and_tone():
    rungs = readout(View())["rungs"]
    ladder = ravine.ladder(View().curvature, View().method)
    assert rungs["worst_case_rate"] == [f"{ladder.worst_case_rate:.6f}", "bad"]
    assert rungs["spectral_radius"] == [f"{ladder.spectral_radius:.6f}", "good"]
    assert list(rungs) == [rung.key for rung in RUNGS]


def test_the_cursor_has_the_numbers_of_its_place():
    exact = float(ravine.worst_case_rate(View().curvature, ravine.Method(0.5 / 32, 0.1)))
    place = {"step": "0.5", "beta": "0.1"}
    told = answer({"settings": View().typed | place, "cursor": True})
    assert told["cursor"]["worst_case_rate"] == f"{exact:.6f}"
    assert list(told) == ["cursor"]


# --- requests -------------------------------------------------------------------------------


def test_the_first_answer_holds_all_that_the_page_needs():
    first = answer({"settings": {"Q": "8", "beta": "0.3"}, "first": True, "calm": 1})
    assert first["settings"]["Q"] == "8"
    assert first["controls"]["beta"]["high"] == 1.0
    assert first["plane"]["key"].startswith("1 ")
    assert first["run"]["picture"]["path"]["angles"]
    assert "--beta 0.3" in first["command"]
    assert json.loads(as_json(first))["query"] == "Q=8.0&beta=0.3"


def test_what_is_shown_already_is_left_out():
    first = answer({"settings": {"beta": "0.4"}, "first": True, "calm": 1})
    shown = {"plane": first["plane"]["key"], "run": first["run"]["key"]}
    again = answer({"settings": first["settings"], **shown})
    assert not {"plane", "run"} & {*again}
    moved = answer({"settings": first["settings"] | {"beta": "0.5"}, **shown})
    assert "plane" not in moved
    assert "run" in moved
    narrower = answer({"settings": first["settings"] | {"Q": "64"}, **shown})
    assert narrower["plane"]["key"].startswith("0 ")


def test_the_bound_of_a_run_with_noise_comes_last():
    given = {"settings": View(example=Example.NOISE, Q=8.0).typed}
    first = answer(given | {"calm": 1})
    assert "proven bound" not in lines_of(first["run"]["picture"])
    shown = {"plane": first["plane"]["key"], "run": first["run"]["key"]}
    assert "run" not in answer(given | shown | {"calm": 1})
    last = answer(given | shown | {"calm": 2})
    assert "proven bound" in lines_of(last["run"]["picture"])
    assert "plane" not in last


def test_a_preset_is_told_with_its_settings():
    told = answer({"settings": View().typed, "preset": "heavy-ball"})["settings"]
    beta = float(ravine.heavy_ball(View().curvature).beta)
    assert float(told["beta"]) == pytest.approx(beta, rel=1e-5)
    assert told["gamma"] == "0"


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"settings": 3},
        {"settings": {"Q": [1], "n": 10**400, "x": {}}},
        {"calm": "x", "run": {}},
    ],
)
def test_senseless_requests_get_the_usual_answer(request_):
    assert answer(request_)["query"] == ""


# --- pictures -------------------------------------------------------------------------------


def test_arrays_are_base64_of_single_precision():
    told = json.loads(as_json({"x": np.array([[0.1, np.nan], [3.0, 4e40]])}))
    array = np.frombuffer(base64.b64decode(told["x"]["f4"]), "<f4")
    assert array[0] == np.float32(0.1)
    assert np.isnan(array[1])
    assert np.isinf(array[3])


def test_the_plane_shows_every_region_in_its_colour_with_its_name():
    picture = plane_picture(View(), fine=True)
    fills = of_kind(picture, "fill")
    assert [one["colour"] for one in fills] == [rung.colour for rung in RUNGS]
    written = {" ".join(one["lines"]) for one in of_kind(picture, "words")}
    for words in ("safe in any order", "safe for independent batches", planes.OUTSIDE_WORDS):
        assert words in written
    marks = {one["words"]: one for one in of_kind(picture, "dot")}
    look = METHODS["sgd"]
    assert marks[look.words]["colour"] == look.colour
    assert marks[METHODS["nesterov"].words]["x"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("colour", "words"),
    [
        ("regions", planes.OUTSIDE_WORDS),
        ("floor", planes.OUTSIDE_WORDS),
        ("sum", "1 or more: does not converge"),
    ],
)
def test_the_ground_of_the_plane_says_what_it_means(colour, words):
    assert plane_picture(View(colour=colour), fine=False)["outside"] == words


def test_every_condition_number_has_a_plane():
    for Q in np.geomspace(1.001, 1e6, 60):
        picture = plane_picture(View(Q=float(f"{Q:.5g}")), fine=False)
        fills = of_kind(picture, "fill")
        assert len(fills) == len(RUNGS)
        assert all(np.nanmax(one["x"], initial=0.0) < 2.5 + 1e-9 for one in fills)


def test_a_new_rung_appears_by_itself(monkeypatch):
    more = (*RUNGS, replace(RUNGS[-1], region="quite new", colour="#123456"))
    for module in (planes, answers):
        monkeypatch.setattr(module, "RUNGS", more)
    fresh = View(Q=17.5)
    legend = [one["words"] for one in of_kind(plane_picture(fresh, fine=False), "fill")]
    assert legend[-1].startswith("quite new")
    assert len(page()["rungs"]) == len(more)


def test_a_new_quantity_in_colour_appears_by_itself(monkeypatch):
    new = quantities.Quantity("quite new", "new label", lambda view, plane: plane.alpha * view.K)
    monkeypatch.setitem(quantities.QUANTITIES, "new", replace(new, rate=False, needs=("K",)))
    first = answer({"settings": {"colour": "new", "Q": "17.5"}, "first": True, "calm": 1})
    assert ("new", "quite new") in page()["choices"]["colour"]
    assert first["settings"]["colour"] == "new"
    assert "K" in first["active"]
    (heat,) = of_kind(first["plane"]["picture"], "heat")
    assert heat["words"] == "new label"


@pytest.mark.parametrize("colour", quantities.QUANTITIES)
def test_a_quantity_in_colour_is_the_library_s(colour):
    view = View(colour=colour, Q=8.0)
    shown, low, high = quantity_map(view, 48)
    steps, momenta = middles(view, 48)
    grid = ravine.Method(steps[None, :] / view.Q, momenta[:, None])
    quantity = quantities.QUANTITIES[colour]
    exact = quantity.values(view, grid)
    inside = np.isfinite(shown)
    values = shown if quantity.rate else 10.0**shown
    assert inside.any()
    np.testing.assert_allclose(values[inside], exact[inside], rtol=1e-12)
    outside = np.asarray(ravine.spectral_radius(view.curvature, grid)) >= 1.0
    assert not inside[outside].any()
    assert low < high


def test_colours_run_from_the_first_shade_to_the_last():
    view = View(colour="spectral_radius")
    (heat,) = of_kind(plane_picture(view, fine=False), "heat")
    values, _, high = quantity_map(view, heat["columns"])
    pixels = heat["pixels"][::-1]  # the top row is the first
    assert (pixels[..., 3] == np.where(np.isfinite(values), 255, 0)).all()
    slowest = np.unravel_index(np.nanargmax(values), values.shape)
    assert values[slowest] == pytest.approx(high, abs=0.01)
    assert pixels[slowest][:3] == pytest.approx([0x00, 0x22, 0x4E], abs=12)
    fastest = np.unravel_index(np.nanargmin(values), values.shape)
    assert pixels[fastest].tolist() == [*colormaps["cividis_r"](0.0, bytes=True)]
    assert (heat["shades"][0], heat["shades"][-1]) == ("#fee838", "#00224e")


def test_four_quadratics_diverge_where_sgd_converges():
    lines = lines_of(run_picture(View()))
    chosen, plain = lines["your method"], lines[METHODS["sgd"].words]
    assert chosen["y"][-1] > 1e4 * chosen["y"][0]
    assert plain["y"][-1] < 1e-2 * plain["y"][0]
    assert plain["colour"] == "sgd"
    path = run_picture(View())["path"]
    assert path["paths"]["chosen"]["x"].shape == (TURNS + 1,)
    # Along the long axis of a level line the quadratic is flattest.
    for term, angle in enumerate(path["angles"]):
        axis = np.array([np.cos(angle), np.sin(angle)])
        hessian = ravine.problems.turning_quadratics(1.0, 32.0).batch_hessian(term)
        assert axis @ hessian @ axis == pytest.approx(1.0)
    assert path["ratio"] == pytest.approx(32.0**0.5)


def test_noise_has_its_floor_and_its_bound():
    view = View(example=Example.NOISE, Q=8.0)
    lines = lines_of(run_picture(view))
    problem = ravine.problems.worst_case_quadratic(Q=8.0, d=8)
    floor = noise_floor(problem.eigenvalues, view.method, sigma2=0.01, quantity="distance")
    assert lines["noise floor"]["y"][0] == pytest.approx(float(floor))
    assert lines["exact mean"]["y"][-1] == pytest.approx(float(floor), rel=0.2)
    assert (lines["proven bound"]["y"] >= lines["exact mean"]["y"] * (1 - 1e-9)).all()
    quick = run_picture(view, bound=False)
    assert "proven bound" not in lines_of(quick)
    assert quick["y"] == run_picture(view)["y"]


def test_the_inconsistent_term_s_runs_agree_with_their_exact_mean():
    view = View(example=Example.INCONSISTENT, Q=8.0, n=5, K=10, beta=0.2)
    lines = lines_of(run_picture(view))
    ratio = lines["their mean"]["y"] / lines["exact mean"]["y"]
    assert (np.abs(np.log(ratio[:6])) < 1.0).all()
    assert "proven bound" in lines


def test_what_diverges_ends_at_the_ceiling():
    view = View(example=Example.NOISE, step=2.4, beta=0.9)
    picture = run_picture(view)
    assert lines_of(picture)["exact mean"]["y"].max() == CEILING
    assert np.isfinite(picture["y"]["high"])


@pytest.mark.parametrize(("low", "high", "first"), [(3e-17, 2e12, "10⁻¹⁵"), (0.02, 30.0, "0.1")])
def test_a_logarithmic_axis_has_a_few_powers_of_ten_for_ticks(low, high, first):
    made = axis("x", low, high, log=True)
    assert made["words"][0] == first
    assert 2 <= len(made["ticks"]) <= 8
    assert all(low <= tick <= high for tick in made["ticks"])


def test_a_logarithmic_axis_has_two_decades_at_least():
    made = decades([line(np.arange(2), np.array([1.0, 1.1]), "ink")], "x")
    assert made["high"] / made["low"] == pytest.approx(100.0)


def test_the_plane_can_be_taken_away():
    view = View(Q=8.0, colour="floor")
    table = np.genfromtxt(plane_csv(view).splitlines(), delimiter=",", names=True)
    row = table[12345]
    method = ravine.Method(row["alpha_L"] / 8.0, row["beta"])
    exact = float(ravine.worst_case_rate(view.curvature, method))
    assert row["worst_case_rate"] == pytest.approx(exact, rel=1e-8)
    assert "floor" in table.dtype.names
    for colour in ("regions", "floor"):
        figure = draw_plane_figure(View(Q=8.0, colour=colour))
        assert figure.axes[0].get_xlabel() == "step size αL"
