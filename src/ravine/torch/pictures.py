"""Pictures of advice and of a monitored run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ravine.torch.answer import Advice


def draw_advice(advice: Advice, path: str | None = None) -> Any:
    """The loss that each lr reached, and beside it the map of what the curvature allows."""
    from matplotlib.figure import Figure

    rows = advice.map()
    figure = Figure(figsize=(9.0 if rows else 5.0, 3.2), layout="constrained")
    panels = figure.subplots(1, 2 if rows else 1, squeeze=False)[0]
    _draw_losses(panels[0], advice)
    if rows:
        _draw_map(panels[1], advice)
    if path is not None:
        figure.savefig(path, dpi=150)

    return figure


def _draw_losses(axes: Any, advice: Advice) -> None:
    for momentum, steps in dict.fromkeys((row.momentum, row.steps) for row in advice.rows):
        kept = [
            row for row in advice.rows
            if (row.momentum, row.steps) == (momentum, steps) and row.outcome != "blew up"
        ]  # fmt: skip
        name = f"{steps} steps" + ("" if momentum is None else f", momentum {momentum:g}")
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


def _draw_map(axes: Any, advice: Advice) -> None:
    """Limits of lr against the batch size, by momentum: of these batches, and of any (dashed)."""
    rows = advice.map()
    for i, momentum in enumerate(dict.fromkeys(row.momentum for row in rows)):
        own = [row for row in rows if row.momentum == momentum]
        sizes = [row.batch_size for row in own]
        axes.plot(sizes, [r.limit for r in own], f"C{i}-", label=f"momentum {momentum:g}")
        axes.plot(sizes, [r.iid_limit for r in own], f"C{i}--")

    assert advice.curvature is not None
    axes.plot(
        [advice.curvature.batch_size], [advice.lr], "*", ms=9, color="seagreen", label="advised"
    )
    axes.set(xscale="log", yscale="log", xlabel="batch size", ylabel="limit of lr")
    axes.set_title(advice.scope.split(":")[0] + "; dashed: any batches", fontsize=8)
    axes.legend(fontsize=7)
