import io
import json
import sys

import pytest

from ravine.web import worker
from ravine.web.tasks import TASKS


class Pipe:
    """Standard input or output, as bytes."""

    def __init__(self, content=b""):
        self.buffer = io.BytesIO(content)


@pytest.fixture
def said(monkeypatch):
    """Run the worker on a question and return what it says; limits are not this process's."""
    monkeypatch.setattr(worker, "limit", lambda memory, seconds: None)

    def run(question, content=b"", more=()):
        head = json.dumps(question | {"bytes": len(content)}).encode() + b"\n"
        tail = b"".join(json.dumps(line).encode() + b"\n" for line in more)
        out = Pipe()
        monkeypatch.setattr(sys, "stdin", Pipe(head + content + tail))
        monkeypatch.setattr(sys, "stdout", out)
        worker.main(["0", "0"])
        return [json.loads(line) for line in out.buffer.getvalue().splitlines()]

    return run


def test_a_refusal_is_one_line(said):
    answers = said({"task": "diagnose"}, b"\x00\x01\x02")
    assert list(answers[-1]) == ["refusal"]
    assert "\n" not in answers[-1]["refusal"]


def test_more_questions_are_answered_under_their_number(said, monkeypatch):
    def task(question, content, say):
        say(result={"size": len(content)})

        def more(asked):
            if asked["alpha"] < 0:
                raise ValueError("alpha must be positive")
            return asked["alpha"] + 1

        return more

    monkeypatch.setitem(TASKS, "count", task)
    more = [{"number": 1, "alpha": 2}, {"number": 2, "alpha": -1}]
    assert said({"task": "count"}, b"abc", more) == [
        {"result": {"size": 3}},
        {"number": 1, "answer": 3},
        {"number": 2, "answer": {"refusal": "alpha must be positive"}},
    ]


def test_too_much_memory_is_a_refusal(said, monkeypatch):
    def task(question, content, say):
        raise MemoryError

    monkeypatch.setitem(TASKS, "large", task)
    assert "more memory than the page allows" in said({"task": "large"})[0]["refusal"]
