"""A running page, and a real browser to look at it with."""

import os
import shutil
import threading

import pytest

pytest.importorskip("dash", reason="the page needs ravine[web]")

CHROMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOW = "install Debian's packages chromium and chromium-driver to run the tests of the page"


def new_driver(width=1280, height=1000):
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = next(filter(None, map(shutil.which, CHROMES)))
    for flag in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--disable-dev-shm-usage", f"--window-size={width},{height}",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = shutil.which("chromedriver")
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.set_script_timeout(300)
    return browser


@pytest.fixture(scope="session")
def address():
    """A server of the page on a free port of this machine, in this process."""
    from waitress import create_server

    from ravine.web.explore import HOST, _listen
    from ravine.web.server import make_app

    listener = _listen(HOST, 18057)
    port = listener.getsockname()[1]
    app = make_app(host=HOST, port=port, warm=False)
    server = create_server(app.server, sockets=[listener], threads=4)
    threading.Thread(target=server.run, daemon=True).start()
    yield f"http://{HOST}:{port}/"
    server.close()


@pytest.fixture(scope="session")
def browser():
    if not any(map(shutil.which, CHROMES)) or shutil.which("chromedriver") is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no browser: {HOW}")
        pytest.skip(HOW)
    driver = new_driver()
    yield driver
    driver.quit()
