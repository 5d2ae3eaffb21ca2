"""Figure 2: one of n mini-batches disagrees, and its effect on Nesterov's method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from ravine.engine.kernels.finite_sum import ensemble
from ravine.engine.run import run
from ravine.figures.style import BLUE, GREY, RED, Figure, finish, panels, styled
from ravine.methods import nesterov
from ravine.problems import counterexample
from ravine.sampling import Sampling
from ravine.theory.finite_sums.inconsistent_term import (
    counterexample_growth,
    inconsistent_term_moment,
)

MU = 0.05
"""Strong convexity of the paper's example."""

L = 100.0
"""Its smoothness: Q = 2000."""

TERMS = (50, 250, 1000)
"""Numbers of terms of the panels, as in the paper."""

HORIZON = 8
"""Steps after which the mean square of the iid rules is compared; later, rare paths dominate it."""

DRAWN = Sampling.RESHUFFLE_NO_REPEAT
"""The sampling of the runs in the figure: epochs, and no term twice in a row."""

_LINEAR = 0.1
"""Size of the third coordinate, which starts at 1, below which the scale is linear."""

_ROUNDING = 1e-12
"""Smallest half width of the limits of a logarithm: cyclic runs do not vary at all."""

RULES = (
    Sampling.IID,
    Sampling.IID_NO_REPEAT,
    Sampling.CYCLIC,
    Sampling.RESHUFFLE,
    Sampling.RESHUFFLE_NO_REPEAT,
)
"""The rules whose growth is measured: those with a closed form on this example."""

_ZERO = (Sampling.IID, Sampling.RESHUFFLE)
"""Rules under which two visits in a row to the inconsistent term end a trajectory."""

