"""The verdict in plain words: what happens, why, what to use instead, what would change it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ravine.diagnosis.estimate import Estimate
from ravine.diagnosis.prediction import Fate, Prediction
from ravine.diagnosis.recipe import parameters
from ravine.diagnosis.remedies import Remedy, named_rows

if TYPE_CHECKING:
    from ravine.diagnosis.diagnosis import Diagnosis

_WORTH_SCALING = 2.0
"""Standardising is advised where it leaves so many times less."""
_BETTER = 0.98
"""Below this part of the loss a recipe is called better: the runs tell no less apart."""
_DRIVES = 0.3
"""Share of the instability from which one batch or row is named as its cause."""
_HEAVY = 1.5
"""Times the average curvature from which a batch or row is a cause at all."""
_NAMED_SHARE = 0.1
"""Share of the instability from which a further row is named."""
_SHOWN = 3
"""Batches that are named where no single one drives it."""
_QUICKER = 0.8
"""The fast choice is named where it takes less than this part of the time."""
_ONE_NUMBER = 0.4
"""Widest limits, over the value, of what is said as one number: 20 % to either side."""


def verdict(result: Diagnosis) -> list[str]:
    """The verdict as sentences."""
    subject = result.subject
    sentences = [_headline(result), _opening(result, subject)]
    if subject.fate in (Fate.ERRATIC, Fate.DIVERGES, Fate.UNDECIDED):
        sentences.append(_cause(result, subject))

    sentences += _advice(result, subject)
    sentences.append(_certain(result))
    sentences.append(_safe_for_draws(result))
    sentences.append(_larger_batches(result, subject))
    sentences += _changes(result)
    sentences.append(_left_out(result))

    return [s for s in sentences if s]


def named(prediction: Prediction) -> str:
    """The method's name with its parameters."""
    name = "your method" if prediction.candidate.key == "yours" else prediction.candidate.name
    return f"{name} ({prediction.candidate.recipe.words})"


def share_of_start(result: Diagnosis, square: float) -> float:
    """Root-mean-square distance from x* as a share of the start's."""
    far = math.sqrt(result.survey.start_square)
    return math.sqrt(square) / far if far > 0.0 else math.inf


def loss_share(result: Diagnosis, excess: float) -> float:
    """Excess loss f - f* as a share of the start's."""
    return excess / result.survey.start_excess


def percent(share: float) -> str:
    """A share as a percentage with two or three digits."""
    if not math.isfinite(share):
        return "without limit"
    if share > 10.0:
        return f"{share:.3g} times"
    if share < 0.995:
        return f"{100.0 * share:.2g} %"

    return f"{100.0 * share:.0f} %"


def left_words(result: Diagnosis, excess: Estimate) -> str:
    """An excess loss as a share of the start's: one number where the runs know it, or two."""
    if excess.high - excess.low <= _ONE_NUMBER * excess.value:
        return percent(loss_share(result, excess.value))

    low = percent(loss_share(result, excess.low))
    high = percent(loss_share(result, excess.high))
    return f"between {low} and {high}"


def pace(rate: float) -> str:
    """A rate below 1, with the steps in which it halves the error."""
    if rate <= 0.0:
        return "0 a step"

    steps = math.log(0.5) / math.log(rate) if rate < 1.0 else math.inf
    return f"{digits(rate)} a step, halving the error every {_count(steps)} steps"


def digits(rate: float) -> str:
    """A rate with as many digits as tell it from 1."""
    gap = abs(1.0 - rate)
    if rate >= 100.0:
        return f"{rate:.3g}"
    if 0.0 < gap < 1e-6:
        return f"1 {'-' if rate < 1.0 else '+'} {gap:.1e}"

    places = 3 if gap <= 0.0 else min(9, max(3, 1 - math.floor(math.log10(gap))))
    return f"{rate:.{places}f}"


def growing(rate: float) -> str:
    """A rate above 1 in words."""
    if rate < 2.0:
        return f"{100 * (rate - 1.0):.2g} % a step"

    return f"{rate:.3g} times a step"


def epochs_of(result: Diagnosis, steps: float) -> str:
    """Steps as epochs, in words."""
    epochs = steps / result.survey.cut.steps_per_epoch
    if epochs < 0.95:
        return f"{steps:.0f} steps"

    return f"{epochs:.2g} epochs" if epochs < 10.0 else f"{epochs:.0f} epochs"


def _count(steps: float) -> str:
    if steps < 10:
        return f"{steps:.1f}"

    return f"{steps:.0f}" if steps < 1e5 else f"{steps:.1e}"


