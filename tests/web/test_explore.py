import socket
import sys
import types

import pytest

from ravine.arguments import Refusal
from ravine.web import explore
from ravine.web.explore import HOST, _in_notebook, _listen

PAGE = sys.modules["ravine.web.explore"]


@pytest.fixture
def served(monkeypatch):
    """Let the page be made and not answered: what would have been served is kept."""
    kept = []
    monkeypatch.setattr("ravine.web.server.make_app", lambda **options: options)
    monkeypatch.setattr(PAGE, "_serve", lambda app, listener: (kept.append(app), listener.close()))
    return kept


class ZMQInteractiveShell:
    pass


def notebook(monkeypatch, shell):
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: shell
    display = types.ModuleType("IPython.display")
    display.IFrame = lambda address, **size: (address, size)
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", display)


def test_in_a_notebook_the_page_is_a_frame(served, monkeypatch):
    notebook(monkeypatch, ZMQInteractiveShell())
    address, size = explore(port=18600)
    assert address.startswith("http://127.0.0.1:18")
    assert size["width"] == "100%"


def test_in_a_terminal_it_says_where_it_is(served, monkeypatch, capsys):
    notebook(monkeypatch, None)
    assert explore(port=18610, browser=False) is None
    assert "the page is at http://127.0.0.1:18" in capsys.readouterr().err
    assert served[0]["host"] == HOST


def test_an_open_address_is_said_aloud(served, capsys):
    explore(host="0.0.0.0", port=18620, browser=False, inline=False)
    assert "everyone who reaches this machine can use the page" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("shell", "there"), [(ZMQInteractiveShell(), True), (object(), False), (None, False)]
)
def test_a_notebook_is_told_from_a_terminal(monkeypatch, shell, there):
    notebook(monkeypatch, shell)
    assert _in_notebook() is there


def test_no_notebook_where_ipython_is_not_loaded(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not _in_notebook()


def test_a_busy_port_leads_to_the_next():
    with _listen(HOST, 18500) as first:
        taken = first.getsockname()[1]
        with _listen(HOST, taken) as second:
            assert second.getsockname()[1] > taken


def test_a_browser_that_comes_early_is_not_refused():
    with _listen(HOST, 18550) as listener:
        socket.create_connection(listener.getsockname(), timeout=60).close()


def test_a_foreign_address_is_refused_in_one_line():
    with pytest.raises(Refusal, match=r"host must be an address of this machine"):
        _listen("198.51.100.7", 18600)


def test_a_port_beyond_the_last_is_refused():
    with pytest.raises(Refusal, match="port must be at most 65535"):
        _listen(HOST, 70000)
