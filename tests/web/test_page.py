"""The page in a real browser, as a person uses it."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import ravine
from ravine.web.layout import CONTROLS
from ravine.web.readout import digits
from ravine.web.view import RANGES

WAIT = 300  # seconds at most; a busy machine may need them, a quiet one needs one


def until(browser, condition):
    return WebDriverWait(browser, WAIT, poll_frequency=0.1).until(lambda _: condition())


def text(browser, identity):
    return browser.execute_script(
        "const e = document.getElementById(arguments[0]); return e && e.textContent", identity
    )


def value(browser, name):
    return browser.find_element(By.ID, f"box-{name}").get_attribute("value")


def errors(browser):
    return [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]


def open_page(browser, address, query=""):
    browser.get("about:blank")
    browser.get(address + query)
    drawn = "return !!document.querySelector('#plane .js-plotly-plot .heatmaplayer image')"
    until(browser, lambda: browser.execute_script(drawn))
    until(browser, lambda: text(browser, "rung-worst_case_rate"))


def type_into(browser, name, words):
    box = browser.find_element(By.ID, f"box-{name}")
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys(words)


def expected(Q, step, beta):
    rungs = ravine.ladder(ravine.Curvature(1, Q), ravine.Method(step / Q, beta))
    return digits(rungs.worst_case_rate)


@pytest.fixture
def page(browser, address):
    browser.set_window_size(1280, 1000)
    open_page(browser, address)
    return browser


def test_the_first_picture_shows_the_library_s_numbers(page):
    c = ravine.Curvature(1, 32)
    rungs = ravine.ladder(c, ravine.nesterov(c))
    assert text(page, "rung-worst_case_rate") == digits(rungs.worst_case_rate)
    assert text(page, "rung-spectral_radius") == digits(rungs.spectral_radius)
    assert "can diverge when mini-batches disagree" in text(page, "verdict")
    assert errors(page) == []


@pytest.fixture(scope="module")
def shared_page(browser, address):
    """One page for tests that each touch a thing of their own."""
    browser.set_window_size(1280, 1000)
    open_page(browser, address)
    return browser


@pytest.mark.parametrize("name", CONTROLS)
def test_every_slider_moves_its_box(shared_page, name):
    page = shared_page
    before = value(page, name)
    slider = page.find_element(By.ID, f"slide-{name}")
    page.execute_script(
        """const e = arguments[0];
        const put = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
        put.call(e, Number(e.min) + 0.37 * (Number(e.max) - Number(e.min)));
        e.dispatchEvent(new Event('input', {bubbles: true}));
        e.dispatchEvent(new Event('change', {bubbles: true}));""",
        slider,
    )
    until(page, lambda: value(page, name) != before)
    spread = RANGES[name]
    assert spread.low <= float(value(page, name)) <= spread.high
    assert errors(page) == []


def test_dragging_the_point_moves_the_method(page):
    knob = page.find_element(By.ID, "knob")
    before = float(value(page, "step"))
    ActionChains(page).drag_and_drop_by_offset(knob, 60, 80).perform()
    until(page, lambda: float(value(page, "step")) > before)

    def shown_is_computed():
        # Both boxes anew each time: the last of the drag may still be on its way.
        step = float(value(page, "step"))
        beta = float(value(page, "beta"))
        return beta < 0.69 and text(page, "rung-worst_case_rate") == expected(32, step, beta)

    until(page, shown_is_computed)
    assert errors(page) == []


def test_arrow_keys_move_the_point(page):
    knob = page.find_element(By.ID, "knob")
    page.execute_script("arguments[0].focus()", knob)
    knob.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    until(page, lambda: float(value(page, "step")) == pytest.approx(0.98))
    knob.send_keys(Keys.SHIFT, Keys.ARROW_UP)
    until(page, lambda: float(value(page, "beta")) > 0.6995)
    assert "step size 0.98" in knob.get_attribute("aria-valuetext")


def test_a_wrong_number_has_a_message_beside_its_box(page):
    type_into(page, "Q", "-3")
    until(page, lambda: "a number from 1.001" in text(page, "message-Q"))
    assert "Traceback" not in page.page_source
    type_into(page, "Q", "8")
    until(page, lambda: text(page, "message-Q") == "")
    assert errors(page) == []


def test_the_address_restores_the_view(browser, address):
    browser.set_window_size(1280, 1000)
    open_page(browser, address, "?Q=8.0&step=0.7&beta=0.3&colour=worst&axis=log&example=odd")
    until(browser, lambda: value(browser, "Q") == "8")
    until(browser, lambda: text(browser, "rung-worst_case_rate") == expected(8, 0.7, 0.3))
    type_into(browser, "beta", "0.25")
    until(browser, lambda: "beta=0.25" in browser.current_url)
    assert "Q=8.0" in browser.current_url
    assert errors(browser) == []


def test_the_code_is_for_what_is_shown(page):
    type_into(page, "beta", "0.125")
    until(page, lambda: "0.125" in text(page, "python-code"))
    page.find_element(By.ID, "open-share").click()
    until(page, lambda: page.find_element(By.ID, "command-line").is_displayed())
    assert "--beta 0.125" in text(page, "command-line")
    page.find_element(By.ID, "close-share").click()


def test_the_turning_path_plays(browser, address):
    open_page(browser, address, "?example=turning&Q=32.0&K=60")
    count = "const t = document.querySelector('#turning .js-plotly-plot'); " \
            "return t && t.layout.annotations ? t.layout.annotations[0].text : ''"  # fmt: skip
    until(browser, lambda: "step 12 of" in browser.execute_script(count))
    browser.find_element(By.ID, "advance").click()
    until(browser, lambda: "step 13 of" in browser.execute_script(count))


def test_a_phone_has_everything_in_its_width(browser, address):
    browser.set_window_size(390, 844)
    open_page(browser, address)
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.execute_script(wide) <= 0


def test_claims_are_listed(browser, address):
    browser.set_window_size(1280, 1000)
    browser.get("about:blank")
    browser.get(address + "?room=claims")
    rows = "return document.querySelectorAll('.claims tbody tr').length"
    until(browser, lambda: browser.execute_script(rows) > 40)
    until(browser, lambda: browser.find_element(By.ID, "judge").is_displayed())
