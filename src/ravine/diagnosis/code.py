"""A training loop with the recommended setting, as a script to paste."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from ravine.arguments import Refusal
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from ravine.diagnosis.diagnosis import Diagnosis
    from ravine.diagnosis.recipe import Recipe
    from ravine.diagnosis.setup import Setup

_SLOPES = {
    "squared": "slope = Z - y[rows]",
    "logistic": "slope = 1.0 / (1.0 + np.exp(-Z)) - y[rows]",
    "multinomial": (
        "P = np.exp(Z - Z.max(axis=1, keepdims=True))\n"
        "slope = P / P.sum(axis=1, keepdims=True) - y[rows]"
    ),
    "poisson": "slope = np.exp(Z) - y[rows]",
    "huber": "slope = np.clip(Z - y[rows], -1.0, 1.0)",
}
"""Derivative of each loss in the scores Z, for targets of shape (rows, outputs)."""
_TORCH_LOSSES = {
    "squared": "0.5 * torch.nn.functional.mse_loss(Z, y[rows]{none})",
    "logistic": "torch.nn.functional.binary_cross_entropy_with_logits(Z, y[rows]{none})",
    "multinomial": "torch.nn.functional.cross_entropy(Z, y[rows]{none})",
    "poisson": "torch.nn.functional.poisson_nll_loss(Z, y[rows]{none})",
    "huber": "torch.nn.functional.huber_loss(Z, y[rows]{none})",
}
_TARGETS = {
    "logistic": (
        "labels, y = np.unique(y, return_inverse=True)\ny = y.astype(float)[:, None]  # 0 or 1"
    ),
    "multinomial": (
        "labels, y = np.unique(y, return_inverse=True)\n"
        "y = np.eye(len(labels))[y]  # one column for each label"
    ),
}
_NUMBERS = "y = np.asarray(y, dtype=float)[:, None]"
_ASK = """\
# X: your columns, an array of shape (rows, columns) without the target; y: the target.
"""


def training_code(result: Diagnosis, framework: str, *, source: str | None = None) -> str:
    """The recommended setting as a script that ends with the weights ``W``."""
    best = result.recommendation
    if best is None:
        raise Refusal("code", "a setting that converges", "none", "change batch_size or l2")

    makers = {"numpy": _numpy, "sklearn": _sklearn, "torch": _torch}
    if framework not in makers:
        raise Refusal("framework", f"one of {', '.join(makers)}", repr(framework), "pick one")

    head = f"# {result.answer.do}\n"
    begin = _ASK if source is None else f"{source.rstrip()}\n"
    if result.setup.weighted:
        begin += "# weights: the weight of each row.\n"

    return makers[framework](result, best.candidate.recipe, head, begin)


def _numpy(result: Diagnosis, recipe: Recipe, head: str, begin: str) -> str:
    setup = result.setup
    return "\n".join(
        [
            head + "import numpy as np\n",
            begin + _columns(setup),
            _TARGETS.get(setup.loss, _NUMBERS),
            _loop(result, recipe),
        ]
    )


def _sklearn(result: Diagnosis, recipe: Recipe, head: str, begin: str) -> str:
    """The same loop as the ``fit`` of an estimator behind a scaler."""
    setup = result.setup
    labels = setup.loss in _TARGETS
    mixin = "ClassifierMixin" if labels else "RegressorMixin"
    fit = [_TARGETS.get(setup.loss, _NUMBERS)]
    if setup.intercept:
        fit.insert(0, _ones(setup))
    fit.append(_loop(result, recipe))
    fit += ["self.classes_ = labels"] if labels else []
    fit += ["self.W_ = W", "return self"]
    scores = [_ones(setup)] if setup.intercept else []
    scores += ["return X @ self.W_"]
    predict = {
        "logistic": "return self.classes_[(self.decision_function(X)[:, 0] > 0.0).astype(int)]",
        "multinomial": "return self.classes_[self.decision_function(X).argmax(axis=1)]",
        "poisson": "return np.exp(self.decision_function(X)[:, 0])",
    }.get(setup.loss, "return self.decision_function(X)[:, 0]")
    weights = ", weights" if setup.weighted else ""
    scaler = "StandardScaler(with_mean=False)" if result.survey.model.sparse else "StandardScaler()"
    steps = f"{scaler}, MomentumSGD()" if setup.standardise else "MomentumSGD()"
    keyword = ", momentumsgd__weights=weights" if setup.weighted else ""

    return "\n".join(
        [
            head + "import numpy as np",
            f"from sklearn.base import BaseEstimator, {mixin}",
            "from sklearn.pipeline import make_pipeline",
            "from sklearn.preprocessing import StandardScaler\n\n",
            f"class MomentumSGD({mixin}, BaseEstimator):",
            f'    """Linear model with the {setup.loss} loss, trained with momentum."""\n',
            f"    def fit(self, X, y{weights}):",
            indent("\n".join(fit), "        ") + "\n",
            "    def decision_function(self, X):",
            indent("\n".join(scores), "        ") + "\n",
            "    def predict(self, X):",
            f"        {predict}\n\n",
            f"{begin}model = make_pipeline({steps}).fit(X, y{keyword})",
            "W = model[-1].W_\n",
        ]
    )


def _torch(result: Diagnosis, recipe: Recipe, head: str, begin: str) -> str:
    setup = result.setup
    method = recipe.method
    beta = float(method.beta)
    if not method.is_nesterov and float(method.gamma) != 0.0:
        given = f"look-ahead {float(method.gamma):g} with momentum {beta:g}"
        raise Refusal("framework", "numpy for this method", given, "torch.optim.SGD has no such")

    target = f"y = torch.as_tensor({_torch_target(setup)})"
    lines = [head + "import numpy as np\nimport torch\n", begin + _columns(setup)]
    if not result.survey.model.sparse:
        lines.append("X = torch.as_tensor(X, dtype=torch.float64)")
    lines += [
        _TARGETS[setup.loss].splitlines()[0] if setup.loss in _TARGETS else "",
        target,
        "n, d = X.shape",
        f"model = torch.nn.Linear(d, {_outputs(setup)}, bias=False, dtype=torch.float64)",
        "torch.nn.init.zeros_(model.weight)",
        f"optimizer = torch.optim.SGD(\n    model.parameters(), lr={float(method.alpha)!r}, "
        f"momentum={beta!r}, nesterov={beta > 0.0 and method.is_nesterov}, "
        f"weight_decay={setup.l2!r},\n)",
        f"epochs, steps = {result.epochs}, {result.steps}",
    ]
    if not recipe.schedule.constant:
        factor = _factor(recipe, "step")
        lines.append(
            f"schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: {factor})"
        )
    if recipe.averaged:
        lines.append("average = torch.optim.swa_utils.AveragedModel(model)")

    lines += [_torch_weights(setup), *_batches(result, torch=True)]
    lines.append(indent("\n".join(_torch_step(result, recipe)), "        "))
    end = "average.module" if recipe.averaged else "model"
    lines.append(f"\nW = {end}.weight.detach().numpy().T\n")

    return "\n".join(line for line in lines if line)


def _torch_step(result: Diagnosis, recipe: Recipe) -> list[str]:
    setup = result.setup
    sparse = result.survey.model.sparse
    rows = "torch.as_tensor(X[rows.numpy()].toarray())" if sparse else "X[rows]"
    loss = _TORCH_LOSSES[setup.loss].format(none=', reduction="none"' if setup.weighted else "")
    lines = [
        f"Z = model({rows})",
        f"loss = {f'(w[rows] * {loss}.squeeze()).mean()' if setup.weighted else loss}",
        "optimizer.zero_grad()",
        "loss.backward()",
        "optimizer.step()",
        "step += 1",
    ]
    if not recipe.schedule.constant:
        lines.insert(-1, "schedule.step()")
    if recipe.averaged:
        lines += ["if step >= steps // 2:", "    average.update_parameters(model)"]

    return lines


def _torch_target(setup: Setup) -> str:
    if setup.loss == "multinomial":
        return "y"
    if setup.loss == "logistic":
        return "y.astype(float)[:, None]"

    return "np.asarray(y, dtype=float)[:, None]"


def _torch_weights(setup: Setup) -> str:
    return "w = torch.as_tensor(weights / np.mean(weights))" if setup.weighted else ""


def _outputs(setup: Setup) -> str:
    return "len(labels)" if setup.loss == "multinomial" else "1"


def _columns(setup: Setup) -> str:
    """What is done with the columns before training."""
    sparse = hasattr(setup.X, "tocsr")
    lines = [] if sparse else ["X = np.asarray(X, dtype=float)"]
    if setup.standardise and sparse:
        lines += [
            "squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()",
            "scale = np.sqrt(squares - np.asarray(X.mean(axis=0)).ravel() ** 2)",
            "X = X.multiply(1.0 / np.where(scale > 0.0, scale, 1.0)).tocsr()",
        ]
    elif setup.standardise:
        lines += [
            "mean, scale = X.mean(axis=0), X.std(axis=0)",
            "constant = scale <= 1e-12 * abs(mean)",
            "mean[constant], scale[constant] = 0.0, 1.0",
            "X = (X - mean) / scale",
        ]
    if setup.intercept:
        lines.append(_ones(setup))

    return "\n".join(lines)


def _ones(setup: Setup) -> str:
    if hasattr(setup.X, "tocsr"):
        return (
            "from scipy.sparse import hstack\n\n"
            'X = hstack([X, np.ones((X.shape[0], 1))], format="csr")  # the intercept'
        )

    return "X = np.column_stack([X, np.ones(len(X))])  # the intercept"


def _loop(result: Diagnosis, recipe: Recipe) -> str:
    """The training loop in NumPy, from zero weights to ``W``."""
    setup = result.setup
    method = recipe.method
    lr = repr(float(method.alpha))
    if not recipe.schedule.constant:
        lr = f"{lr} * {_factor(recipe, 'step')}"

    step = [
        "Z = X[rows] @ W",
        *_SLOPES[setup.loss].splitlines(),
        *(["slope = slope * w[rows, None]"] if setup.weighted else []),
        f"gradient = X[rows].T @ slope / len(rows) + {setup.l2!r} * W",
        f"lr = {lr}",
        *_update(recipe),
        "step += 1",
    ]
    if recipe.averaged:
        step += ["if step >= steps // 2:", "    total, count = total + W, count + 1"]

    begin = [
        f"epochs, steps = {result.epochs}, {result.steps}",
        "n, d = X.shape",
        "rng = np.random.default_rng(0)",
        "W = np.zeros((d, y.shape[1]))",
        "V = np.zeros_like(W)",
    ]
    if setup.weighted:
        begin.append("w = np.asarray(weights) / np.mean(weights)")
    if recipe.averaged:
        begin.append("total, count = np.zeros_like(W), 0")

    end = ["\nW = total / count\n"] if recipe.averaged else [""]
    return "\n".join([*begin, *_batches(result), indent("\n".join(step), "        "), *end])


def _update(recipe: Recipe) -> list[str]:
    """One step of the method on the point at which gradients are taken."""
    method = recipe.method
    beta = float(method.beta)
    if beta == 0.0:
        return ["W = W - lr * gradient"]
    if method.is_nesterov:
        return [f"V = {beta!r} * V + gradient", f"W = W - lr * (gradient + {beta!r} * V)"]

    ahead = float(method.gamma)
    return [
        f"before, V = V, {beta!r} * V + gradient",
        f"W = W - lr * ({1.0 + ahead!r} * V - {ahead!r} * before)",
    ]


def _factor(recipe: Recipe, step: str) -> str:
    """What the lr is multiplied by after so many steps."""
    share = recipe.schedule.constant_share
    if share <= 0.0:
        return f"(1.0 - {step} / steps)"

    return f"min(1.0, (1.0 - {step} / steps) / {1.0 - share!r})"


def _batches(result: Diagnosis, torch: bool = False) -> list[str]:
    """The loop over epochs and batches, down to the line that names the rows of a step."""
    cut = result.survey.cut
    m = cut.batch_size
    permutation = "torch.randperm(n)" if torch else "rng.permutation(n)"
    split = f"order.split({m})" if torch else f"np.split(order, range({m}, n, {m}))"
    rule = cut.sampling
    before: list[str] = []

    if cut.replaced:
        shape = f"({cut.steps_per_epoch}, {m})"
        draw = f"torch.randint(n, {shape})" if torch else f"rng.integers(n, size={shape})"
        epoch = [f"batches = {draw}"]
    elif not cut.fixed:
        epoch = [f"order = {permutation}", f"batches = {split}"]
    else:
        shuffle = result.setup.shuffle
        order = f"np.random.default_rng({shuffle}).permutation(n)"
        order = "np.arange(n)" if shuffle is None else order
        before = [f"order = {f'torch.as_tensor({order})' if torch else order}", f"cut = {split}"]
        before += ["rng = np.random.default_rng(0)"] if torch else []
        epoch = [f"batches = {_fixed_order(rule, cut.steps_per_epoch)}"]

    return [
        *before,
        "step = 0",
        "\nfor epoch in range(epochs):",
        *(f"    {line}" for line in epoch),
        "    for rows in batches:",
    ]


def _fixed_order(rule: Sampling, count: int) -> str:
    """The batches of one epoch of a fixed cut."""
    if rule is Sampling.RESHUFFLE:
        return f"[cut[b] for b in rng.permutation({count})]"
    if rule is Sampling.IID:
        return f"[cut[b] for b in rng.integers({count}, size={count})]"
    if not rule.traits.random:
        return "cut"

    raise Refusal("code", "for iid, reshuffle or cyclic order", rule.value, "use another sampling")
