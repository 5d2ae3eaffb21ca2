"""The sentences of an answer: what to do, what is wrong and why, what is guaranteed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ravine.diagnosis.candidates import parameters
from ravine.diagnosis.causes import named_rows
from ravine.diagnosis.prediction import Outcome
from ravine.diagnosis.stability import Estimate
from ravine.digits import counted, rate_digits

if TYPE_CHECKING:
    from ravine.diagnosis.diagnosis import Diagnosis

_DRIVES = 0.3
"""Smallest share of the instability at which a batch or row is named as its cause."""
_HEAVY = 1.5
"""Smallest ratio to the average curvature at which a batch or row is a cause."""
_QUICKER = 0.8
"""The fast choice is named if it takes less than this share of the time."""
_SMALLEST = 1e-5
_LARGEST = 1e4
"""Shares outside this range are shown as bounds."""


def what_to_do(result: Diagnosis) -> str:
    """The first line: the setting to use and the loss that remains."""
    best, subject, scaled = result.recommendation, result.subject, result.scaling
    if best is None:
        works = (r.action for r in result.remedies if r.works)
        instead = next(works, "use larger batches or more l2")
        return f"No setting that was tried converges on these batches. Instead, {instead}."

    left = f"{left_words(result, best.excess_after)} of the excess loss remains"
    recipe = best.candidate.recipe
    during = "of" if recipe.averaged else "for" if recipe.constant else "over"
    words = f"{recipe.words} {during} {counted(result.epochs, 'epoch')}"
    advice = f"Use {words}: {left}"

    if best is subject:
        advice = f"Keep {words}: {left}, and nothing that was tried does better"
    elif subject.outcome is Outcome.CONVERGES and best.loss > 0.0:
        against = f"{times(subject.loss / best.loss)} times less than with {_subject(result)}"
        advice = f"{advice}, {against}"

    if scaled is None or scaled.gain < 2.0:
        return f"{advice}."

    return (
        f"Standardise the columns first: {percent(scaled.share_after)} of the excess loss would "
        f"remain. Otherwise, {advice[0].lower()}{advice[1:]}."
    )


def what_is_wrong(result: Diagnosis) -> str:
    """The second line: what happens with the judged setting, and why."""
    subject = result.subject
    text = f"{_subject(result).capitalize()} ({parameters(subject.candidate.method)})"
    near = "" if result.survey.quadratic else " near the minimum"

    if subject.spectral_radius >= 1.0 and subject.outcome is not Outcome.STALLS:
        product = float(subject.candidate.method.alpha) * float(result.survey.curvature.L)
        return (
            f"{text} diverges{near} even with exact gradients: the error grows by "
            f"{growth(subject.spectral_radius)}, because lr times the largest curvature is "
            f"{product:.3g}."
        )

    match subject.outcome:
        case Outcome.CONVERGES:
            return f"{text} converges{near}: {_settles(result)}."
        case Outcome.STALLS:
            return f"{text} does not learn: the loss stays bounded, but {_useless(result)}."
        case Outcome.DIVERGES:
            sure = subject.almost_sure.value
            grows = ": the error of almost every run grows by " + growth(sure) if sure > 1.0 else ""
            return f"{text} diverges{near}{grows}. {_cause(result)}"
        case Outcome.ERRATIC:
            grows = f"by {growth(subject.rate)}" if subject.rate > 1.0 else "in bursts"
            return f"{text} is erratic: its root-mean-square error grows {grows}. {_cause(result)}"

    ends = subject.mean_square.low, subject.mean_square.high
    low, high = (rate_digits(math.sqrt(end)) for end in ends)
    edge = f"at the edge of stability (rate between {low} and {high} per step)"

    return f"{text} is {edge}. {_cause(result)}"


def what_is_certain(result: Diagnosis) -> str:
    """The third line: what is guaranteed, and for which order of the batches."""
    for p in result.predictions:
        setting = parameters(p.candidate.method)
        match p.candidate.key:
            case "certified" if p is result.recommendation:
                return "This setting is guaranteed to converge in every order of the batches."
            case "certified":
                return f"Guaranteed to converge in every order: {setting}."
            case "iid":
                return f"Guaranteed stable for independent batches: {setting}."
            case "safe" if result.survey.batching.fixed:
                return f"Guaranteed to stay bounded in every order: {setting}."

    return f"Nothing is guaranteed: the curvature of the {result.setup.loss} loss is unbounded."


def notes(result: Diagnosis) -> tuple[str, ...]:
    """At most three short lines: the fast choice, what would help, and what was not computed."""
    lines = [_fastest(result), _changes(result), _left_out(result)]
    return tuple(line for line in lines if line)[:3]


def percent(share: float, *, short: bool = False) -> str:
    """Format a share as a percentage with three digits; ``short`` saves characters."""
    if not math.isfinite(share):
        return "diverged"
    if 0.0 < share < _SMALLEST:
        return f"{'<' if short else 'less than'} {100.0 * _SMALLEST:g} %"
    if share > _LARGEST:
        return "> 1e6 %" if short else "more than 1,000,000 %"

    return f"{100.0 * share:.3g} %" if share < 9.995 else f"{100.0 * share:,.0f} %"


def times(ratio: float) -> str:
    """Format a ratio with two digits, without an exponent."""
    if ratio >= 1e6:
        return "more than a million"

    return f"{ratio:.2g}" if ratio < 10.0 else f"{float(f'{ratio:.2g}'):,.0f}"


def left_words(result: Diagnosis, excess: Estimate | None) -> str:
    """An excess loss as a share of that at the start: one number, or two if runs are inaccurate."""
    if excess is None:
        return percent(math.inf)
    if excess.high <= 0.0:
        return "none"

    gap = result.survey.minimum.gap
    low, high = percent(result.share(excess.low)), percent(result.share(excess.high))
    if result.share(excess.value) < gap:
        return f"less than {percent(gap)}"
    if high.startswith("less"):
        return high
    # Limits within 20 % on either side are given as one number.
    if excess.high - excess.low <= 0.4 * excess.value:
        return percent(result.share(excess.value))

    return f"at most {high}" if result.share(excess.low) < _SMALLEST else f"{low} to {high}"


def growth(rate: float) -> str:
    """A rate above 1 in words."""
    if rate < 2.0:
        return f"{100 * (rate - 1.0):.2g} % per step"

    return f"a factor of {rate:.3g} per step"


def _subject(result: Diagnosis) -> str:
    own = result.subject.candidate.key == "yours"
    return "your setting" if own else "the textbook setting"


def _useless(result: Diagnosis) -> str:
    """Say why a bounded method does not learn: its noise floor, or where its runs ended."""
    after, floor = result.subject.excess_after, result.subject.excess_floor
    if floor is not None and floor.value >= result.survey.start_excess:
        return f"its noise floor is {_times_as(result, floor)} high as the excess loss at the start"
    if after is None:
        return f"a run diverged within {counted(result.epochs, 'epoch')}"

    far = f"{_times_as(result, after)} far above its minimum as at the start"
    return f"after {counted(result.epochs, 'epoch')} it is {far}"


def _times_as(result: Diagnosis, excess: Estimate) -> str:
    """Compare an excess loss with that at the start: "as", or "7.6 times as"."""
    ratio = result.share(excess.value)
    return "as" if ratio < 1.05 else f"{times(ratio)} times as"


def _settles(result: Diagnosis) -> str:
    """Say where a converging method ends: at the minimum, at a noise floor, or before either."""
    subject = result.subject
    after, floor = subject.excess_after, subject.excess_floor
    pace = f"the error shrinks by a factor of {rate_digits(subject.rate)} per step"

    if result.survey.interpolates:
        return f"{pace}, down to the minimum that all batches share"
    if after is None:
        return pace

    share = left_words(result, after)
    # Once the start no longer matters, only noise remains.
    settled = subject.rate ** (2.0 * result.steps) < 1e-3 * result.share(after.value)
    settled = settled or (floor is not None and after.value < 2.0 * floor.value)

    if settled and subject.candidate.recipe.constant:
        return f"{pace} until it reaches a noise floor of {share} of the initial excess loss"

    below = f" (its noise floor is {percent(result.share(floor.value))})" if floor else ""
    return f"after {result.epochs} epochs, {share} of the excess loss remains{below}"


def _cause(result: Diagnosis) -> str:
    """Say which rows or batches make the method unstable, and along which columns."""
    why = result.disagreement
    along = f"mostly along {' and '.join(repr(name) for name, _ in why.columns[:2])}"
    if not (why.shares[0] >= _DRIVES and why.ratios[0] > _HEAVY):
        who = "single batch" if why.batches else "small group of rows"
        return f"The batches disagree, {along}; no {who} is to blame."

    if why.batches:
        lead = {why.batches[0]: why.shares[0]}
        who = f"batch {why.batches[0]}"
        rows = f" ({named_rows(why.rows)})" if why.rows else ""
    else:
        lead = why.leading
        who, rows = named_rows(tuple(lead)), ""

    verb, worst = "causes", "its curvature"
    if len(lead) > 1:
        verb, worst = "cause", f"the curvature of row {why.rows[0]}"

    share = f"{100 * sum(lead.values()):.0f} % of the instability"
    far = f"{times(why.ratios[0])} times the average"
    return f"{who.capitalize()} {verb} {share}: {worst} is {far}, {along}{rows}."


def _fastest(result: Diagnosis) -> str:
    quick, best = result.quick, result.recommendation
    if quick is None or best is None or quick is best:
        return ""
    if quick.steps_to_1_percent >= _QUICKER * best.steps_to_1_percent:
        return ""

    after = counted(round(quick.steps_to_1_percent), "step")
    return f"Fastest to 1 % of the excess loss: {quick.candidate.recipe.words}, after {after}."


def _changes(result: Diagnosis) -> str:
    """List changes that would make the judged setting converge."""
    name = _subject(result)
    works = [r.action for r in result.remedies if r.works]
    if works:
        return f"To make {name} converge, {'; or '.join(works)}."
    if result.remedies:
        return f"No change that was tried makes {name} converge."

    needed, batching = result.subject.critical_batch_size, result.survey.batching
    larger = needed is not None and batching.batch_size < needed < batching.rows
    if larger and result.subject.outcome is not Outcome.CONVERGES:
        return f"{name.capitalize()} is stable with batches of {needed} rows or more."

    return ""


def _left_out(result: Diagnosis) -> str:
    if not result.left_out:
        return ""

    more = f"Use --time {5 * result.time:g} to include them."
    return f"Not computed with --time {result.time:g}: {'; '.join(result.left_out)}. {more}"
