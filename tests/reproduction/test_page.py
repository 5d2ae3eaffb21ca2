"""The report: one file with every picture and every judgement."""

import re

import pytest

from ravine import reproduction as running
from ravine.claims import CLAIMS
from ravine.reproduction import reproduction_page


@pytest.fixture
def report(tmp_path, reproduce, monkeypatch):
    done, _ = reproduce(tmp_path)
    monkeypatch.setattr(running, "CLAIMS", CLAIMS)
    reproduction_page(done).write(tmp_path / "report.html")
    return done, (tmp_path / "report.html").read_text(encoding="utf-8")


def test_needs_no_other_file(report):
    _, page = report
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert "<script" not in page
    assert page.count("data:image/png;base64,") == 2


def test_shows_every_verdict_with_its_numbers(report):
    done, page = report
    assert "Of 2 claims, 1 hold, 1 hold with a correction, 0 do not hold." in page
    assert done.judged[1].claim.statement in page
    assert '<td class="unsure">holds with a correction</td>' in page
    assert '<td class="good">holds</td>' in page


def test_says_what_made_it_and_what_is_missing(report):
    done, page = report
    assert "Seed 0." in page
    assert "resolution = 24" in page
    assert f"{len(done.left_out)} more claims need figures that were not requested: " in page
    assert "figure-1, figure-2, figure-3, least-squares" in page
    assert "scikit-learn" in page
    assert "The rungs are in order on 100.0% of the pixels." in page
