"""The verdict in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ravine.diagnosis.prediction import Outcome, Prediction
from ravine.diagnosis.remedies import Remedy, named_rows
from ravine.methods import Method
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from ravine.diagnosis.diagnosis import Diagnosis

_ORDERS = {
    Sampling.IID: "drawn with replacement",
    Sampling.IID_NO_REPEAT: "drawn without immediate repeat",
    Sampling.CYCLIC: "in a fixed order",
    Sampling.RESHUFFLE: "reshuffled every epoch",
    Sampling.RESHUFFLE_NO_REPEAT: "reshuffled without immediate repeat",
}


def verdict(found: Diagnosis) -> list[str]:
    """The verdict as sentences: what happens, why, what works instead, what would change it."""
    subject = found.subject
    sentences = [_fate(found, subject)]
    if subject.outcome is not Outcome.CONVERGES:
        sentences.append(_cause(found, subject))
    sentences += _instead(found, subject)
    sentences += _changes(found)
    if subject.mean_square.sampling is not found.sampling:
        sentences.append(
            "At this size mean-square rates are estimates for batches "
            f"{_ORDERS[subject.mean_square.sampling]}; the runs had them {_ORDERS[found.sampling]}."
        )
    return [s for s in sentences if s]


def parameters(method: Method) -> str:
    """Step size and momentum, as they are typed."""
    text = f"lr = {float(method.alpha):.4g}, momentum = {float(method.beta):.4g}"
    return text if method.is_nesterov else f"{text}, look-ahead = {float(method.gamma):.4g}"


def called(prediction: Prediction) -> str:
    """The method's name with its parameters."""
    name = "your method" if prediction.candidate.key == "yours" else prediction.candidate.name
    return f"{name} ({parameters(prediction.candidate.method)})"


def share_of_start(found: Diagnosis, square: float) -> float:
    """Root-mean-square distance from x* as a share of the start's."""
    problem = found.survey.problem
    far = math.dist(problem.start.tolist(), problem.minimiser.tolist())
    return math.sqrt(square) / far if far > 0.0 else math.inf


def percent(share: float) -> str:
    """A share as a percentage with two or three digits."""
    if not math.isfinite(share):
        return "without limit"
    if share > 10.0:
        return f"{share:.3g} times"
    return f"{100.0 * share:.2g} %" if share < 0.995 else f"{100.0 * share:.0f} %"


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


def _count(steps: float) -> str:
    if steps < 10:
        return f"{steps:.1f}"
    return f"{steps:.0f}" if steps < 1e5 else f"{steps:.1e}"


def growing(rate: float) -> str:
    """A rate above 1 in words."""
    return f"{100 * (rate - 1.0):.2g} % a step" if rate < 2.0 else f"{rate:.3g} times a step"


def _fate(found: Diagnosis, subject: Prediction) -> str:
    problem = found.survey.problem
    size = int(problem.batch_sizes.max())
    rule = subject.mean_square.sampling
    where = f"With batch size {size} and batches {_ORDERS[rule]}, {called(subject)}"
    if problem.terms == 1:
        where = f"With all rows in one batch, {called(subject)}"
    near = "" if found.survey.quadratic else " near the minimiser"
    if subject.spectral_radius >= 1.0:
        limit = float(subject.candidate.method.alpha) * float(found.survey.curvature.L)
        return (
            f"{where} diverges on this data{near}: even exact gradients grow "
            f"{growing(subject.spectral_radius)}, as its step times the largest curvature is "
            f"{limit:.3g}."
        )
    if subject.outcome is Outcome.DIVERGES:
        return (
            f"{where} diverges on this data{near}: almost every run grows "
            f"{growing(subject.almost_sure.value)}, the mean square {growing(subject.rate)}."
        )
    if subject.outcome is Outcome.ERRATIC:
        return (
            f"{where} is erratic on this data: single runs come back, but in mean square the error "
            f"grows {growing(subject.rate)}, in rare large bursts."
        )
    if subject.outcome is Outcome.UNDECIDED:
        square = subject.mean_square
        low, high = (math.sqrt(v) for v in (square.low, square.high))
        return (
            f"{where} is on the edge: its mean-square growth lies between {digits(low)} and "
            f"{digits(high)} a step (95 % limits)."
        )
    return f"{where} converges{near} at {pace(subject.rate)}{_left(found, subject)}."


