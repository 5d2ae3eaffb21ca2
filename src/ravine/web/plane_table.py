"""The plane as a table to take away."""

from __future__ import annotations

from ravine.web.plane import FINE, alpha_axis, beta_axis, methods, rungs_at
from ravine.web.quantities import QUANTITIES
from ravine.web.view import View


def plane_csv(view: View) -> str:
    """The plane as a table: step, momentum, every rung, and the quantity in colour."""
    plane = methods(view, FINE)
    columns = rungs_at(view, plane)
    if view.colour != "regions":
        columns[view.colour] = QUANTITIES[view.colour].values(view, plane)

    names = ["alpha_L", "beta", *columns]
    lines = [",".join(names)]
    alphas = alpha_axis(view, FINE)
    betas = beta_axis(FINE)
    for row, beta in enumerate(betas):
        for column, alpha in enumerate(alphas):
            values = [alpha, beta, *(table[row, column] for table in columns.values())]
            lines.append(",".join(f"{value:.9g}" for value in values))

    return "\n".join(lines) + "\n"
