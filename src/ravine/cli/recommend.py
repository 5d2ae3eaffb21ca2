"""``ravine recommend``: parameters with a reason and a guarantee."""

from __future__ import annotations

from typing import Annotated

import typer


def recommend(
    x: Annotated[int, typer.Option()] = 0,
) -> None:
    """Recommend."""
