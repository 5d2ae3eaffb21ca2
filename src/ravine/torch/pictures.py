"""Pictures of advice and of a monitored run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ravine.torch.advice import Advice


def draw_advice(advice: Advice, path: str | None = None) -> Any:
    """The loss that each lr reached, those that blew up, the limit, and what is recommended."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 3.2), layout="constrained")
    axes = figure.subplots()
    for momentum in dict.fromkeys(row.momentum for row in advice.rows):
        kept = [r for r in advice.rows if r.momentum == momentum and r.outcome != "blew up"]
        name = "" if momentum is None else f"momentum {momentum:g}"
        kept.sort(key=lambda row: row.lr)
        axes.plot([r.lr for r in kept], [r.loss for r in kept], "o-", ms=4, label=name)

    lost = [row.lr for row in advice.rows if row.outcome == "blew up"]
    axes.plot(lost, [advice.start_loss] * len(lost), "x", color="firebrick", label="blew up")
    axes.axhline(advice.start_loss, color="grey", lw=0.8, ls=":")
    axes.axvline(advice.lr, color="seagreen", lw=1.2, label=f"lr = {advice.lr:.3g}")
    if advice.limit is not None:
        axes.axvline(advice.limit, color="firebrick", lw=0.8, ls="--", label="mean-square limit")

    axes.set(xscale="log", xlabel="lr", ylabel="loss")
    axes.legend(fontsize=7)
    if path is not None:
        figure.savefig(path, dpi=150)

    return figure