QUANTITIES = ("almost_sure", "mean", "zero", "square")
"""Quantities measured under the rules, each with its closed form and limits."""

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
        Number of trajectories for each measured growth.
    steps
        Steps of the runs in the figure.
    epochs
        Epochs of the measured trajectories; growth is measured over the second half of them. By
        default 20, and 10 for n = 1000.
    seed
        Seed of all random draws.

    Returns
    -------
    xarray.Dataset
        ``third`` (n, step), the third coordinate of y - x*; ``drawn`` where f_n was sampled;
        ``opposed`` where momentum and gradient oppose each other. Over (sampling, n), each with
        ``_exact``, ``_measured``, ``_low``, ``_high``: ``almost_sure`` rate per step (no-repeat
        rules), ``mean`` rate per step of E‖·‖ (rules with epochs), ``zero`` the share of
        trajectories exactly at the optimum, ``square`` E‖·‖² after 8 steps (iid rules). The 95 %
        limits hold for all of these together.
    """
    traces = [
        run(problem, nesterov(problem.curvature), steps, sampling=DRAWN, seed=seed)
        for problem in (counterexample(MU, L, terms) for terms in n)
    ]
    hit = [trace.indices[:, 0] == terms - 1 for trace, terms in zip(traces, n, strict=True)]
    data = xr.Dataset(
        {
            "third": (("n", "step"), [trace.y_errors[:, 2] for trace in traces]),
            "drawn": (("n", "draw"), np.array(hit, dtype=np.float64)),
            "opposed": (("n", "draw"), [trace.opposed[:, 2].astype(float) for trace in traces]),
        },
        coords={"n": list(n), "sampling": [rule.value for rule in RULES]},
        attrs={"mu": MU, "L": L, "trajectories": trajectories, "seed": seed, "horizon": HORIZON},
    )

    # Numbers of rules: three almost sure, three mean, two zero, two square. Bonferroni divides the
    # 5 % among all comparisons, and each share among two sides.
    tail = 0.025 / (len(n) * (3 + 3 + 2 + 2))
    cells = [
        [_measured(terms, rule, epochs or (10 if terms == 1000 else 20), trajectories, tail, seed)
         for terms in n]
        for rule in RULES
    ]  # fmt: skip
    for name in QUANTITIES:
        values = np.array([[cell.get(name, [np.nan] * 4) for cell in row] for row in cells])
        for place, part in enumerate(_PARTS):
            data[f"{name}_{part}"] = (("sampling", "n"), values[..., place])

    return data


def _measured(
    n: int, rule: Sampling, epochs: int, trajectories: int, tail: float, seed: int
) -> dict[str, tuple[float, ...]]:
    """Exact value, measured value and limits of each quantity that a rule has."""
    from scipy.stats import binomtest, norm

    problem = counterexample(MU, L, n)
    method = nesterov(problem.curvature)
    visits = [HORIZON, (epochs + 1) // 2 * n, epochs * n]
    runs = ensemble(
        problem, method, visits, trajectories=trajectories, sampling=rule, seed=seed + 1
    )
    horizon, early, late = np.abs(runs.errors[:, :, 2])
    taken = visits[2] - visits[1]
    z = -norm.ppf(tail) / np.sqrt(trajectories)

    def growth(sense: str, log: float, deviation: float) -> tuple[float, ...]:
        """A growth per step from the logarithm over all steps and its standard deviation."""
        exact = counterexample_growth(problem.curvature, n, sampling=rule, sense=sense)
        half = z * deviation / taken + _ROUNDING
        return float(exact), *np.exp([log / taken, log / taken - half, log / taken + half])

    out: dict[str, tuple[float, ...]] = {}
    if rule in _ZERO:
        hits = int(np.sum(late == 0.0))
        limits = binomtest(hits, trajectories).proportion_ci(1.0 - 2.0 * tail)
        out["zero"] = hit_zero(n, rule, visits[2]), hits / trajectories, *limits
    else:
        logs = np.log(late / early)
        out["almost_sure"] = growth("almost-sure", logs.mean(), logs.std())

    if rule.traits.by_epoch:
        # The ratio of two means from the same trajectories, by linearisation.
        off = late / late.mean() - early / early.mean()
        out["mean"] = growth("mean", np.log(late.mean() / early.mean()), off.std())
    else:
        squares = horizon**2
        exact = inconsistent_term_moment(MU, L, method, n=n, sampling=rule, steps=HORIZON)[-1]
        mean = squares.mean()
        half = z * squares.std()
        out["square"] = float(exact), mean, mean - half, mean + half

    return out


def hit_zero(n: int, rule: Sampling, steps: int) -> float:
    """Probability that f_n was drawn twice in a row, after which the coordinate is zero.

    Examples
    --------
    >>> hit_zero(2, Sampling.IID, 2)
    0.25
    """
    # A step's map of the probabilities of no pair so far, with the last draw another term or f_n.
    p = 1.0 / n
    step = np.array([[1.0 - p, 1.0 - p], [p, 0.0]])
    if rule is Sampling.RESHUFFLE:
        # A pair occurs if one epoch ends with f_n and the next begins with it. After an epoch that
        # ended with f_n, the next without a pair ends with f_n with probability p, and begins and
        # ends with other terms with probability 1 - 2 p.
        step = np.array([[1.0 - p, 1.0 - 2.0 * p], [p, p]])
        steps = steps // n

    return float(1.0 - np.linalg.matrix_power(step, steps)[:, 0].sum())


def growth_agreement(data: xr.Dataset) -> dict[str, float]:
    """Count the measured quantities whose limits contain the exact value.

    Examples
    --------
    >>> import xarray as xr
    >>> values = list(zip(_PARTS, (1.0, 1.1, 0.9, 1.2)))
    >>> growth_agreement(xr.Dataset({f"{q}_{p}": v for q in QUANTITIES for p, v in values}))
    {'compared': 4.0, 'inside': 4.0}
    """
    exact, _, low, high = (
        np.stack([data[f"{name}_{part}"] for name in QUANTITIES]) for part in _PARTS
    )
    inside = (exact >= low) & (exact <= high)
    return {"compared": float(np.isfinite(exact).sum()), "inside": float(inside.sum())}


@styled
def draw_inconsistent_batch(data: xr.Dataset) -> Figure:
    """Draw Figure 2: the third coordinate for each n, with its growth."""
    figure, axes = panels(1, data.sizes["n"], height=2.9, sharey=True)
    largest = 1.0
    for axis, n in zip(axes[0], data["n"].values, strict=True):
        one = data.sel(n=n)

        # Six epochs for few terms, 2500 steps for many, as in the paper.
        shown = min(6 * n if n < 100 else 2500, one.sizes["draw"])
        y = one["third"].values[: shown + 1]
        largest = max(largest, np.abs(y).max())
        axis.plot(np.arange(shown + 1), y, color=BLUE, linewidth=1.0, label="y₃ − x*₃")

        # The point before the step, at which the gradient of f_n was computed.
        hit = np.flatnonzero(one["drawn"].values[:shown])
        axis.plot(hit, y[hit], "o", color=RED, markersize=3.0, zorder=3, label="fₙ was sampled")
        axis.fill_between(
            np.arange(shown), 0.0, 1.0, where=one["opposed"].values[:shown] > 0.0, step="post",
            color=GREY, alpha=0.3, linewidth=0.0, transform=axis.get_xaxis_transform(),
            label="momentum and gradient oppose",
        )  # fmt: skip
        axis.axhline(0.0, color="black", linewidth=0.5)
        exact = float(one["almost_sure_exact"].sel(sampling=DRAWN.value))
        axis.set_title(f"n = {n}: {exact:.5f} per step")
        axis.set(xlabel="step k", ylabel="third coordinate of y − x*", xlim=(0, shown))

    # Logarithmic away from zero on both sides, with about four powers of ten on each.
    first = axes[0, 0]
    first.set_yscale("symlog", linthresh=_LINEAR, linscale=0.7)
    limit = 10.0 ** np.ceil(np.log10(largest) + 0.3)
    powers = np.arange(np.log10(_LINEAR) + 1.0, np.log10(limit) + 0.5)
    kept = 10.0 ** powers[:: int(np.ceil(len(powers) / 4))]
    first.set(ylim=(-limit, limit), yticks=[*-kept[::-1], 0.0, *kept])
    first.minorticks_off()
    return finish(figure, axes, 3)


def findings(data: xr.Dataset) -> list[str]:
    """Measured growth against the closed forms."""
    counts = growth_agreement(data)
    lines = [
        f"{counts['inside']:.0f} of {counts['compared']:.0f} growth rates and shares, measured "
        f"over {data.attrs['trajectories']} trajectories under five sampling rules, have the "
        "closed form within their limits (95 % for all together)."
    ]

    for rule in (Sampling.CYCLIC, Sampling.IID_NO_REPEAT, Sampling.RESHUFFLE_NO_REPEAT):
        one = data.sel(sampling=rule.value)
        rows = zip(one["n"], one["almost_sure_measured"], one["almost_sure_exact"], strict=True)
        pairs = ", ".join(
            f"n = {n.item()}: {measured.item():.5f} (exact {exact.item():.5f})"
            for n, measured, exact in rows
        )
        lines.append(f"Rate per step along almost every path, {rule.value}: {pairs}.")

    shares = ", ".join(
        f"{rule.value} {float(data['zero_measured'].sel(sampling=rule.value)[0]):.3%}"
        for rule in _ZERO
    )
    lines.append(f"At the optimum exactly, n = {int(data['n'][0])}: {shares} of the trajectories.")
    return lines
