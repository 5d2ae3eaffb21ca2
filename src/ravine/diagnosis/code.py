"""A training loop with the recommended setting, as a script to copy.

Scripts are filled in from the templates of ``training_loops.toml``.
"""

from __future__ import annotations

import tomllib
from contextlib import suppress
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from ravine.arguments import Refusal, known_name
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from ravine.diagnosis.candidates import Recipe
    from ravine.diagnosis.diagnosis import Diagnosis

FRAMEWORKS = {"torch": "PyTorch", "sklearn": "scikit-learn", "numpy": "NumPy"}
"""The frameworks of scripts, with their names."""


def training_scripts(result: Diagnosis) -> dict[str, str]:
    """The scripts for all frameworks that support the setting, by their names."""
    scripts = {}
    for framework in FRAMEWORKS:
        with suppress(Refusal):
            scripts[framework] = training_code(result, framework)

    return scripts


def training_code(result: Diagnosis, framework: str, *, source: str | None = None) -> str:
    """The recommended setting as a script that ends with the weights ``W``."""
    best = result.recommendation
    if best is None:
        raise Refusal("code", "a setting that converges", "none", "change batch_size or l2")

    known_name("framework", framework, FRAMEWORKS)
    script = _Script(result, best.candidate.recipe, torch=framework == "torch")
    if source is None:
        script.flags.add("asked")

    begin = (f"{source.rstrip()}\n" if source else "") + script["source"]
    head = f"# {result.answer.do}\n"
    ones, target = script["intercept"], script["target"]

    if framework == "sklearn":
        script["fit"] = indent(ones + target + script["numpy"], "        ").rstrip()
        script["ones"] = indent(ones, "        ").rstrip()
        script["begin"] = begin.rstrip()
        return head + script["sklearn"]

    imports = "import numpy as np\n" + ("import torch\n" if framework == "torch" else "")
    return f"{head}{imports}\n{begin}{script['columns']}{ones}{target}{script[framework]}"


@cache
def _templates() -> dict[str, str]:
    text = Path(__file__).with_name("training_loops.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


class _Script(dict[str, str]):
    """The words that templates are filled with; a filled template is one of them, by its name."""

    def __init__(self, result: Diagnosis, recipe: Recipe, *, torch: bool) -> None:
        setup, batching, method = result.setup, result.survey.batching, recipe.method
        alpha, beta, gamma = method.single("give one method at a time")
        if torch and not method.is_nesterov and gamma != 0.0:
            given = f"look-ahead {gamma:g} with momentum {beta:g}"
            remedy = "torch.optim.SGD has no such"
            raise Refusal("framework", "numpy for this method", given, remedy)

        labels = setup.loss in ("logistic", "multinomial")
        update = "plain" if beta == 0.0 else "nesterov" if method.is_nesterov else "ahead"
        self.flags = {
            setup.loss,
            update,
            "labels" if labels else "numbers",
            "multinomial" if setup.loss == "multinomial" else "single",
            "sparse" if result.survey.model.sparse else "dense",
            "scaled" if setup.standardise else "raw",
            "intercept" if setup.intercept else "",
            "weighted" if setup.weighted else "even",
            "averaged" if recipe.averaged else "last",
            "constant" if recipe.constant else "falling",
            "fixed" if batching.fixed else "replaced" if batching.replaced else "shuffled",
        }
        share = recipe.constant_share
        factor = "(1.0 - step / steps)"
        m, n = batching.batch_size, batching.steps_per_epoch
        order = f"np.random.default_rng({setup.shuffle}).permutation(n)"
        words = {
            "epochs": result.epochs, "steps": result.steps, "loss": setup.loss,
            "l2": setup.l2, "lr": alpha, "beta": beta, "gamma": gamma, "more": 1.0 + gamma,
            "nesterov": beta > 0.0 and method.is_nesterov,
            "factor": factor if share <= 0.0 else f"min(1.0, {factor} / {1.0 - share!r})",
            "mixin": "ClassifierMixin" if labels else "RegressorMixin",
            "reduction": '"none"' if setup.weighted else '"mean"',
            "m": m, "per_epoch": n, "order": "np.arange(n)" if setup.shuffle is None else order,
            "visits": _visits(batching.sampling, n) if batching.fixed else "",
        }  # fmt: skip
        super().__init__({name: str(word) for name, word in words.items()})
        self["loop"] = self["loop_begin"].rstrip()

    def __missing__(self, name: str) -> str:
        """The lines of a template whose flags apply, filled in."""
        lines = []
        for line in _templates()[name].splitlines():
            flags, bar, rest = line.partition("|")
            if not bar:
                lines.append(line)
            elif set(flags.split()) <= self.flags:
                lines.append(rest.removeprefix(" "))

        return "".join(f"{line}\n" for line in lines).format_map(self)


def _visits(rule: Sampling, count: int) -> str:
    """The fixed batches of one epoch."""
    if rule is Sampling.RESHUFFLE:
        return f"[fixed[b] for b in rng.permutation({count})]"
    if rule is Sampling.IID:
        return f"[fixed[b] for b in rng.integers({count}, size={count})]"
    if not rule.traits.random:
        return "fixed"

    raise Refusal("code", "for iid, reshuffle or cyclic order", rule.value, "use another sampling")
