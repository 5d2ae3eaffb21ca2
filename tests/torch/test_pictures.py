import torch

from ravine.torch import advise


def test_a_picture_shows_what_was_tried(linear, loader, tmp_path):
    advice = advise(linear, torch.nn.functional.mse_loss, loader, budget="quick")
    figure = advice.plot(str(tmp_path / "advice.png"))
    assert (tmp_path / "advice.png").stat().st_size > 1000
    axes = figure.axes[0]
    drawn = sum(len(line.get_xdata()) for line in axes.lines[:2])
    assert drawn == len(advice.rows)
    assert axes.get_xscale() == "log"
    allowed = figure.axes[1]
    curves = [line for line in allowed.lines if len(line.get_xdata()) > 1]
    assert len(curves) == 2 * 4  # four momenta, these batches and any
    limits = advice.limits()
    assert curves[0].get_ydata()[1] == limits[0.0, 16]
