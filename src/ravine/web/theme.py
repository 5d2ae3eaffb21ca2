"""The look of the pictures on the page, on light and on dark ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Theme:
    """Colours of a picture. Lines are Okabe and Ito's: told apart with any colour vision."""

    name: str
    ink: str
    faint: str
    grid: str
    ground: str
    nothing: str
    """Where nothing converges."""
    blue: str = "#0072b2"
    orange: str = "#e69f00"
    green: str = "#009e73"
    red: str = "#d55e00"
    sky: str = "#56b4e9"


LIGHT = Theme("light", "#1d2733", "#5a6877", "#dfe5ec", "#ffffff", "#efe9dd")
DARK = Theme("dark", "#e6ebf1", "#9aa7b5", "#2c3642", "#12181f", "#241f1a", blue="#4ba3dd")
THEMES = {"light": LIGHT, "dark": DARK}

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif'


_UNSEEN = {"visible": False}
EMPTY: dict[str, Any] = {
    "data": [],
    "layout": {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": _UNSEEN,
        "yaxis": _UNSEEN,
    },
}
"""What stands where a picture is still to come: nothing, on any ground."""


def blank(theme: Theme, *, x: dict[str, Any], y: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """A layout without frames: quiet axes, room for labels, no title."""
    axis = {
        "color": theme.faint,
        "gridcolor": theme.grid,
        "zeroline": False,
        "linecolor": theme.grid,
        "ticks": "outside",
        "tickcolor": theme.grid,
        "ticklen": 5,
    }

    for own in (x, y):
        if "title" in own:
            own["title"] = {"standoff": 6, "font": {"size": 14}} | own["title"]

    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": theme.ground,
        "font": {"family": FONT, "size": 13, "color": theme.ink},
        "margin": {"l": 58, "r": 12, "t": 10, "b": 48},
        "xaxis": axis | x,
        "yaxis": axis | y,
        "hovermode": False,
        "showlegend": False,
        **rest,
    }
