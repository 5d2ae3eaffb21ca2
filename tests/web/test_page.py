"""The page in a real browser, as a person uses it: one browser, and few loads of the page."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import ravine
from ravine.web.layout import CONTROLS
from ravine.web.readout import digits
from ravine.web.view import RANGES

pytestmark = pytest.mark.xdist_group("browser")

WAIT = 300  # seconds at most; a busy machine may need them, a quiet one needs one
WIDE = (1280, 1000)
PHONE = (390, 844)

DRAWN = "return !!document.querySelector('#plane .js-plotly-plot .heatmaplayer image')"
PUT = """const e = arguments[0];
const put = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
put.call(e, arguments[1]);
e.dispatchEvent(new Event('input', {bubbles: true}));
e.dispatchEvent(new Event('change', {bubbles: true}));"""


def until(browser, condition):
    return WebDriverWait(browser, WAIT, poll_frequency=0.1).until(lambda _: condition())


def text(browser, identity):
    script = "const e = document.getElementById(arguments[0]); return e && e.textContent"
    return browser.execute_script(script, identity)


def value(browser, name):
    return browser.execute_script(f"return document.getElementById('box-{name}').value")


def errors(browser):
    return [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]


def size(browser, width, height):
    """A window of that size, down to a phone's, which a window of Chromium cannot have."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def open_page(browser, address, query="", shape=WIDE):
    browser.get("about:blank")
    size(browser, *shape)
    browser.get(address + query)
    until(browser, lambda: browser.execute_script(DRAWN))
    until(browser, lambda: text(browser, "rung-worst_case_rate"))


def click(browser, identity):
    browser.execute_script("document.getElementById(arguments[0]).click()", identity)


def put(browser, name, words):
    """A number in its box, at once."""
    browser.execute_script(PUT, browser.find_element(By.ID, f"box-{name}"), str(words))
    until(browser, lambda: value(browser, name) == str(words))


def expected(Q, step, beta):
    rungs = ravine.ladder(ravine.Curvature(1, Q), ravine.Method(step / Q, beta))
    return digits(rungs.worst_case_rate)


@pytest.fixture(scope="module")
def opened(browser, address):
    open_page(browser, address)
    return browser


@pytest.fixture
def page(opened):
    """The page with the point at the usual parameters, whatever was done before."""
    put(opened, "Q", 32)
    put(opened, "step", 1)
    put(opened, "beta", 0.699558)
    until(opened, lambda: text(opened, "rung-worst_case_rate") == expected(32, 1, 0.699558))
    return opened


def test_the_first_picture_shows_the_library_s_numbers(page):
    c = ravine.Curvature(1, 32)
    rungs = ravine.ladder(c, ravine.nesterov(c))
    assert text(page, "rung-worst_case_rate") == digits(rungs.worst_case_rate)
    assert text(page, "rung-spectral_radius") == digits(rungs.spectral_radius)
    assert "can diverge when mini-batches disagree" in text(page, "verdict")
    assert errors(page) == []


@pytest.mark.parametrize("name", CONTROLS)
def test_every_slider_moves_its_box(page, name):
    before = value(page, name)
    slider = page.find_element(By.ID, f"slide-{name}")
    low = float(slider.get_attribute("min"))
    high = float(slider.get_attribute("max"))
    page.execute_script(PUT, slider, low + 0.37 * (high - low))
    until(page, lambda: value(page, name) != before)
    assert RANGES[name].low <= float(value(page, name)) <= RANGES[name].high
    put(page, name, before)
    assert errors(page) == []


LAYER = (
    "const l = document.getElementById(arguments[0] + '-layer'); return [l.hidden, l.dataset.shown]"
)
TAKEN = """const p = arguments[0];
const graph = document.querySelector(`#${p} .js-plotly-plot`);
return graph && graph.layout && graph.layout.meta"""
INK = """const l = document.getElementById(arguments[0] + '-layer');
const pixels = l.getContext('2d').getImageData(0, 0, l.width, l.height).data;
const kinds = new Set();
for (let i = 0; i < pixels.length; i += 4) kinds.add(pixels.slice(i, i + 4).join());
return kinds.size"""


