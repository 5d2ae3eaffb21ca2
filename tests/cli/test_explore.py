import pytest

pytest.importorskip("flask", reason="the page needs ravine[web]")

import ravine.web


@pytest.fixture
def opened(monkeypatch):
    """What the page is asked to open with, instead of opening it."""
    asked = []
    monkeypatch.setattr(ravine.web, "explore", lambda **options: asked.append(options))
    return asked


def test_the_page_opens_here_in_a_browser(ravine, opened):
    assert ravine("explore").code == 0
    assert opened == [{"host": "127.0.0.1", "port": 8057, "browser": True, "inline": False}]


def test_options_reach_the_page(ravine, opened):
    ravine("explore", "--port", 9000, "--host", "0.0.0.0", "--no-browser")
    assert opened == [{"host": "0.0.0.0", "port": 9000, "browser": False, "inline": False}]


def test_a_port_that_is_no_number_is_one_line(refused, opened):
    assert "Invalid value for '--port'" in refused("explore", "--port", "nine")
    assert opened == []


def test_a_wrong_port_is_one_line(refused):
    assert "port" in refused("explore", "--port", -1, "--no-browser")
