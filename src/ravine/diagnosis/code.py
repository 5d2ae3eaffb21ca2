"""A training loop with the recommended setting, as a script to copy.

Scripts are templates. A line that starts with words and a bar is kept if all these words apply to
the diagnosis; other lines are always kept. ``{name}`` is replaced by its value.
"""

from __future__ import annotations

from contextlib import suppress
from textwrap import indent
from typing import TYPE_CHECKING

from ravine.arguments import Refusal, known_name
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from ravine.diagnosis.candidates import Recipe
    from ravine.diagnosis.diagnosis import Diagnosis

FRAMEWORKS = {"torch": "PyTorch", "sklearn": "scikit-learn", "numpy": "NumPy"}
"""The frameworks of scripts, with their names."""

_SOURCE = """\
asked| # X: your columns, an array of shape (rows, columns) without the target; y: the target.
weighted| # weights: the weight of each row.
"""
_COLUMNS = """\
dense| X = np.asarray(X, dtype=float)
sparse scaled| squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
sparse scaled| scale = np.sqrt(squares - np.asarray(X.mean(axis=0)).ravel() ** 2)
sparse scaled| X = X.multiply(1.0 / np.where(scale > 0.0, scale, 1.0)).tocsr()
dense scaled| mean, scale = X.mean(axis=0), X.std(axis=0)
dense scaled| constant = scale <= 1e-12 * abs(mean)
dense scaled| mean[constant], scale[constant] = 0.0, 1.0
dense scaled| X = (X - mean) / scale
"""
_INTERCEPT = """\
dense intercept| X = np.column_stack([X, np.ones(len(X))])  # the intercept
sparse intercept| from scipy.sparse import hstack
sparse intercept| X = hstack([X, np.ones((X.shape[0], 1))], format="csr")  # the intercept
"""
_TARGET = """\
numbers| y = np.asarray(y, dtype=float)[:, None]
labels| labels, y = np.unique(y, return_inverse=True)
logistic| y = y.astype(float)[:, None]  # 0 or 1
"""
_EPOCHS = """\
rng = np.random.default_rng(0)
fixed| fixed = np.split({order}, range({m}, n, {m}))
step = 0

for epoch in range(epochs):
replaced|     batches = rng.integers(n, size=({per_epoch}, {m}))
shuffled|     batches = np.split(rng.permutation(n), range({m}, n, {m}))
fixed|     batches = {visits}
    for rows in batches:
"""
_NUMPY = """\
multinomial| y = np.eye(len(labels))[y]  # one column for each label
epochs, steps = {epochs}, {steps}
n, d = X.shape
W = np.zeros((d, y.shape[1]))
V = np.zeros_like(W)
weighted| w = np.asarray(weights) / np.mean(weights)
averaged| total, count = np.zeros_like(W), 0
{loop}
        Z = X[rows] @ W
squared|         slope = Z - y[rows]
logistic|         slope = 1.0 / (1.0 + np.exp(-Z)) - y[rows]
multinomial|         P = np.exp(Z - Z.max(axis=1, keepdims=True))
multinomial|         slope = P / P.sum(axis=1, keepdims=True) - y[rows]
poisson|         slope = np.exp(Z) - y[rows]
huber|         slope = np.clip(Z - y[rows], -1.0, 1.0)
weighted|         slope = slope * w[rows, None]
        gradient = X[rows].T @ slope / len(rows) + {l2} * W
constant|         lr = {lr}
falling|         lr = {lr} * {factor}
plain|         W = W - lr * gradient
nesterov|         V = {beta} * V + gradient
nesterov|         W = W - lr * (gradient + {beta} * V)
ahead|         before, V = V, {beta} * V + gradient
ahead|         W = W - lr * ({more} * V - {gamma} * before)
        step += 1
averaged|         if step >= steps // 2:
averaged|             total, count = total + W, count + 1
averaged|
averaged| W = total / count
"""
_SKLEARN = """\
import numpy as np
from sklearn.base import BaseEstimator, {mixin}
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


class MomentumSGD({mixin}, BaseEstimator):
    \"\"\"Linear model with the {loss} loss, trained with momentum.\"\"\"

even|     def fit(self, X, y):
weighted|     def fit(self, X, y, weights):
{fit}
labels|         self.classes_ = labels
        self.W_ = W
        return self

    def decision_function(self, X):
{ones}
        return X @ self.W_

    def predict(self, X):
        Z = self.decision_function(X)
logistic|         return self.classes_[(Z[:, 0] > 0.0).astype(int)]
multinomial|         return self.classes_[Z.argmax(axis=1)]
poisson|         return np.exp(Z[:, 0])
squared|         return Z[:, 0]
huber|         return Z[:, 0]


{source}
raw| model = make_pipeline(MomentumSGD())
dense scaled| model = make_pipeline(StandardScaler(), MomentumSGD())
sparse scaled| model = make_pipeline(StandardScaler(with_mean=False), MomentumSGD())
even| W = model.fit(X, y)[-1].W_
weighted| W = model.fit(X, y, momentumsgd__weights=weights)[-1].W_
"""
_TORCH = """\
dense| X = torch.as_tensor(X, dtype=torch.float64)
y = torch.as_tensor(y)
n, d = X.shape
single| model = torch.nn.Linear(d, 1, bias=False, dtype=torch.float64)
multinomial| model = torch.nn.Linear(d, len(labels), bias=False, dtype=torch.float64)
torch.nn.init.zeros_(model.weight)
optimizer = torch.optim.SGD(
    model.parameters(), lr={lr}, momentum={beta}, nesterov={nesterov}, weight_decay={l2},
)
epochs, steps = {epochs}, {steps}
falling| schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: {factor})
averaged| average = torch.optim.swa_utils.AveragedModel(model)
weighted| w = torch.as_tensor(weights / np.mean(weights))
{loop}
dense|         Z = model(X[rows])
sparse|         Z = model(torch.as_tensor(X[rows].toarray()))
squared|         loss = 0.5 * torch.nn.functional.mse_loss(Z, y[rows], reduction={reduction})
logistic|         loss = torch.nn.functional.binary_cross_entropy_with_logits(
logistic|             Z, y[rows], reduction={reduction}
logistic|         )
multinomial|         loss = torch.nn.functional.cross_entropy(Z, y[rows], reduction={reduction})
poisson|         loss = torch.nn.functional.poisson_nll_loss(Z, y[rows], reduction={reduction})
huber|         loss = torch.nn.functional.huber_loss(Z, y[rows], reduction={reduction})
weighted|         loss = (w[rows] * loss.squeeze()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
falling|         schedule.step()
        step += 1
averaged|         if step >= steps // 2:
averaged|             average.update_parameters(model)

last| W = model.weight.detach().numpy().T
averaged| W = average.module.weight.detach().numpy().T
"""


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

    begin = (f"{source.rstrip()}\n" if source else "") + script.filled(_SOURCE)
    head = f"# {result.answer.do}\n"
    ones, target = script.filled(_INTERCEPT), script.filled(_TARGET)

    if framework == "sklearn":
        fit = indent(ones + target + script.filled(_NUMPY), "        ")
        end = indent(ones, "        ").rstrip()
        return head + script.filled(_SKLEARN, fit=fit.rstrip(), ones=end, source=begin.rstrip())

    imports = "import numpy as np\n" + ("import torch\n" if framework == "torch" else "")
    loop = script.filled(_TORCH if framework == "torch" else _NUMPY)

    return f"{head}{imports}\n{begin}{script.filled(_COLUMNS)}{ones}{target}{loop}"


