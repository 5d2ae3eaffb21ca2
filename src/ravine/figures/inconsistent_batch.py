"""Figure 2: one mini-batch in n that disagrees, and what it does to Nesterov's method."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.figures.entry import FigureEntry
from ravine.figures.style import BLUE, GREY, RED, legend_below, name_panels, panels, styled
from ravine.methods import nesterov
from ravine.problems import counterexample
from ravine.sampling import Sampling
from ravine.theory.finite_sums.counterexample_growth import counterexample_growth
from ravine.theory.finite_sums.inconsistent_term import inconsistent_term_moment

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MU = 0.05
"""Strong convexity of the paper's example."""

L = 100.0
"""Its smoothness: Q = 2000."""

TERMS = (50, 250, 1000)
"""Numbers of terms of the panels, as in the paper."""

EPOCHS = {50: 20, 250: 20, 1000: 10}
"""Epochs of the measured trajectories, by the number of terms: a thousand take the longest."""

HORIZON = 8
"""Steps after which the mean square of the iid rules is compared; later, rare paths make it."""

DRAWN = Sampling.RESHUFFLE_NO_REPEAT
"""The rule of the runs that are drawn: epochs, and no term twice in a row."""

_LINEAR = 0.1
"""Size of the third coordinate, which starts at 1, below which the drawing is linear."""

_ROUNDING = 1e-12
"""Least half width of the limits of a logarithm: cyclic runs do not vary at all."""

RULES = (
    Sampling.IID,
    Sampling.IID_NO_REPEAT,
    Sampling.CYCLIC,
    Sampling.RESHUFFLE,
    Sampling.RESHUFFLE_NO_REPEAT,
)
"""The rules whose growths are measured: those with a closed form on this example."""

_ZERO = (Sampling.IID, Sampling.RESHUFFLE)
"""Those of them under which two visits in a row to the bad term end a trajectory."""

_PARTS = ("exact", "measured", "low", "high")


