"""``ravine compare``: a league table of named methods at one batch size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ravine.cli.options import (
    OUTPUT,
    PROBLEM,
    BatchSize,
    Condition,
    Json,
    LargestTerm,
    LeastTerm,
    Mu,
    Smoothness,
    curvature_from,
    curvature_json,
    method_json,
    one_of,
    option,
)
from ravine.cli.output import coloured, digits, print_json, say, table
from ravine.cli.pictures import check_out, save_picture

if TYPE_CHECKING:
    from ravine.theory.tuning.league import Standing


def compare_command(
    mu: Mu = None,
    L: Smoothness = None,
    Q: Condition = None,
    L_max: LargestTerm = None,
    ratio: Annotated[
        float | None,
        option(PROBLEM, "--L-max-ratio", "L_max/L, instead of --L-max; at least 1.", "N"),
    ] = None,
    mu_min: LeastTerm = None,
    batch_size: BatchSize = None,
    out: Annotated[
        Path | None, option(OUTPUT, "--out", "Picture to write: .png, .svg or .pdf.", "FILE")
    ] = None,
    json: Json = False,
) -> None:
    """Rank named methods, at their published and at their best parameters.

    Rates are per step and guaranteed for every problem with this curvature: with exact gradients,
    with batches drawn independently (root mean square), and in any order. The best parameters have
    the least rate for independent batches at this batch size.

    For example:

    - `ravine compare --Q 1000 --L-max-ratio 10 --batch-size 64`

    - `ravine compare --Q 1000 --L-max-ratio 10 --batch-size 64 --out league.png`
    """
    from ravine.theory.tuning.league import league

    curvature = curvature_from(mu, L, Q)
    share = None if ratio is None else ratio * float(curvature.L)
    most = one_of("L-max", L_max, "L-max-ratio", share)
    size = 1.0 if batch_size is None else batch_size
    if out is not None:
        check_out(out)

    entries = league(curvature, L_max=most, batch_size=size, mu_min=mu_min)
    if out is not None:
        from ravine.figures.league import draw_league, league_curves

        curves = league_curves(curvature, L_max=most, mu_min=mu_min)
        save_picture(draw_league(curves, batch_size=size), out)

    if json:
        print_json(
            {
                "curvature": curvature_json(curvature),
                "L_max": most,
                "batch_size": size,
                "methods": [
                    {
                        "name": one.name,
                        "published": _standing_json(one.published),
                        "best": _standing_json(one.tuned),
                    }
                    for one in entries
                ],
                "out": None if out is None else str(out),
            }
        )
        return

    where = "" if most is None else f", L_max = {most:g}"
    say(f"Q = {float(curvature.Q):g}, L = {float(curvature.L):g}{where}, batch size {size:g}\n")
    head = ("method", "exact", "iid", "worst", "batch", "noise", "best iid", "steps")
    rows = [
        (
            one.name,
            f"{one.published.exact:.4f}",
            coloured(f"{one.published.iid:.4f}", one.published.iid < 1.0),
            coloured(digits(one.published.worst), one.published.worst < 1.0),
            digits(one.published.stable_batch),
            digits(one.published.floor),
            f"{one.tuned.iid:.5f}",
            digits(one.tuned.steps_per_digit),
        )
        for one in entries
    ]
    table(head, rows)
    say(
        "\nRates per step at the published parameters: exact gradients, independent batches, worst "
        "order. batch: smallest batch that is stable in mean square. noise: worst E‖y - x*‖² per "
        "unit of gradient variance. best iid: rate with the best parameters at this batch size; "
        "steps: to a tenth of the error."
    )
    if out is not None:
        say(f"wrote {out}")


def _standing_json(one: Standing) -> dict[str, object]:
    return {
        **method_json(one.method),
        "spectral_radius": one.exact,
        "iid_rate": one.iid,
        "worst_case_rate": one.worst,
        "smallest_stable_batch": one.stable_batch,
        "noise_floor": one.floor,
    }