class _Script:
    """Fills templates from a diagnosis and a recipe."""

    def __init__(self, result: Diagnosis, recipe: Recipe, *, torch: bool) -> None:
        setup, batching, method = result.setup, result.survey.batching, recipe.method
        alpha, beta, gamma = float(method.alpha), float(method.beta), float(method.gamma)
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
        order = "np.arange(n)" if setup.shuffle is None else order
        self.words: dict[str, object] = {
            "epochs": result.epochs, "steps": result.steps, "loss": setup.loss,
            "l2": repr(setup.l2), "lr": repr(alpha), "beta": repr(beta), "gamma": repr(gamma),
            "more": repr(1.0 + gamma), "nesterov": beta > 0.0 and method.is_nesterov,
            "factor": factor if share <= 0.0 else f"min(1.0, {factor} / {1.0 - share!r})",
            "mixin": "ClassifierMixin" if labels else "RegressorMixin",
            "reduction": '"none"' if setup.weighted else '"mean"',
            "m": m, "per_epoch": n, "order": order,
            "visits": _visits(batching.sampling, n) if batching.fixed else "",
        }  # fmt: skip
        self.words["loop"] = self.filled(_EPOCHS).rstrip()

    def filled(self, template: str, **more: object) -> str:
        """The lines whose flags apply, filled in."""
        lines = []
        for line in template.splitlines():
            flags, bar, rest = line.partition("|")
            if not bar:
                lines.append(line)
            elif set(flags.split()) <= self.flags:
                lines.append(rest.removeprefix(" "))

        return "".join(f"{line}\n" for line in lines).format_map({**self.words, **more})


def _visits(rule: Sampling, count: int) -> str:
    """The fixed batches of one epoch."""
    if rule is Sampling.RESHUFFLE:
        return f"[fixed[b] for b in rng.permutation({count})]"
    if rule is Sampling.IID:
        return f"[fixed[b] for b in rng.integers({count}, size={count})]"
    if not rule.traits.random:
        return "fixed"

    raise Refusal("code", "for iid, reshuffle or cyclic order", rule.value, "use another sampling")