def test_what_moves_is_drawn_on_the_layer_and_what_rests_by_plotly(page):
    until(page, lambda: page.execute_script(LAYER, "plane")[0])
    slider = page.find_element(By.ID, "slide-Q")
    page.execute_script(PUT, slider, 1.0)
    until(page, lambda: "Q=10.0" in page.execute_script(LAYER, "plane")[1])
    assert page.execute_script(INK, "plane") > 20
    assert page.execute_script(INK, "run") > 20
    # The same picture, by its key, and only then does the layer go.
    for name in ("plane", "run"):
        until(page, lambda name=name: page.execute_script(LAYER, name)[0])
        shown = page.execute_script(LAYER, name)[1]
        assert shown.split()[1] in ("fine", "bounded")
        assert page.execute_script(TAKEN, name) == shown
    assert errors(page) == []


def test_both_ways_of_drawing_put_things_at_the_same_place(page):
    until(page, lambda: page.execute_script(LAYER, "run")[0])
    for name in ("plane", "run"):
        script = (
            "const {x, y, inner} = ravine.pictures[arguments[0]].frame;"
            "const g = document.querySelector(`#${arguments[0]} .js-plotly-plot`)._fullLayout;"
            "const [px, py] = [g.xaxis, g.yaxis];"
            "return [[inner.left, inner.width, inner.top, inner.height, x.at(0.3), y.at(0.4)],"
            "[px._offset, px._length, py._offset, py._length, px._offset + px.d2p(0.3),"
            " py._offset + py.d2p(0.4)]]"
        )
        ours, plotly = page.execute_script(script, name)
        assert ours == pytest.approx(plotly, abs=0.01)


def test_dash_knows_the_numbers_once_they_rest(page):
    slider = page.find_element(By.ID, "slide-K")
    page.execute_script(PUT, slider, 2.0)
    assert value(page, "K") == "100"
    until(page, lambda: "K=100" in page.current_url)
    # A part of Dash that is drawn anew shows what Dash knows: so are those that lose the focus.
    for name in ("slide-K", "box-K"):
        for event in ("focusin", "focusout"):
            script = (
                "document.getElementById(arguments[0]).dispatchEvent("
                "new FocusEvent(arguments[1], {bubbles: true}))"
            )
            page.execute_script(script, name, event)
    page.execute_async_script("const done = arguments[0]; setTimeout(done, 200)")
    assert value(page, "K") == "100"
    assert float(slider.get_attribute("value")) == pytest.approx(2.0)
    put(page, "K", "200")
    assert errors(page) == []


def test_dragging_the_point_moves_the_method(page):
    knob = page.find_element(By.ID, "knob")
    before = float(value(page, "step"))
    ActionChains(page, duration=50).drag_and_drop_by_offset(knob, 60, 80).perform()
    until(page, lambda: float(value(page, "step")) > before)

    def shown_is_computed():
        # Both boxes anew each time: the last of the drag may still be on its way.
        step = float(value(page, "step"))
        beta = float(value(page, "beta"))
        moved = step > 1.0 and beta < 0.69
        return moved and text(page, "rung-worst_case_rate") == expected(32, step, beta)

    until(page, shown_is_computed)
    assert errors(page) == []


def test_the_cursor_s_numbers_are_those_of_its_place(page):
    wrap = page.find_element(By.ID, "plane-wrap")
    ActionChains(page, duration=50).move_to_element_with_offset(wrap, 20, 100).perform()
    ActionChains(page, duration=50).move_to_element_with_offset(wrap, 25, 90).perform()
    until(page, lambda: text(page, "cursor-worst_case_rate") not in ("", "–"))
    assert float(text(page, "cursor-spectral_radius")) <= float(
        text(page, "cursor-worst_case_rate")
    )


def test_arrow_keys_move_the_point(page):
    knob = page.find_element(By.ID, "knob")
    page.execute_script("arguments[0].focus()", knob)
    knob.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    until(page, lambda: float(value(page, "step")) == pytest.approx(0.98))
    knob.send_keys(Keys.SHIFT, Keys.ARROW_UP)
    until(page, lambda: float(value(page, "beta")) == pytest.approx(0.700558))
    assert "step size 0.98" in knob.get_attribute("aria-valuetext")


def test_a_wrong_number_has_a_message_beside_its_box(page):
    put(page, "Q", "-3")
    until(page, lambda: "a number from 1.001" in text(page, "message-Q"))
    assert "Traceback" not in page.page_source
    put(page, "Q", "8")
    until(page, lambda: text(page, "message-Q") == "")
    assert errors(page) == []


