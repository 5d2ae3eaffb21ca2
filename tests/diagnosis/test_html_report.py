from ravine.diagnosis.html_report import diagnosis_page


def test_the_verdict_comes_first_and_pictures_are_embedded(found):
    html = diagnosis_page(found).html()
    assert html.index('class="lead') < html.index("<table>")
    assert html.count("<svg") == 3
    for heading in ("The methods", "Where it converges", "The data"):
        assert f"<h2>{heading}</h2>" in html
    assert "<c>" not in html
