import pytest

from ravine.web.theme import THEMES, blank


def luminance(colour):
    """Relative luminance of WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
@pytest.mark.parametrize(("part", "least"), [("ink", 7.0), ("faint", 4.5)])
def test_words_can_be_read(theme, part, least):
    ground, ink = sorted([luminance(theme.ground), luminance(getattr(theme, part))])
    assert (ink + 0.05) / (ground + 0.05) >= least


def test_axes_are_the_caller_s_over_the_usual():
    layout = blank(THEMES["dark"], x={"type": "log"}, y={"range": [0, 1]}, uirevision="a")
    assert layout["xaxis"]["type"] == "log"
    assert layout["yaxis"]["range"] == [0, 1]
    assert layout["yaxis"]["color"] == THEMES["dark"].faint
    assert layout["uirevision"] == "a"
