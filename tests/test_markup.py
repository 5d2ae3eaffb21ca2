import re

import numpy as np

from ravine.markup import Span, card, curve, number_line


def test_text_is_never_markup():
    html = card("<b>", [("<i>", "</td>")], sentences=["<script>alert(1)</script>"])
    assert "<b>" not in html
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_falling_curve_goes_down():
    svg = curve(10.0 ** -np.arange(5.0), "errors")
    heights = [float(pair.split(",")[1]) for pair in re.search('points="([^"]*)"', svg)[1].split()]
    assert heights == sorted(heights)
    assert len(heights) == 5


def test_nothing_to_draw_gives_nothing():
    assert curve(np.array([np.inf, np.nan]), "errors") == ""


def test_a_number_line_tells_below_from_above():
    svg = number_line([Span("a", 0.5, 0.5), Span("<b>", 1.5, 1.5), Span("c", 0.9, 1.1)], "rates")
    circles = re.findall(r'<circle cx="([0-9.]+)"[^>]*fill="([^"]*)"', svg)
    assert float(circles[0][0]) < float(circles[1][0])
    assert circles[0][1] != circles[1][1]
    assert svg.count('stroke-width="5"') == 1
    assert "<b>" not in svg


def test_an_infinite_number_stands_at_the_end():
    svg = number_line([Span("a", 0.5, 0.5), Span("b", np.inf, np.inf)], "rates")
    assert "inf" not in svg
    assert "nan" not in svg


def test_sentences_begin_like_sentences():
    assert "The reason" in card("A result", [], sentences=["the reason"])
