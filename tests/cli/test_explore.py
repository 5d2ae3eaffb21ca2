import pytest

pytest.importorskip("dash", reason="the page needs ravine[web]")


def test_options_reach_the_page(ravine, monkeypatch):
    asked = {}
    monkeypatch.setattr("ravine.web.explore", lambda **options: asked.update(options))
    assert ravine("explore", "--port", 9000, "--host", "localhost", "--no-browser").code == 0
    assert asked == {"host": "localhost", "port": 9000, "browser": False, "inline": False}


def test_a_wrong_port_is_one_line(ravine):
    shown = ravine("explore", "--port", -1, "--no-browser")
    assert shown.code == 2
    assert "port" in shown.err
    assert "Traceback" not in shown.err