def test_a_preset_puts_the_point_at_its_parameters(page):
    page.find_element(By.ID, "pick-preset").click()
    option = "//*[contains(@class, 'dash-dropdown')]//*[text()=\"Polyak's heavy ball\"]"
    until(page, lambda: page.find_elements(By.XPATH, option))
    page.find_elements(By.XPATH, option)[0].click()
    beta = float(ravine.heavy_ball(ravine.Curvature(1, 32)).beta)
    until(page, lambda: float(value(page, "beta")) == pytest.approx(beta, rel=1e-5))
    assert float(value(page, "gamma")) == 0.0
    put(page, "gamma", "")
    assert errors(page) == []


def test_the_code_is_for_what_is_shown(page):
    put(page, "beta", "0.125")
    until(page, lambda: "0.125" in text(page, "python-code"))
    page.find_element(By.ID, "open-share").send_keys(Keys.ENTER)
    until(page, lambda: page.find_element(By.ID, "command-line").is_displayed())
    assert "--beta 0.125" in text(page, "command-line")
    ActionChains(page).send_keys(Keys.ESCAPE).perform()
    until(page, lambda: not page.find_element(By.ID, "command-line").is_displayed())


def test_pictures_and_numbers_can_be_taken_away(page, tmp_path):
    allow = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.execute_cdp_cmd("Browser.setDownloadBehavior", allow)
    for button in ("plane-svg", "plane-png", "run-svg", "export-csv"):
        click(page, button)
    names = ("ravine-plane.svg", "ravine-plane.png", "ravine-run.svg", "ravine-plane.csv")
    until(page, lambda: all((tmp_path / name).exists() for name in names))
    assert (tmp_path / "ravine-plane.svg").read_text().startswith("<svg")
    assert (tmp_path / "ravine-plane.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "ravine-plane.csv").read_text().startswith("alpha_L,beta,spectral_radius")
    assert errors(page) == []


def test_a_run_is_played_paused_and_drawn_anew(page):
    click(page, "rewind")
    until(page, lambda: text(page, "at-step") == "step 0 of 200")
    click(page, "advance")
    until(page, lambda: text(page, "at-step") == "step 1 of 200")
    click(page, "play")
    until(page, lambda: text(page, "at-step") not in ("step 1 of 200", "step 0 of 200"))
    if text(page, "play") == "pause":
        click(page, "play")
    until(page, lambda: text(page, "play") == "play")
    before = value(page, "seed")
    click(page, "reseed")
    until(page, lambda: int(value(page, "seed")) == int(before) + 1)
    assert errors(page) == []


def test_everything_has_a_name_for_a_screen_reader(page):
    page.execute_cdp_cmd("Accessibility.enable", {})
    tree = page.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    page.execute_cdp_cmd("Accessibility.disable", {})
    asked = {"slider", "textbox", "combobox", "button", "radio", "spinbutton", "checkbox"}
    nameless = [
        node["role"]["value"]
        for node in tree
        if not node.get("ignored")
        and node.get("role", {}).get("value") in asked
        and not node.get("name", {}).get("value")
    ]
    sliders = [n for n in tree if n.get("role", {}).get("value") == "slider"]
    assert len(sliders) == len(CONTROLS) + 1
    assert nameless == []


def test_light_and_dark(page):
    click(page, "toggle-theme")
    ink = "const p = document.querySelector('#plane .js-plotly-plot'); return p.layout.font.color"
    until(page, lambda: page.execute_script(ink) == "#e6ebf1")
    click(page, "toggle-theme")
    until(page, lambda: page.execute_script(ink) == "#1d2733")
    assert errors(page) == []


def test_claims_are_listed_and_a_figure_can_be_cancelled(page):
    click(page, "open-share")
    click(page, "close-share")
    room(page, "claims")
    rows = "return document.querySelectorAll('.claims tbody tr').length"
    assert page.execute_script(rows) > 40
    until(page, lambda: page.find_element(By.ID, "judge").is_displayed())
    click(page, "judge")
    until(page, lambda: page.find_element(By.ID, "claims-cancel").is_displayed())
    click(page, "claims-cancel")
    until(page, lambda: not page.find_element(By.ID, "claims-cancel").is_displayed())
    room(page, "plane")
    assert errors(page) == []


def room(browser, name):
    browser.execute_script(
        "document.querySelector(`#pick-room input[value='${arguments[0]}']`).click()", name
    )
    until(browser, lambda: browser.find_element(By.ID, f"room-{name}").is_displayed())


@pytest.fixture
def quick(monkeypatch):
    """A diagnosis that takes a second instead of half a minute."""
    monkeypatch.setattr("ravine.web.data_room.SECONDS", 1.0)


def upload(browser, path):
    browser.find_element(By.CSS_SELECTOR, "#upload input[type=file]").send_keys(str(path))


def test_a_good_table_is_judged_and_a_bad_one_refused(page, quick, tmp_path):
    room(page, "data")
    bad = tmp_path / "bad.csv"
    bad.write_text("<script>alert(1)</script>\n")
    upload(page, bad)
    until(page, lambda: text(page, "data-refusal"))
    assert "\n" not in text(page, "data-refusal")

    good = tmp_path / "good.csv"
    rows = [f"{i % 7},{(3 * i) % 5},{i % 7 + 2 * ((3 * i) % 5) + i % 3}" for i in range(64)]
    good.write_text("\n".join(["<b>one</b>,two,target", *rows]) + "\n")
    upload(page, good)
    until(page, lambda: page.find_element(By.ID, "data-words").is_displayed())
    assert "lr = " in text(page, "data-words")
    assert page.execute_script("return document.querySelector('#room-data table b')") is None
    tall = "return document.querySelector('#data-plane .js-plotly-plot').offsetHeight"
    until(page, lambda: page.execute_script(tall) > 300)

    click(page, "judge-point")
    until(page, lambda: "judging" in text(page, "data-judged"))
    until(page, lambda: "lr = " in text(page, "data-judged"))
    room(page, "plane")
    assert errors(page) == []


def test_long_work_can_be_cancelled(page, tmp_path):
    room(page, "data")
    good = tmp_path / "again.csv"
    good.write_text("a,b,target\n" + "".join(f"{i},{i * i % 7},{i % 5}\n" for i in range(60)))
    upload(page, good)
    until(page, lambda: page.find_element(By.ID, "data-cancel").is_displayed())
    click(page, "data-cancel")
    until(page, lambda: not page.find_element(By.ID, "data-cancel").is_displayed())
    room(page, "plane")
    assert errors(page) == []


# From here on each test loads the page anew.


def test_a_room_that_was_hidden_has_its_pictures_when_it_is_shown(browser, address):
    browser.get("about:blank")
    size(browser, *WIDE)
    browser.get(address + "?room=data&Q=8.0")
    until(browser, lambda: text(browser, "rung-worst_case_rate"))
    until(browser, lambda: browser.execute_script("return ravine.pictures.run.fine"))
    # By then the pictures would have been handed to Plotly.
    browser.execute_async_script("const done = arguments[0]; setTimeout(done, 600)")
    assert not browser.find_element(By.ID, "plane-wrap").is_displayed()
    room(browser, "plane")
    until(browser, lambda: browser.execute_script(DRAWN))
    until(browser, lambda: browser.execute_script(LAYER, "run")[0])
    assert browser.find_element(By.ID, "knob").is_displayed()
    assert errors(browser) == []


def test_the_address_restores_the_view(browser, address):
    open_page(browser, address, "?Q=8.0&step=0.7&beta=0.3&colour=worst&axis=log&example=odd")
    until(browser, lambda: value(browser, "Q") == "8")
    until(browser, lambda: text(browser, "rung-worst_case_rate") == expected(8, 0.7, 0.3))
    put(browser, "beta", "0.25")
    until(browser, lambda: "beta=0.25" in browser.current_url)
    assert "Q=8.0" in browser.current_url
    assert "axis=log" in browser.current_url
    assert "colour=worst" in browser.current_url
    until(browser, lambda: "worst case over" in text(browser, "pick-colour"))
    open_page(browser, address, browser.current_url.removeprefix(address))
    until(browser, lambda: text(browser, "rung-worst_case_rate") == expected(8, 0.7, 0.25))
    assert "colour=worst" in browser.execute_script(LAYER, "plane")[1]
    assert errors(browser) == []


def test_the_turning_path_plays_at_a_phone_s_width(browser, address):
    open_page(browser, address, "?example=turning&Q=32.0&K=60", PHONE)
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.execute_script(wide) <= 0
    count = (
        "const t = document.querySelector('#turning .js-plotly-plot'); "
        "return t && t.layout && t.layout.annotations ? t.layout.annotations[0].text : ''"
    )
    until(browser, lambda: "step 12 of" in browser.execute_script(count))
    click(browser, "advance")
    until(browser, lambda: "step 13 of" in browser.execute_script(count))
    click(browser, "rewind")
    until(browser, lambda: "step 0 of" in browser.execute_script(count))
    assert browser.execute_script(wide) <= 0
    assert errors(browser) == []