def _left(found: Diagnosis, prediction: Prediction) -> str:
    """What error remains, as a share of the start's distance from the minimiser."""
    if found.survey.interpolates:
        return ", to the minimiser itself, which all batches share"
    if prediction.floor is not None:
        share = share_of_start(found, prediction.floor.value)
        if share >= 1.0:
            return f", but its noise floor is {percent(share)} of the error it starts with: no use"
        return f", to an error of {percent(share)} of the start's"
    if prediction.error_after is not None:
        share = share_of_start(found, prediction.error_after.value)
        return f"; after {found.epochs} epochs the error is {percent(share)} of the start's"
    return ""


def _cause(found: Diagnosis, subject: Prediction) -> str:
    if subject.spectral_radius >= 1.0:
        return ""
    why = found.disagreement
    names = ", ".join(repr(name) for name, _ in why.columns)
    along = f"along one direction (mostly {names})"
    if why.shares[0] >= 0.3 and why.ratios[0] > 1.5:
        rows = ""
        if why.rows:
            part = sum(why.row_shares)
            rows = f"; {named_rows(why.rows)} {'make' if len(why.rows) > 1 else 'makes'} "
            rows += f"{100 * part:.0f} % of it"
        return (
            f"The cause is batch {why.batches[0]}: it has {why.ratios[0]:.3g} times the average "
            f"curvature {along} and accounts for {100 * why.shares[0]:.0f} % of the instability"
            f"{rows}."
        )
    several = ", ".join(str(b) for b in why.batches[:3])
    return (
        f"The cause is that the batches disagree {along}: no single one drives it, the strongest "
        f"are {several} with {', '.join(f'{r:.2g}' for r in why.ratios[:3])} times the average "
        "curvature there."
    )


def _instead(found: Diagnosis, subject: Prediction) -> list[str]:
    best = found.recommendation
    if best is None:
        return ["No parameters were found that converge in mean square on these batches."]
    sentences = []
    if subject.outcome is Outcome.CONVERGES and not _beats(best, subject):
        return [f"Nothing tried here leaves less after {found.epochs} epochs."]
    better = "Better: with" if subject.outcome is Outcome.CONVERGES else "With"
    sentences.append(
        f"{better} {parameters(best.candidate.method)} it converges at {pace(best.rate)}"
        f"{_left(found, best)}{_against_sgd(found, best)}."
    )
    proven = [p for p in found.predictions if p.candidate.certificate is not None]
    if proven and proven[0] is not best:
        sentences.append(
            f"Certain in every order of the batches: {parameters(proven[0].candidate.method)}, at "
            f"{pace(proven[0].rate)}."
        )
    elif proven:
        sentences.append("This is certified for every order of the batches.")
    return sentences


def _beats(best: Prediction, subject: Prediction) -> bool:
    """Whether the recommendation leaves less error, or is faster where that is not known."""
    if best.error_after is None or subject.error_after is None:
        return best.rate < subject.rate
    return best.error_after.value < 0.98 * subject.error_after.value


def _against_sgd(found: Diagnosis, best: Prediction) -> str:
    plain = next(p for p in found.predictions if p.candidate.key == "tuned-sgd")
    if float(best.candidate.method.beta) == 0.0 or plain.outcome is not Outcome.CONVERGES:
        return ""
    if 0.0 < best.rate < 1.0 and 0.0 < plain.rate < 1.0:
        ratio = math.log(best.rate) / math.log(plain.rate)
        if ratio > 1.05:
            times = f"{ratio:.0f}" if ratio >= 10.0 else f"{ratio:.2g}"
            return f"; SGD at its best step would need {times} times the steps"
    if plain.error_after is not None and best.error_after is not None:
        share = share_of_start(found, plain.error_after.value)
        mine = share_of_start(found, best.error_after.value)
        return (
            f"; after {found.epochs} epochs it is left with {percent(mine)}, SGD at its fastest "
            f"step with {percent(share)}"
        )
    return ""


def _changes(found: Diagnosis) -> list[str]:
    if not found.remedies:
        return []
    what = "your method" if found.subject.candidate.key == "yours" else "usual Nesterov"
    good = [r for r in found.remedies if r.works]
    bad = [r for r in found.remedies if not r.works]
    sentences = []
    if good:
        sentences.append(f"Tried on this data, {what} would converge with: {_listed(good)}.")
    if bad:
        sentences.append(f"Not enough for {what}: {_listed(bad)}.")
    return sentences


def _listed(tried: list[Remedy]) -> str:
    return "; ".join(f"{r.action} ({digits(r.rate)} a step)" for r in tried)
