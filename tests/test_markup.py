import re

import numpy as np

from ravine.markup import card, curve


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