def inconsistent_batch(
    *,
    n: Sequence[int] = TERMS,
    trajectories: int = 100_000,
    steps: int = 2500,
    epochs: int | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """Data of Figure 2: a run for each n, and the growth of many under every sampling rule.

    Parameters
    ----------
    n
        Numbers of terms, increasing.
    trajectories
        Trajectories behind each measured growth.
    steps
        Steps of the runs that are drawn.
    epochs
        Epochs of the measured trajectories; growth is measured over the second half of them. By
        default 20, and 10 for n = 1000.
    seed
        Of all random draws.

    Returns
    -------
    xarray.Dataset
        ``third`` (n, step), the third coordinate of y - x*; ``drawn`` where f_n was sampled;
        ``opposed`` where momentum and gradient oppose each other. Over (sampling, n), each with
        ``_exact``, ``_measured``, ``_low``, ``_high``: ``almost_sure`` rate per step (no-repeat
        rules), ``mean`` rate per step of E‖·‖ (rules that go by epochs), ``zero`` the share of
        trajectories that are at the optimum exactly, ``square`` E‖·‖² after 8 steps (iid rules).
        Limits are 95 % for all of these together.
    """
    import xarray as xr

    from ravine.engine.run import run

    curvature = Curvature(MU, L)
    traces = [
        run(counterexample(MU, L, terms), nesterov(curvature), steps,
            sampling=DRAWN, seed=seed)
        for terms in n
    ]  # fmt: skip

    third = np.stack([trace.y_errors[:, 2] for trace in traces])
    drawn = np.stack(
        [trace.indices[:, 0] == terms - 1 for trace, terms in zip(traces, n, strict=True)]
    )
    opposed = np.stack([trace.opposed[:, 2] for trace in traces])

    table: dict[str, FloatArray] = {
        f"{name}_{part}": np.full((len(RULES), len(n)), np.nan)
        for name in ("almost_sure", "mean", "zero", "square")
        for part in _PARTS
    }

    # Rules with each quantity: three almost sure, three mean, two zero, two square. Bonferroni
    # shares the 5 % among all comparisons, and each among its two sides.
    comparisons = len(n) * (3 + 3 + 2 + 2)
    z = NormalDist().inv_cdf(1.0 - 0.025 / comparisons)
    for i, rule in enumerate(RULES):
        for j, terms in enumerate(n):
            turns = epochs or EPOCHS.get(terms, 20)
            for name, values in _measured(terms, rule, turns, trajectories, z, seed).items():
                for part, value in zip(_PARTS, values, strict=True):
                    table[f"{name}_{part}"][i, j] = value

    return xr.Dataset(
        {
            "third": (("n", "step"), third),
            "drawn": (("n", "draw"), drawn.astype(np.float64)),
            "opposed": (("n", "draw"), opposed.astype(np.float64)),
            **{name: (("sampling", "n"), values) for name, values in table.items()},
        },
        coords={"n": list(n), "sampling": [rule.value for rule in RULES]},
        attrs={"mu": MU, "L": L, "trajectories": trajectories, "seed": seed, "horizon": HORIZON},
    )


def _measured(
    n: int, rule: Sampling, epochs: int, trajectories: int, z: float, seed: int
) -> dict[str, tuple[float, float, float, float]]:
    """Exact value, measured value and limits of what can be measured under a rule."""
    from ravine.engine.kernels.finite_sum import ensemble

    curvature = Curvature(MU, L)
    problem = counterexample(MU, L, n)
    visits = [HORIZON, (epochs + 1) // 2 * n, epochs * n]
    runs = ensemble(
        problem, nesterov(curvature), visits, trajectories=trajectories, sampling=rule,
        seed=seed + 1,
    )  # fmt: skip
    horizon, early, late = np.abs(runs.errors[:, :, 2])
    taken = visits[2] - visits[1]

    out = {}
    if rule in _ZERO:
        share = float(np.mean(late == 0.0))
        out["zero"] = (hit_zero(n, rule, visits[2]), share, *_limits(share, trajectories, z))
    else:
        logs = np.log(late / early) / taken
        half = z * float(np.std(logs)) / np.sqrt(trajectories) + _ROUNDING
        exact = counterexample_growth(curvature, n, sampling=rule, sense="almost-sure")
        mid = float(np.mean(logs))
        out["almost_sure"] = (float(exact), *np.exp([mid, mid - half, mid + half]))

    if rule.traits.by_epoch:
        exact = counterexample_growth(curvature, n, sampling=rule, sense="mean")
        # The ratio of two means from the same trajectories, by linearisation.
        ratio = late.mean() / early.mean()
        error = np.std(late / late.mean() - early / early.mean()) / np.sqrt(trajectories)
        half = float(z * error / taken) + _ROUNDING
        mid = float(np.log(ratio) / taken)
        out["mean"] = (float(exact), *np.exp([mid, mid - half, mid + half]))
    else:
        squares = horizon**2
        exact = inconsistent_term_moment(
            MU, L, nesterov(curvature), n=n, sampling=rule, steps=HORIZON
        )[-1]
        half = z * squares.std() / np.sqrt(trajectories)
        mean = squares.mean()
        out["square"] = (float(exact), mean, mean - half, mean + half)

    return out


def _limits(share: float, count: int, z: float) -> tuple[float, float]:
    """Clopper and Pearson's limits of a share."""
    from scipy.stats import beta

    tail = 1.0 - NormalDist().cdf(z)
    hits = round(share * count)
    low = float(beta.ppf(tail, hits, count - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1.0 - tail, hits + 1, count - hits)) if hits < count else 1.0
    return low, high


def hit_zero(n: int, rule: Sampling, steps: int) -> float:
    """Probability that f_n was drawn twice in a row, after which the coordinate is zero.

    Examples
    --------
    >>> hit_zero(2, Sampling.IID, 2)
    0.25
    """
    # Probabilities that no pair came yet and that the last draw was another term, or was f_n.
    p = 1.0 / n
    other = 1.0
    last = 0.0

    if rule is Sampling.RESHUFFLE:
        # A pair comes where one epoch ends with f_n and the next begins with it. After an epoch
        # that ended with f_n the next may not begin with it, and so ends elsewhere less often.
        for _ in range(steps // n):
            other, last = (1.0 - p) * other + (1.0 - 2.0 * p) * last, p * (other + last)
    else:
        for _ in range(steps):
            other, last = (1.0 - p) * (other + last), p * other

    return 1.0 - other - last


def growth_agreement(data: xr.Dataset) -> dict[str, float]:
    """How many of the measured growths have the exact one within their limits.

    Examples
    --------
    >>> import xarray as xr
    >>> one = {f"mean_{p}": ("n", [v]) for p, v in zip(_PARTS, (1.0, 1.1, 0.9, 1.2))}
    >>> growth_agreement(xr.Dataset(one))
    {'compared': 1.0, 'inside': 1.0}
    """
    compared = inside = 0.0
    for name in ("almost_sure", "mean", "zero", "square"):
        if f"{name}_exact" in data:
            exact = data[f"{name}_exact"].values
            low = data[f"{name}_low"].values
            high = data[f"{name}_high"].values
            known = np.isfinite(exact)
            compared += known.sum()
            inside += ((exact >= low) & (exact <= high))[known].sum()

    return {"compared": float(compared), "inside": float(inside)}


@styled
def draw_inconsistent_batch(data: xr.Dataset) -> Figure:
    """Draw Figure 2: the third coordinate for each n, with its growth."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    count = data.sizes["n"]
    figure, axes = panels(1, count, height=2.9, sharey=True)
    for axis, n in zip(axes[0], data["n"].values, strict=True):
        _draw_run(axis, data.sel(n=n), int(n))

    ends = [_shown(data.sel(n=n), int(n)) for n in data["n"].values]
    runs = [
        np.abs(run[: end + 1]).max() for run, end in zip(data["third"].values, ends, strict=True)
    ]
    _same_scale(axes, float(max(runs)))
    name_panels(axes)
    handles: list[Any] = [
        Line2D([], [], color=BLUE, label="y₃ − x*₃"),
        Line2D([], [], color=RED, marker="o", linestyle="", markersize=4, label="fₙ was sampled"),
        Patch(color=GREY, alpha=0.3, label="momentum and gradient oppose"),
    ]

    legend_below(figure, handles, 3)
    return figure


def _draw_run(axis: Axes, one: xr.Dataset, n: int) -> None:
    shown = _shown(one, n)
    y = one["third"].values[: shown + 1]
    k = np.arange(shown + 1)
    axis.plot(k, y, color=BLUE, linewidth=1.0)
    hit = np.flatnonzero(one["drawn"].values[:shown] > 0.0)
    # The point before the step: where f_n was asked for its gradient.
    axis.plot(hit, y[hit], "o", color=RED, markersize=3.0, zorder=3)
    axis.fill_between(
        k[:-1], 0.0, 1.0, where=one["opposed"].values[:shown] > 0.0, step="post", color=GREY,
        alpha=0.3, linewidth=0.0, transform=axis.get_xaxis_transform(),
    )  # fmt: skip
    axis.axhline(0.0, color="black", linewidth=0.5)
    exact = float(one["almost_sure_exact"].sel(sampling=DRAWN.value))
    axis.set_title(f"n = {n}: {exact:.5f} per step")
    axis.set(xlabel="step k", ylabel="third coordinate of y − x*")
    axis.set_xlim(0, shown)


def _shown(one: xr.Dataset, n: int) -> int:
    """Steps that a panel shows: six epochs of few terms, 2500 steps of many, as in the paper."""
    return min(6 * n if n < 100 else 2500, one.sizes["draw"])


def _same_scale(axes: npt.NDArray[Any], top: float) -> None:
    """Logarithmic away from zero on both sides, with the same few ticks everywhere."""
    axes[0, 0].set_yscale("symlog", linthresh=_LINEAR, linscale=0.7)
    limit = 10.0 ** np.ceil(np.log10(top) + 0.3)
    axes[0, 0].set_ylim(-limit, limit)
    powers = np.arange(np.log10(_LINEAR) + 1.0, np.log10(limit) + 0.5)
    kept = 10.0 ** powers[:: max(1, int(np.ceil(len(powers) / 4)))]
    axes[0, 0].set_yticks([*-kept[::-1], 0.0, *kept])
    axes[0, 0].minorticks_off()


def _findings(data: xr.Dataset) -> list[str]:
    """Measured growths against their closed forms."""
    counts = growth_agreement(data)
    lines = [
        f"{counts['inside']:.0f} of {counts['compared']:.0f} growths and shares, measured over "
        f"{data.attrs['trajectories']} trajectories under five sampling rules, have the closed "
        "form within their limits (95 % for all together)."
    ]

    for rule in (Sampling.CYCLIC, Sampling.IID_NO_REPEAT, Sampling.RESHUFFLE_NO_REPEAT):
        one = data.sel(sampling=rule.value)
        rows = zip(
            data["n"].values,
            one["almost_sure_measured"].values,
            one["almost_sure_exact"].values,
            strict=True,
        )
        pairs = ", ".join(
            f"n = {int(n)}: {measured:.5f} (exact {exact:.5f})" for n, measured, exact in rows
        )
        lines.append(f"Rate per step along almost every path, {rule.value}: {pairs}.")

    shares = ", ".join(
        f"{rule.value} {float(data['zero_measured'].sel(sampling=rule.value)[0]):.3%}"
        for rule in _ZERO
    )
    lines.append(f"At the optimum exactly, n = {int(data['n'][0])}: {shares} of the trajectories.")
    return lines


FIGURE = FigureEntry(
    name="figure-2",
    title="Figure 2: one inconsistent mini-batch",
    caption="The third coordinate of the paper's example, L = 100, mu = 0.05, standard parameters, "
    "reshuffled without repeat. Above each panel the exact almost sure rate per step. "
    "Logarithmic away from zero.",
    compute=inconsistent_batch,
    draw=draw_inconsistent_batch,
    findings=_findings,
    quick={"trajectories": 2000, "epochs": 6},
)
