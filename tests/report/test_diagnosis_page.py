"""The page of a diagnosis: the verdict first, then why."""

from ravine.report.diagnosis_page import diagnosis_page, write_diagnosis


def test_the_verdict_comes_first_and_pictures_are_embedded(found):
    html = diagnosis_page(found).html()
    first = found.verdict.split(" ")[0]
    assert html.index('class="lead') < html.index(first) < html.index("<table>")
    assert html.count("<svg") == 3
    for heading in ("The methods", "Where it converges", "What would change it", "The data"):
        assert f"<h2>{heading}</h2>" in html
    assert "<c>" not in html


def test_it_is_written(found, tmp_path):
    write_diagnosis(found, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 20_000
