"""The page in a real browser, as a person uses it."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import ravine
from ravine.claims import CLAIMS
from ravine.web.answers import digits
from ravine.web.view import CONTROLS

pytestmark = pytest.mark.xdist_group("browser")

WAIT = 300  # seconds at most; a busy machine may need them, a quiet one needs one
WIDE = (1280, 1000)
PHONE = (390, 844)
PUT = """const [e, value] = arguments;
e.value = value;
e.dispatchEvent(new Event('input', {bubbles: true}));"""
INK = """const c = document.querySelector(`#${arguments[0]} canvas`);
const pixels = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
return new Set(new Uint32Array(pixels.buffer)).size"""
TOO_WIDE = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"

# Elements that reach beyond the screen, and lists whose words do not fit into them.
CUT = """const wide = document.documentElement.clientWidth;
const pen = document.createElement('canvas').getContext('2d');
const cut = [];
for (const one of document.querySelectorAll('main:not([hidden]) *')) {
  const { right, width } = one.getBoundingClientRect();
  if (width && right > wide + 1) cut.push(one.id || one.outerHTML.slice(0, 80));
  if (one.tagName !== 'SELECT' || !width) continue;
  pen.font = getComputedStyle(one).font;
  for (const { text } of one.options) {
    if (pen.measureText(text).width > one.clientWidth - 34) cut.push(text);
  }
}
return cut"""


def until(browser, condition):
    return WebDriverWait(browser, WAIT, poll_frequency=0.1).until(lambda _: condition())


def text(browser, identity):
    return browser.execute_script(
        "return document.getElementById(arguments[0])?.textContent", identity
    )


def value(browser, identity):
    return browser.execute_script("return document.getElementById(arguments[0]).value", identity)


def visible(browser, identity):
    return browser.find_element(By.ID, identity).is_displayed()


def errors(browser):
    return [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]


def open_page(browser, address, query="", shape=WIDE, motion="reduce"):
    browser.get("about:blank")
    errors(browser)
    metrics = {"width": shape[0], "height": shape[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-reduced-motion", "value": motion}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(address + query)
    until(browser, lambda: text(browser, "rung-worst_case_rate"))


def click(browser, identity):
    browser.execute_script("document.getElementById(arguments[0]).click()", identity)


def put(browser, name, words):
    browser.execute_script(PUT, browser.find_element(By.ID, f"box-{name}"), str(words))


def expected(Q, step, beta):
    rungs = ravine.ladder(ravine.Curvature(1, Q), ravine.Method(step / Q, beta))
    return digits(rungs.worst_case_rate)


def shown(browser):
    script = "return document.getElementById('view-explore')?.dataset.shown"
    return browser.execute_script(script)


@pytest.fixture(scope="module")
def opened(browser, address):
    open_page(browser, address)
    return browser


@pytest.fixture
def page(opened, address):
    """The page with the point at the textbook parameters, whatever was done before."""
    usual = "beta=0.699558"
    others = "tab=", "axis=", "seed=", "n=", "K=", "job="
    there = shown(opened) is not None and visible(opened, "view-explore")
    if not there or any(name in opened.current_url for name in others):
        open_page(opened, address)
    for name, number in (("Q", "32"), ("step", "1"), ("beta", "0.699558"), ("gamma", "")):
        put(opened, name, number)
    Select(opened.find_element(By.ID, "example")).select_by_value("turning")
    Select(opened.find_element(By.ID, "colour")).select_by_value("regions")
    until(opened, lambda: shown(opened) == usual)
    return opened


@pytest.fixture
def quick(monkeypatch):
    """A diagnosis that takes as little time as it can."""
    monkeypatch.setattr("ravine.web.server.SECONDS", 0.2)


# --- the first screen -----------------------------------------------------------------------


def test_the_first_screen_plays_the_four_quadratics(browser, address):
    open_page(browser, address, motion="no-preference")
    story = browser.find_element(By.CSS_SELECTOR, ".story [data-example='turning']")
    assert story.text.startswith("Four quadratics. Plain SGD converges on them.")
    assert value(browser, "example") == "turning"
    assert text(browser, "play") == "Pause"
    until(browser, lambda: "of 60" in text(browser, "at-step"))
    until(browser, lambda: text(browser, "play") == "Play")
    knob = browser.find_element(By.ID, "knob").rect
    area = browser.find_element(By.CSS_SELECTOR, "#plane .u-over").rect
    across = (knob["x"] + knob["width"] / 2 - area["x"]) / area["width"]
    assert across == pytest.approx(1.0 / 2.5, abs=0.01)
    for picture in ("plane", "run", "path"):
        assert browser.execute_script(INK, picture) > 15
    assert text(browser, "run-legend") == "your methodSGD at 2/(μ+L)"
    assert "Diverges for some finite sums" in text(browser, "verdict")
    assert "diverges even with exact gradients" in text(browser, "plane-legend")
    assert errors(browser) == []


def test_numbers_are_the_library_s(page):
    c = ravine.Curvature(1, 32)
    rungs = ravine.ladder(c, ravine.nesterov(c))
    assert text(page, "rung-worst_case_rate") == digits(rungs.worst_case_rate)
    assert text(page, "rung-spectral_radius") == digits(rungs.spectral_radius)


def test_the_tour_has_three_steps(page):
    click(page, "start-tour")
    for place in (1, 2, 3):
        assert text(page, "tour-place") == f"{place} of 3"
        assert len(page.find_elements(By.CSS_SELECTOR, ".toured")) == 1
        click(page, "tour-next")
    assert not visible(page, "tour")
    assert not page.find_elements(By.CSS_SELECTOR, ".toured")


# --- controls -------------------------------------------------------------------------------


def test_every_slider_moves_its_box(page):
    for name in [name for name, one in CONTROLS.items() if one.slider]:
        before = value(page, f"box-{name}")
        slider = page.find_element(By.ID, f"slide-{name}")
        low, high = (float(slider.get_attribute(end)) for end in ("min", "max"))
        page.execute_script(PUT, slider, low + 0.37 * (high - low))
        assert value(page, f"box-{name}") != before
        assert CONTROLS[name].read(value(page, f"box-{name}")) is not None
        put(page, name, before)
        assert float(value(page, f"slide-{name}")) != pytest.approx(low + 0.37 * (high - low))


def test_a_logarithmic_slider_reaches_zero(page):
    slider = page.find_element(By.ID, "slide-sigma2")
    page.execute_script(PUT, slider, slider.get_attribute("min"))
    assert value(page, "box-sigma2") == "0"
    put(page, "sigma2", "0.01")


def test_what_does_nothing_is_hidden(page):
    def hidden(name):
        script = "return document.getElementById(arguments[0]).hidden"
        return page.execute_script(script, f"control-{name}")

    until(page, lambda: hidden("sigma2"))
    assert hidden("n")
    assert hidden("K")
    assert not page.find_elements(By.ID, "slide-seed")
    Select(page.find_element(By.ID, "example")).select_by_value("noise")
    until(page, lambda: not hidden("sigma2"))
    assert not hidden("K")
    assert hidden("n")


def test_a_typed_value_out_of_range_has_a_message_and_leaves_the_point(page):
    knob = page.find_element(By.ID, "knob")
    place = knob.rect
    put(page, "beta", "1.5")
    assert text(page, "message-beta") == "momentum β: a number from -1 to 1"
    assert knob.rect == place
    put(page, "step", "7")
    assert "from 0.001 to 2.5" in text(page, "message-step")
    assert shown(page) == "beta=0.699558"
    put(page, "beta", "0.5")
    put(page, "step", "1")
    until(page, lambda: text(page, "rung-worst_case_rate") == expected(32, 1, 0.5))
    assert text(page, "message-beta") == text(page, "message-step") == ""
    assert errors(page) == []


def test_begin_with_follows_the_point(page):
    Select(page.find_element(By.ID, "preset")).select_by_value("heavy-ball")
    beta = float(ravine.heavy_ball(ravine.Curvature(1, 32)).beta)
    until(page, lambda: float(value(page, "box-beta")) == pytest.approx(beta, rel=1e-5))
    until(page, lambda: "gamma=0.0" in (shown(page) or ""))
    until(page, lambda: value(page, "preset") == "heavy-ball")
    put(page, "beta", "0.4")
    until(page, lambda: value(page, "preset") == "")


def test_dragging_the_point_moves_the_method(page):
    knob = page.find_element(By.ID, "knob")
    ActionChains(page, duration=50).drag_and_drop_by_offset(knob, 60, 80).perform()

    def shown_is_computed():
        # Both boxes anew each time: the last of the drag may still be on its way.
        step, beta = (float(value(page, f"box-{name}")) for name in ("step", "beta"))
        moved = step > 1.0 and beta < 0.69
        return moved and text(page, "rung-worst_case_rate") == expected(32, step, beta)

    until(page, shown_is_computed)


def test_dragging_beyond_the_frame_stays_in_the_plane(page):
    knob = page.find_element(By.ID, "knob")
    ActionChains(page, duration=50).drag_and_drop_by_offset(knob, -220, -190).perform()
    until(page, lambda: value(page, "box-beta") == "1")
    assert float(value(page, "box-step")) == pytest.approx(0.001, abs=1e-6)


def test_the_cursor_s_numbers_are_those_of_its_place(page):
    over = page.find_element(By.CSS_SELECTOR, "#plane .u-over")
    ActionChains(page, duration=50).move_to_element_with_offset(over, 20, 100).perform()
    ActionChains(page, duration=50).move_to_element_with_offset(over, 25, 90).perform()
    until(page, lambda: text(page, "cursor-worst_case_rate") not in ("", "–"))
    small, large = (
        float(text(page, f"cursor-{name}")) for name in ("spectral_radius", "worst_case_rate")
    )
    assert small <= large


def test_a_quantity_in_colour_has_its_bar(page):
    Select(page.find_element(By.ID, "colour")).select_by_value("floor")
    until(page, lambda: "E‖y − x*‖², k → ∞" in text(page, "plane-legend"))
    assert "r* = 1" in text(page, "plane-legend")
    assert errors(page) == []


# --- the run --------------------------------------------------------------------------------


@pytest.mark.parametrize("example", ["noise", "inconsistent"])
def test_a_run_is_stepped_and_played(page, example):
    Select(page.find_element(By.ID, "example")).select_by_value(example)
    put(page, "K", "4")
    until(page, lambda: {f"example={example}", "K=4"} <= {*shown(page).split("&")})
    click(page, "rewind")
    assert text(page, "at-step") == "step 0 of 4"
    click(page, "advance")
    assert text(page, "at-step") == "step 1 of 4"
    click(page, "play")
    until(page, lambda: text(page, "play") == "Play")
    assert text(page, "at-step") == ""
    assert errors(page) == []


def test_new_random_draws_change_the_run(page):
    Select(page.find_element(By.ID, "example")).select_by_value("noise")
    until(page, lambda: "example=noise" in shown(page))
    click(page, "reseed")
    until(page, lambda: "seed=1" in shown(page))


# --- the address ----------------------------------------------------------------------------


def test_a_reload_restores_everything(browser, address):
    query = "?Q=8.0&step=0.7&beta=0.3&colour=worst_case_rate&axis=log&example=inconsistent&n=7"
    open_page(browser, address, query)
    assert text(browser, "rung-worst_case_rate") == expected(8, 0.7, 0.3)
    put(browser, "beta", "0.25")
    until(browser, lambda: "beta=0.25" in browser.current_url)
    browser.refresh()
    until(browser, lambda: text(browser, "rung-worst_case_rate") == expected(8, 0.7, 0.25))
    boxes = {"Q": "8", "step": "0.7", "beta": "0.25", "n": "7"}
    assert {name: value(browser, f"box-{name}") for name in boxes} == boxes
    lists = {"colour": "worst_case_rate", "axis": "log", "example": "inconsistent", "preset": ""}
    assert {name: value(browser, name) for name in lists} == lists
    assert errors(browser) == []


# --- code, pictures, themes -----------------------------------------------------------------


def test_the_code_is_for_what_is_shown(page):
    put(page, "beta", "0.125")
    until(page, lambda: "0.125" in text(page, "python"))
    page.find_element(By.ID, "open-share").send_keys(Keys.ENTER)
    assert visible(page, "command")
    assert "--beta 0.125" in text(page, "command")
    ActionChains(page).send_keys(Keys.ESCAPE).perform()
    until(page, lambda: not visible(page, "command"))


def test_pictures_and_numbers_can_be_taken_away(page, tmp_path):
    allow = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.execute_cdp_cmd("Browser.setDownloadBehavior", allow)
    page.find_element(By.ID, "open-share").send_keys(Keys.ENTER)
    for one in page.find_elements(By.CSS_SELECTOR, "[data-save], #share a[download]"):
        one.click()
    begins = {
        "ravine-plane.png": b"\x89PNG", "ravine-run.png": b"\x89PNG", "ravine-plane.svg": b"<?xml",
        "ravine-plane.pdf": b"%PDF", "ravine-plane.csv": b"alpha_L,beta,spectral_radius",
    }  # fmt: skip
    until(page, lambda: all((tmp_path / name).exists() for name in begins))
    for name, begin in begins.items():
        assert (tmp_path / name).read_bytes().startswith(begin)
    click(page, "close-share")


def test_light_and_dark(page):
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = page.execute_script(ground)
    click(page, "toggle-theme")
    assert page.execute_script(ground) != before
    page.refresh()
    until(page, lambda: text(page, "rung-worst_case_rate"))
    assert page.execute_script(ground) != before
    click(page, "toggle-theme")
    assert page.execute_script(ground) == before
    assert errors(page) == []


# --- keyboard and names ---------------------------------------------------------------------


def test_the_page_is_used_with_the_keyboard_alone(browser, address):
    open_page(browser, address)

    def press(*keys):
        ActionChains(browser).send_keys(*keys).perform()

    def tab_to(name):
        for _ in range(60):
            press(Keys.TAB)
            if browser.switch_to.active_element.get_attribute("id") == name:
                return
        raise AssertionError(f"Tab does not reach {name}")

    tab_to("start-tour")
    press(Keys.ENTER)
    assert text(browser, "tour-place") == "1 of 3"
    press(Keys.ESCAPE)
    assert not visible(browser, "tour")
    tab_to("preset")
    tab_to("knob")
    press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert float(value(browser, "box-step")) == pytest.approx(0.98)
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_UP).key_up(Keys.SHIFT).perform()
    assert float(value(browser, "box-beta")) == pytest.approx(0.700558)
    knob = browser.find_element(By.ID, "knob")
    assert "step size 0.98" in knob.get_attribute("aria-valuetext")
    tab_to("play")
    press(Keys.SPACE)
    assert text(browser, "play") == "Pause"
    tab_to("slide-Q")
    press(Keys.ARROW_RIGHT)
    assert float(value(browser, "box-Q")) > 32.0
    tab_to("box-beta")
    press("0.5")  # Tab has selected what stood there
    assert value(browser, "box-beta") == "0.5"
    tab_to("tab-explore")
    press(Keys.ARROW_RIGHT)
    assert visible(browser, "view-data")
    assert not visible(browser, "open-share")
    press(Keys.ARROW_RIGHT)
    assert visible(browser, "view-claims")
    assert errors(browser) == []


def test_everything_has_a_name_for_a_screen_reader(page):
    page.execute_cdp_cmd("Accessibility.enable", {})
    tree = page.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    page.execute_cdp_cmd("Accessibility.disable", {})
    asked = {"slider", "textbox", "combobox", "button", "tab", "spinbutton", "checkbox"}
    nameless = [
        node["role"]["value"]
        for node in tree
        if not node.get("ignored")
        and node.get("role", {}).get("value") in asked
        and not node.get("name", {}).get("value")
    ]
    assert nameless == []


# --- a phone --------------------------------------------------------------------------------


@pytest.mark.parametrize("tab", ["explore", "data", "claims"])
def test_nothing_is_cut_off_on_a_phone(browser, address, quick, tab):
    chosen = "&dataset=diabetes&standardise=1&job=none" if tab == "data" else ""
    open_page(browser, address, f"?tab={tab}{chosen}", PHONE)
    if tab == "data":
        until(browser, lambda: visible(browser, "data-curves-card"))
    assert browser.execute_script(TOO_WIDE) <= 0
    assert browser.execute_script(CUT) == []
    if tab == "explore":
        tops = [
            browser.find_element(By.ID, name).rect["y"]
            for name in ("plane-card", "verdict-card", "run-card", "controls-card")
        ]
        assert tops == sorted(tops)
    assert errors(browser) == []


# --- claims ---------------------------------------------------------------------------------


def test_claims_have_their_verdicts_at_once_and_can_be_measured_again(browser, address):
    open_page(browser, address, "?tab=claims")
    until(browser, lambda: text(browser, "claims-counts"))
    rows = browser.find_elements(By.CSS_SELECTOR, "#claims tr")
    assert len(rows) == len(CLAIMS)
    assert all(row.text.split()[-1] in ("holds", "hold", "correction") for row in rows)
    buttons = browser.find_elements(By.CSS_SELECTOR, "#figures button")
    browser.execute_script("arguments[0].click()", buttons[0])
    until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, ".fresh"))
    click(browser, "claims-cancel")
    until(browser, lambda: not visible(browser, "claims-work"))
    assert errors(browser) == []


# --- data -----------------------------------------------------------------------------------


def upload(browser, path):
    browser.find_element(By.ID, "file").send_keys(str(path))


def test_a_good_table_is_judged_and_restored_and_a_bad_one_refused(
    browser, address, quick, tmp_path
):
    open_page(browser, address, "?tab=data")
    bad = tmp_path / "bad.csv"
    bad.write_text("<script>alert(1)</script>\n")
    upload(browser, bad)
    until(browser, lambda: text(browser, "data-message"))
    assert "\n" not in text(browser, "data-message")

    good = tmp_path / "good.csv"
    rows = [f"{i % 7},{(3 * i) % 5},{i % 7 + 2 * ((3 * i) % 5) + i % 3}" for i in range(64)]
    good.write_text("\n".join(["<b>one</b>,two,target", *rows]) + "\n")
    browser.execute_script(PUT, browser.find_element(By.ID, "batch_size"), "8")
    upload(browser, good)
    until(browser, lambda: "64 rows" in text(browser, "data-read"))
    until(browser, lambda: visible(browser, "data-plane-card"))
    assert text(browser, "data-html").startswith("What to do")
    assert "torch.optim" in text(browser, "code-torch")
    assert not browser.find_elements(By.CSS_SELECTOR, "#data-answer b")
    assert browser.execute_script(INK, "data-curves") > 10

    click(browser, "judge-point")
    until(browser, lambda: "Testing" in text(browser, "data-judged"))
    until(browser, lambda: "lr" in text(browser, "data-judged"))

    verdict = text(browser, "data-html")
    until(browser, lambda: "tab=data" in browser.current_url)
    browser.refresh()
    until(browser, lambda: visible(browser, "data-plane-card"))
    assert value(browser, "batch_size") == "8"
    assert text(browser, "data-html") == verdict
    assert value(browser, "data-bar") == 1
    assert errors(browser) == []


def test_long_work_can_be_cancelled(browser, address):
    open_page(browser, address, "?tab=data")
    Select(browser.find_element(By.ID, "dataset")).select_by_value("digits")
    until(browser, lambda: visible(browser, "data-cancel"))
    click(browser, "data-cancel")
    assert not visible(browser, "data-work")
    until(browser, lambda: "job=&" in browser.current_url or "job" not in browser.current_url)


# --- a server that is gone ------------------------------------------------------------------


def test_a_dead_server_is_said_and_the_page_goes_on_when_it_is_back(browser, serve, tmp_path):
    served = serve(18157)
    open_page(browser, served.address)
    served.stop()
    put(browser, "beta", "0.5")
    until(browser, lambda: visible(browser, "banner"))
    assert f"ravine explore --port {served.port}" in text(browser, "banner")

    click(browser, "tab-data")
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n3,4\n")
    upload(browser, table)
    until(browser, lambda: text(browser, "data-message"))
    assert text(browser, "data-message") == "t.csv was not read: the server does not answer."

    served.start()
    until(browser, lambda: not visible(browser, "banner"))
    until(browser, lambda: text(browser, "rung-worst_case_rate") == expected(32, 1, 0.5))
    served.stop()
    browser.get("about:blank")