def _headline(result: Diagnosis) -> str:
    """Standardise first, where scale is what stands in the way."""
    scaled = result.scaling
    if scaled is None or scaled.gain < _WORTH_SCALING:
        return ""

    return (
        f"Standardise the columns first (--standardise): after {result.epochs} epochs "
        f"{percent(scaled.share_after)} of the excess loss are left at best, instead of "
        f"{percent(scaled.share_before)}; the condition number falls from "
        f"{result.survey.curvature.Q:.3g} to {scaled.Q:.3g}."
    )


def _opening(result: Diagnosis, subject: Prediction) -> str:
    cut = result.survey.cut
    where = f"With batch size {cut.batch_size} and batches {cut.phrase}, {named(subject)}"
    if cut.steps_per_epoch == 1:
        where = f"With all rows in one batch, {named(subject)}"

    near = "" if result.survey.quadratic else " near the minimiser"
    if subject.spectral_radius >= 1.0 and subject.fate is not Fate.USELESS:
        product = float(subject.candidate.method.alpha) * float(result.survey.curvature.L)
        return (
            f"{where} diverges on this data{near}: even exact gradients grow "
            f"{growing(subject.spectral_radius)}, as its step times the largest curvature is "
            f"{product:.3g}."
        )

    if subject.fate is Fate.DIVERGES:
        return (
            f"{where} diverges on this data{near}: almost every run grows"
            f"{_by_rate(subject.almost_sure.value)}{_mean_square_grows(subject)}."
        )

    if subject.fate is Fate.ERRATIC:
        return (
            f"{where} is erratic on this data: single runs may come back, but in mean square the "
            f"error grows{_by_rate(subject.rate)}, in bursts."
        )

    if subject.fate is Fate.UNDECIDED:
        low = math.sqrt(subject.mean_square.low)
        high = math.sqrt(subject.mean_square.high)
        return (
            f"{where} is on the edge: its mean-square growth lies between {digits(low)} and "
            f"{digits(high)} a step{_measured(result, subject, '; ')}."
        )

    if subject.fate is Fate.USELESS:
        return (
            f"{where} is of no use on this data: it stays bounded, but {_noise(result, subject)}."
        )

    return f"{where} converges{near} at {pace(subject.rate)}{_left(result, subject)}."


def _noise(result: Diagnosis, subject: Prediction) -> str:
    """What makes a bounded method useless: its floor, or where its runs ended."""
    floor = subject.floor_excess
    if floor is not None and floor.value >= result.survey.start_excess:
        share = loss_share(result, floor.value)
        return f"its noise leaves {percent(share)} of the excess loss it starts with in the end"

    return f"its runs end no better than they began{_measured(result, subject, ': ')}"


def _by_rate(rate: float) -> str:
    return f" {growing(rate)}" if rate > 1.0 else ""


def _mean_square_grows(subject: Prediction) -> str:
    return f", the mean square {growing(subject.rate)}" if subject.rate > 1.0 else ""


def _measured(result: Diagnosis, prediction: Prediction, before: str) -> str:
    if prediction.excess_after is None:
        return f"{before}after {result.epochs} epochs a run had diverged"

    left = left_words(result, prediction.excess_after)
    return f"{before}after {result.epochs} epochs {left} of the excess loss are left"


def _left(result: Diagnosis, prediction: Prediction) -> str:
    """What remains of the excess loss, and of the distance, in shares of the start's."""
    if result.survey.interpolates:
        return ", to the minimiser itself, which all batches share"
    if prediction.excess_after is None:
        return ""

    text = _measured(result, prediction, "; ")
    if prediction.error_after is not None:
        share = share_of_start(result, prediction.error_after.value)
        text += f" and {percent(share)} of the distance"

    return text


