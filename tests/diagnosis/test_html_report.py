from ravine.diagnosis.report import diagnosis_page


def test_the_verdict_comes_first_and_pictures_are_embedded(found):
    html = diagnosis_page(found).html()
    assert html.index("columns not scaled, no intercept added") < html.index('class="lead')
    assert html.index('class="lead') < html.index("<table>")
    assert html.count("<svg") == 3
    for heading in ("The methods", "Where it converges", "The data"):
        assert f"<h2>{heading}</h2>" in html
    assert "<c>" not in html


def test_a_recommendation_is_not_framed_as_a_failure(broken):
    """The judged setting fails, but the frame is around what to do."""
    assert broken.answer.tone != "good"
    assert broken.recommendation is not None
    assert 'class="lead ">' in diagnosis_page(broken).html()
