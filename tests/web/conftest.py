"""A running page, and a real browser to look at it with."""

import os
import shutil
import threading

import pytest

pytest.importorskip("flask", reason="the page needs ravine[web]")

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


class Served:
    """A server of the page in this process, which can be stopped and started on its port."""

    def __init__(self, port=18057):
        from ravine.web import HOST, _listen

        self.listener = _listen(HOST, port)
        self.port = self.listener.getsockname()[1]
        self.address = f"http://{HOST}:{self.port}/"
        self.start()

    def start(self):
        from waitress import create_server

        from ravine.web import HOST, _listen
        from ravine.web.server import make_app

        if self.listener is None:
            self.listener = _listen(HOST, self.port)
        app = make_app(host=HOST, port=self.port, warm=False)
        self.server = create_server(app, sockets=[self.listener], threads=4)
        threading.Thread(target=self.server.run, daemon=True).start()

    def stop(self):
        # Connections that a browser keeps open are cut as well.
        for channel in list(self.server.active_channels.values()):
            channel.close()
        self.server.close()
        self.listener.close()
        self.listener = None


@pytest.fixture(scope="session")
def address():
    served = Served()
    yield served.address
    served.stop()


@pytest.fixture
def serve():
    """Start a server of one's own on a port."""
    return Served


@pytest.fixture(scope="session")
def browser():
    if not any(map(shutil.which, CHROMES)) or shutil.which("chromedriver") is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no browser: {HOW}")
        pytest.skip(HOW)
    driver = new_driver()
    yield driver
    driver.quit()