def _cause(result: Diagnosis, subject: Prediction) -> str:
    if subject.spectral_radius >= 1.0:
        return ""

    why = result.disagreement
    names = ", ".join(repr(name) for name, _ in why.columns)
    along = f"along one direction (mostly {names})"
    if why.shares[0] >= _DRIVES and why.ratios[0] > _HEAVY:
        if not why.batches:
            both = zip(why.rows, why.shares, strict=True)
            lead = {row: share for row, share in both if share >= _NAMED_SHARE}
            part = sum(lead.values())
            which = named_rows(tuple(lead))
            verb = "makes" if len(lead) == 1 else "make"

            return (
                f"The cause is in few rows: {which} {verb} {100 * part:.0f} % of it; row "
                f"{why.rows[0]} has {why.ratios[0]:.3g} times the average curvature {along}."
            )

        rows = ""
        if why.rows:
            verb = "make" if len(why.rows) > 1 else "makes"
            rows = f"; {named_rows(why.rows)} {verb} {100 * sum(why.row_shares):.0f} % of it"

        return (
            f"The cause is batch {why.batches[0]}: it has {why.ratios[0]:.3g} times the average "
            f"curvature {along} and accounts for {100 * why.shares[0]:.0f} % of the instability"
            f"{rows}."
        )

    if not why.batches:
        return f"The cause is that the batches disagree {along}; no few rows drive it."

    several = ", ".join(str(b) for b in why.batches[:_SHOWN])
    ratios = ", ".join(f"{r:.2g}" for r in why.ratios[:_SHOWN])

    return (
        f"The cause is that the batches disagree {along}: no single one drives it, the strongest "
        f"are {several} with {ratios} times the average curvature there."
    )


def _advice(result: Diagnosis, subject: Prediction) -> list[str]:
    """The measured winner of everything that ran, and the fastest to 1 %."""
    best = result.recommendation
    if best is None:
        return ["Nothing that was tried converges in mean square on these batches."]

    if best is subject or (subject.fate is Fate.CONVERGES and best.loss >= _BETTER * subject.loss):
        sentences = [f"Of all that ran here nothing leaves less after {result.epochs} epochs."]
    else:
        share = _best_share(result, best)
        against = ""
        if math.isfinite(subject.loss) and subject.fate is Fate.CONVERGES and best.loss > 0.0:
            against = f", {subject.loss / best.loss:.2g} times less"

        sentences = [
            f"Least loss after {result.epochs} epochs of all that ran here: "
            f"{best.candidate.recipe.words}. It leaves {share} of the excess loss{against}."
        ]

    quick = result.quick
    if quick is not None and quick is not best and quick.to_near < _QUICKER * best.to_near:
        slower = ""
        if math.isfinite(best.to_near):
            slower = f", instead of {epochs_of(result, best.to_near)}"

        sentences.append(
            f"Fastest to 1 %: {quick.candidate.recipe.words}, after "
            f"{epochs_of(result, quick.to_near)}{slower}."
        )

    return sentences


def _best_share(result: Diagnosis, best: Prediction) -> str:
    if best.excess_after is None:
        return percent(loss_share(result, best.loss))

    return left_words(result, best.excess_after)


def _certain(result: Diagnosis) -> str:
    """What is proven for every order of the batches."""
    proven = [p for p in result.predictions if p.candidate.certificate is not None]
    if not proven:
        return ""

    first = proven[0]
    if first is result.recommendation:
        return "This is certified for every order of the batches."

    return (
        f"Certain in every order of the batches: {parameters(first.candidate.method)}, at "
        f"{pace(first.rate)}."
    )


def _safe_for_draws(result: Diagnosis) -> str:
    """Parameters with momentum that are safe in mean square for batches drawn independently."""
    safe = next((p for p in result.predictions if p.candidate.key == "iid"), None)
    if safe is None or float(safe.candidate.method.beta) == 0.0:
        return ""

    size = result.survey.cut.batch_size

    return (
        f"Mean-square safe with momentum for independent batches of {size}: "
        f"{parameters(safe.candidate.method)}, at {pace(safe.rate)}."
    )


def _larger_batches(result: Diagnosis, subject: Prediction) -> str:
    """The batch size from which the judged method converges in mean square."""
    size = result.survey.cut.batch_size
    needed = subject.critical_batch
    if needed is None or needed <= size or subject.fate is Fate.CONVERGES:
        return ""

    if needed >= result.survey.cut.rows:
        return ""

    return (
        f"Its mean square converges from batch size {needed} on, on this data and with batches "
        "drawn independently."
    )


def _changes(result: Diagnosis) -> list[str]:
    if not result.remedies:
        return []

    what = "your method" if result.subject.candidate.key == "yours" else "usual Nesterov"
    good = [r for r in result.remedies if r.works]
    bad = [r for r in result.remedies if not r.works]
    sentences = []

    if good:
        sentences.append(f"Tried on this data, {what} would converge with: {_listed(good)}.")
    if bad:
        sentences.append(f"Not enough for {what}: {_listed(bad)}.")

    return sentences


def _listed(tried: list[Remedy]) -> str:
    return "; ".join(f"{r.action} ({digits(r.rate)} a step)" for r in tried)


def _left_out(result: Diagnosis) -> str:
    if not result.left_out:
        return ""

    return f"Left out for want of time (--time): {'; '.join(result.left_out)}."
