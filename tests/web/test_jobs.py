import time

import pytest

from ravine.web.jobs import MOST_JOBS, Jobs


@pytest.fixture
def jobs():
    table = Jobs()
    yield table
    table.close()


LONG = 600.0
"""Seconds to wait for what must come: a busy machine may need some, a quiet one needs few."""


def wait(job):
    until = time.monotonic() + LONG
    while not job.finished and time.monotonic() < until:
        time.sleep(0.05)
    return job


def test_a_figure_is_made_and_its_claims_are_judged(jobs):
    job = wait(jobs.get(jobs.start({"task": "figure", "figure": "nested-regions"})))
    assert job.refusal is None
    assert job.result["picture"].startswith("iVBOR")  # a PNG
    assert job.result["words"]


def test_a_cancelled_job_is_gone(jobs):
    name = jobs.start({"task": "claims"})
    process = jobs.get(name).process
    jobs.cancel(name)
    assert process.wait(timeout=LONG) < 0
    assert jobs.get(name) is None


def test_names_cannot_be_guessed_and_the_oldest_goes(jobs):
    names = [jobs.start({"task": "claims"}) for _ in range(MOST_JOBS + 1)]
    assert len({*names}) == len(names)
    assert min(map(len, names)) >= 20
    assert jobs.get(names[0]) is None
    assert jobs.get("0") is None
    assert jobs.get(None) is None


def test_a_job_over_its_memory_says_so(jobs, monkeypatch):
    monkeypatch.setattr("ravine.web.jobs.MEMORY", 1 << 20)
    job = wait(jobs.get(jobs.start({"task": "claims"})))
    assert job.result is None
    assert "\n" not in job.refusal
