"""The server: what it serves and refuses, long work in processes of its own, and start-up."""

import io
import json
import socket
import sys
import types
from dataclasses import replace

import numpy as np
import pytest

from ravine.arguments import Refusal
from ravine.claims import CLAIMS
from ravine.diagnosis import diagnose
from ravine.diagnosis.prediction import Outcome
from ravine.web import HOST, _in_notebook, _listen, explore
from ravine.web import jobs as work
from ravine.web.claims import claim_list
from ravine.web.data import shown
from ravine.web.jobs import TASKS, Jobs
from ravine.web.server import make_app

PORT = 8123
LONG = 600.0
"""Seconds to wait for what must come: a busy machine may need some, a quiet one needs few."""
TABLE = b"a,b,target\n1,2,3\n4,5,6\n7,8,10\n2,2,1\n"


@pytest.fixture(scope="module")
def client():
    return make_app(host=HOST, port=PORT, warm=False).test_client()


def head(name="localhost:8123"):
    return {"headers": {"Host": name}}


# --- requests -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["127.0.0.1:8123", "localhost:8123", "[::1]:8123"])
def test_this_machine_is_answered(client, name):
    assert client.get("/", **head(name)).status_code == 200


@pytest.mark.parametrize(
    "name", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost.evil:8123"]
)
def test_foreign_names_are_refused(client, name):
    assert client.get("/", **head(name)).status_code == 403


def test_an_open_server_answers_to_every_name():
    client = make_app(host="0.0.0.0", port=PORT, warm=False).test_client()
    assert client.get("/", **head("some.machine:8123")).status_code == 200


def test_everything_comes_from_here(client):
    answer = client.get("/", **head())
    rules = dict(
        rule.split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split("; ")
    )
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert "http" not in answer.get_data(as_text=True)


def test_large_bodies_are_refused(client, monkeypatch):
    monkeypatch.setitem(client.application.config, "MAX_CONTENT_LENGTH", 10)
    assert client.post("/jobs?task=diagnose", data=b" " * 11, **head()).status_code == 413


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("post", "/answer", 400),
        ("post", "/jobs?task=nothing", 400),
        ("post", "/jobs/nobody", 400),
        ("get", "/ravine-plane.exe", 404),
        ("get", "/assets/../server.py", 404),
    ],
)
def test_what_makes_no_sense_is_refused(client, method, path, code):
    assert getattr(client, method)(path, **head()).status_code == code


def test_every_claim_has_a_shipped_verdict():
    told = claim_list()["claims"]
    assert {claim["id"] for claim in told} == {claim.id for claim in CLAIMS}
    assert all("{" not in claim["row"].replace("y_{", "") for claim in told)
    tones = [claim["tone"] for claim in told]
    assert tones == sorted(tones, key=["bad", "unsure", "good"].index)


# --- long work ------------------------------------------------------------------------------


@pytest.fixture
def said(monkeypatch):
    """Run a task on a request and return what it says; limits are not this process's."""
    monkeypatch.setitem(sys.modules, "resource", None)

    def run(request, content=b"", more=()):
        first = json.dumps(request | {"bytes": len(content)})
        lines = [json.dumps(one) for one in more]
        text = "\n".join([first, *lines]).encode() + b"\n"
        cut = len(first) + 1
        stdin = io.BytesIO(text[:cut] + content + text[cut:])
        out = io.StringIO()
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=stdin))
        monkeypatch.setattr(sys, "stdout", out)
        work.main()
        return [json.loads(line) for line in out.getvalue().splitlines()]

    return run


def test_a_refusal_is_one_line(said):
    last = said({"task": "diagnose"}, b"\x00\x01\x02")[-1]
    assert list(last) == ["refusal"]
    assert "\n" not in last["refusal"]


@pytest.mark.parametrize("dataset", ["", "nothing", "/etc/passwd"])
def test_only_data_sets_are_read_by_name(said, dataset):
    last = said({"task": "diagnose", "dataset": dataset})[-1]
    assert last == {"refusal": f"there is no data set {dataset!r}"}


def test_other_points_of_a_table_are_judged(said, monkeypatch):
    monkeypatch.setattr(work, "_AGAIN", 0.1)
    request = {"task": "diagnose", "name": "t.csv", "batch_size": "2", "seconds": 0.1}
    questions = [{"alpha": 0.01, "beta": 0.0}, {"alpha": -1, "beta": 0}, {}]
    told = said(request, TABLE, questions)
    assert "t.csv: 4 rows, 2 columns; to predict: target" in told[1]["parts"][0]
    answers = [one["answer"] for one in told if "answer" in one]
    assert "lr = 0.01" in answers[0]
    assert "alpha" in answers[1]
    assert len(answers) == 3


def test_a_table_on_which_nothing_converges_is_shown_without_code():
    X = np.random.default_rng(0).standard_normal((40, 2))
    result = diagnose(X, X[:, 0], epochs=2, seeds=2, time=1.0, try_remedies=False)
    erratic = tuple(replace(p, outcome=Outcome.ERRATIC) for p in result.predictions)
    html = shown(replace(result, predictions=erratic))["html"]
    assert "No setting that was tried converges" in html
    assert "import numpy" not in html


def test_an_uploaded_table_needs_no_file_in_memory(said, monkeypatch):
    """A system such as macOS or Windows has no ``os.memfd_create``."""
    monkeypatch.delattr("os.memfd_create", raising=False)
    request = {"task": "diagnose", "name": "t.csv", "batch_size": "2", "seconds": 0.1}
    assert "t.csv: 4 rows, 2 columns" in said(request, TABLE, [{}])[1]["parts"][0]


def test_too_much_memory_is_a_refusal(said, monkeypatch):
    def task(request, content, say, questions):
        raise MemoryError

    monkeypatch.setitem(TASKS, "large", task)
    assert "more memory than the page allows" in said({"task": "large"})[0]["refusal"]


def test_a_figure_is_made_and_its_progress_ends_at_one(said):
    told = said({"task": "figure", "figure": "nested-regions"})
    assert told[-1]["result"]["picture"].startswith("iVBOR")  # a PNG
    shares = [one["share"] for one in told if "share" in one]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.fixture
def jobs():
    table = Jobs()
    yield table
    table.close()


def test_a_cancelled_job_is_gone(jobs):
    name = jobs.start({"task": "claims"})
    process = jobs.get(name).process
    jobs.cancel(name)
    assert process.wait(timeout=LONG) < 0
    assert jobs.get(name) is None


def test_names_cannot_be_guessed_and_the_oldest_goes(jobs, monkeypatch):
    monkeypatch.setattr("ravine.web.jobs.MOST_JOBS", 2)
    names = [jobs.start({"task": "no such task"}) for _ in range(3)]
    assert len({*names}) == len(names)
    assert min(map(len, names)) >= 20
    assert jobs.get(names[0]) is None
    assert jobs.get("0") is None


def test_a_job_that_dies_says_so(jobs):
    job = jobs.get(jobs.start({"task": "no such task"}))
    job.process.wait(timeout=LONG)
    job.listener.join(timeout=LONG)
    assert "more time or memory" in job.state["refusal"]
    assert job.ask({}) == ""


# --- start-up -------------------------------------------------------------------------------

PAGE = sys.modules["ravine.web"]


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
    assert "anyone who can reach this machine can use the page" in capsys.readouterr().err


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
