"""What Dash passes on to the page's scripts, which ask Python for everything else.

A slider or a point that moves goes past Dash: each of its updates visits every part of the page,
which takes longer than the answer. ``answers`` has what the scripts ask for.
"""

from __future__ import annotations

from dash import ClientsideFunction, Dash, Input, Output

PICKS = {
    "room": "pick-room",
    "colour": "pick-colour",
    "axis": "pick-axis",
    "sampling": "pick-sampling",
    "example": "pick-example",
}
"""Settings that are picked from a list, and the lists."""


def connect(app: Dash) -> None:
    """Register the callbacks of the plane."""
    app.clientside_callback(
        ClientsideFunction("ravine", "picked"),
        Output("picked", "data"),
        *(Input(identity, "value") for identity in PICKS.values()),
    )

    app.clientside_callback(
        ClientsideFunction("ravine", "begin_with"),
        Output("picked", "clear_data"),
        Input("pick-preset", "value"),
        prevent_initial_call=True,
    )
