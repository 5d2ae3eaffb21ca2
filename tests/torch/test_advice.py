"""``advise`` on real models: it trains, it leaves no trace, it says what it did."""

import copy
import json
import math
import os
import pathlib
import time

import numpy as np
import pytest
import torch
import torch.multiprocessing as mp

from ravine.torch import ASG, Advice, advise
from ravine.torch import advice as advising
from ravine.torch import trial as trying
from ravine.torch.borrowed import BatchReplay, Weights, batch_loss
from ravine.torch.curvature import LocalCurvature
from ravine.torch.schedule import schedule_of
from ravine.torch.trial import Setting, Trial, fresh, run_trial, set_parameters

MSE = torch.nn.functional.mse_loss
QUICK = {"budget": "quick", "progress": False}


def setting_of(model, loader, schedule="constant", loss=MSE, **options):
    rule = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9, nesterov=True)
    batches = BatchReplay(loader, torch.device("cpu"))
    planned = schedule_of(schedule, 1000, None)
    return Setting(model, rule, batch_loss(loss), batches, planned, Weights(model), **options)


def train(model, loader, optimizer, code, steps):
    """Train as the advice says, with its own code."""
    names = {"torch": torch, "optimizer": optimizer}
    exec(code, names)
    stream = (batch for _ in range(10**6) for batch in loader)
    for _, (x, y) in zip(range(steps), stream, strict=False):
        optimizer.zero_grad()
        MSE(model(x), y).backward()
        optimizer.step()
        if "scheduler" in names:
            names["scheduler"].step()
    with torch.no_grad():
        return float(sum(MSE(model(x), y) for x, y in loader) / len(loader))


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, lr=1.0, momentum=0.9, nesterov=True),
        lambda p: ASG(p, 1.0),
        lambda p: torch.optim.AdamW(p, fused=True),
        lambda p: torch.optim.RMSprop(p),
        lambda p: torch.optim.Adagrad(p),
    ],
)
def test_advised_parameters_train(linear, loader, make, schedule):
    optimizer = make(linear.parameters())
    with torch.no_grad():
        start = float(sum(MSE(linear(x), y) for x, y in loader) / len(loader))
    advice = advise(
        linear, MSE, loader, optimizer=optimizer, steps=200, schedule=schedule, budget="race"
    )
    assert advice.improves
    assert advice.steps <= 800
    advice.apply(optimizer)
    end = train(linear, loader, optimizer, advice.schedule.code, 200)
    assert end < 0.05 * start
    # 0.01 is the noise in the targets, which no weights explain.
    assert end < 2.0 * max(advice.loss_range[1], 0.01)


def test_muon_moves_the_matrices_alone(network, loader):
    matrices = [p for p in network.parameters() if p.ndim == 2]
    advice = advise(network, MSE, loader, optimizer=torch.optim.Muon(matrices), **QUICK)
    assert advice.improves
    assert advice.scope == "no limit is known for this optimizer"
    # The code does not make a Muon of all parameters.
    rule = torch.optim.Muon(matrices, lr=1.0)
    exec(advice.code, {"torch": torch, "optimizer": rule})
    assert rule.param_groups[0]["initial_lr"] == pytest.approx(advice.lr, rel=0.01)


def test_nothing_of_the_user_s_is_changed(network, loader):
    for make in (torch.optim.SGD, torch.optim.AdamW):
        optimizer = make(network.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
        train(network, loader, optimizer, "", 16)
        kept = copy.deepcopy((network.state_dict(), optimizer.state_dict()))
        grads = [p.grad.clone() for p in network.parameters()]
        order = loader.generator.get_state()
        torch.manual_seed(9)
        expected = torch.rand(1)
        torch.manual_seed(9)
        advise(network, MSE, loader, optimizer=optimizer, **QUICK)
        assert torch.equal(torch.rand(1), expected)
        assert torch.equal(loader.generator.get_state(), order)
        torch.testing.assert_close(network.state_dict(), kept[0], rtol=0, atol=0)
        torch.testing.assert_close(optimizer.state_dict(), kept[1], rtol=0, atol=0)
        for p, grad in zip(network.parameters(), grads, strict=True):
            assert torch.equal(p.grad, grad)
        assert network.training
        assert scheduler.last_epoch == 0


def test_a_run_takes_at_most_a_tenth_of_the_planned_steps(linear, loader):
    adam = torch.optim.AdamW(linear.parameters())
    assert advise(linear, MSE, loader, optimizer=adam, steps=1500).steps <= 150
    assert advise(linear, MSE, loader, optimizer=adam, steps=1500, budget="race").steps > 300


def test_groups_keep_their_proportion(network, loader):
    params = list(network.parameters())
    groups = [{"params": params[:2], "lr": 0.1}, {"params": params[2:], "lr": 0.5}]
    optimizer = ASG(groups, 0.1)
    advice = advise(network, MSE, loader, optimizer=optimizer, **QUICK)
    assert advice.lrs[1] == pytest.approx(5 * advice.lrs[0])
    assert "groups:" in advice.sentence
    exec(advice.code, {"torch": torch, "optimizer": optimizer})
    # A scheduler keeps the lr that it multiplies as the initial one.
    assert optimizer.param_groups[1]["initial_lr"] == pytest.approx(advice.lrs[1], rel=0.01)


def test_limits_are_those_of_the_look_ahead(linear, loader):
    for gamma, expected in ((None, 0.8), (0.3, 0.3), (0.0, 0.0)):
        rule = ASG(linear.parameters(), 0.1, momentum=0.8, gamma=gamma)
        advice = advise(linear, MSE, loader, optimizer=rule, momentum="keep", **QUICK)
        curvature = advice.curvature
        assert advice.limit == curvature.limit(0.8, expected)
        assert advice.iid_limit == curvature.iid_limit(0.8, expected)
        assert advice.critical_batch_size == curvature.critical_batch_size(advice.lr, 0.8, expected)


def test_a_momentum_that_blows_up_is_shown_and_counted(linear, loader, monkeypatch):
    real = advising.run_trial

    def run_trial(setting, lr, momentum, steps, **options):
        # Only challengers are run from there.
        return real(setting, 1e3 * lr, momentum, steps, **options)

    monkeypatch.setattr(advising, "run_trial", run_trial)
    rule = torch.optim.SGD(linear.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    advice = advise(linear, MSE, loader, optimizer=rule, budget="thorough")
    (lost,) = [row for row in advice.rows if row.momentum == 0.0]
    assert lost.outcome == "blew up"
    assert advice.momentum == 0.9
    assert advice.steps == sum(row.taken for row in advice.rows) <= 2000


def test_momentum_is_kept_on_request(linear, loader):
    optimizer = torch.optim.SGD(linear.parameters(), lr=1.0, momentum=0.5)
    options = {"optimizer": optimizer, "budget": "thorough"}
    advice = advise(linear, MSE, loader, momentum="keep", **options)
    assert advice.momentum == 0.5
    assert {row.momentum for row in advice.rows} == {0.5}
    chosen = advise(linear, MSE, loader, **options)
    assert {row.momentum for row in chosen.rows} >= {0.5, 0.9}


def test_the_limit_of_adam_is_that_of_its_preconditioned_curvature(loader):
    """On a quadratic in one weight: lambda = h/P, with P from the best trial's own state."""
    torch.manual_seed(1)
    model = torch.nn.Linear(1, 1, bias=False)
    batches = [(x[:, :1], y) for x, y in loader]
    whole = [(torch.cat([x for x, _ in batches]), torch.cat([y for _, y in batches]))]
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.99))
    advice = advise(model, MSE, whole, optimizer=adam, budget="race", schedule="constant")
    hessian = 2.0 * float(whole[0][0].square().mean())
    trial = min(advice.rows, key=lambda row: (-row.steps, row.loss))
    setting = Setting(
        model, adam, batch_loss(MSE), BatchReplay(whole, torch.device("cpu")),
        advice.schedule, Weights(model),
    )  # fmt: skip
    _, rule = run_trial(setting, trial.lr, None, trial.steps)
    state = next(iter(rule.state.values()))
    p = math.sqrt(float(state["exp_avg_sq"]) / (1.0 - 0.99**trial.steps)) + 1e-8
    assert advice.limit == pytest.approx(38.0 * p / hessian, rel=0.02)
    assert "for a fixed preconditioner" in str(advice)
    assert "Beyond it Adam does not diverge" in str(advice)


def test_it_says_so_when_nothing_improves(loader):
    class Stuck(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return x[:, :1] * 0.0 + self.w * 0.0

    advice = advise(Stuck(), MSE, [next(iter(loader))], **QUICK)
    assert not advice.improves
    assert advice.sentence.startswith("no lr lowered the loss within")


def test_mappings_own_losses_precision_clipping_and_accumulation(linear, data):
    batches = [{"x": data[0][i : i + 32], "y": data[1][i : i + 32]} for i in range(0, 256, 32)]
    advice = advise(
        linear, None, batches, batch_loss=lambda model, batch: MSE(model(batch["x"]), batch["y"]),
        autocast=torch.bfloat16, clip_grad_norm=1.0, accumulate=2, **QUICK,
    )  # fmt: skip
    assert advice.improves


def test_half_precision_is_scaled(loader):
    """Gradients of 1e-9 are zero in float16 unless the loss is scaled."""
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 1)

    def tiny(output, target):
        return 1e-9 * MSE(output.float(), target)

    plain = advise(model, tiny, loader, autocast=torch.float16, **QUICK)
    assert plain.improves
    assert plain.loss < 0.5 * plain.start_loss


def test_a_trial_is_the_user_s_loop_with_the_schedule_compressed(linear, loader):
    setting = setting_of(linear, loader, "cosine")
    trial, _ = run_trial(setting, 0.02, 0.5, 20)
    setting.weights.put_back()
    rule = torch.optim.SGD(linear.parameters(), lr=0.02, momentum=0.5, nesterov=True)
    for step, factor in enumerate(setting.schedule.compressed(20)):
        rule.param_groups[0]["lr"] = 0.02 * factor
        x, y = setting.batches[step]
        rule.zero_grad()
        loss = MSE(linear(x), y)
        assert float(loss.detach()) == pytest.approx(trial.losses[step], rel=1e-5)
        loss.backward()
        rule.step()
    assert trial.loss == pytest.approx(np.mean(trial.losses[-4:]))


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
@pytest.mark.parametrize(
    ("make", "length", "factors"),
    [
        (torch.optim.SGD, 216, {"constant": 0.5**0.5, "cosine": 0.5**0.5}),
        (torch.optim.AdamW, 144, {"constant": 0.5, "cosine": 1.0}),
    ],
)
def test_a_long_run_takes_less_than_the_winner(linear, loader, make, length, factors, schedule):
    rule = make(linear.parameters(), lr=0.01)
    advice = advise(
        linear, MSE, loader, optimizer=rule, schedule=schedule, momentum="keep", budget="race"
    )
    (won,) = [row for row in advice.rows if row.outcome == "won"]
    assert won.steps == length
    assert advice.lr == pytest.approx(won.lr * factors[schedule])
    assert advice.steps <= 800


def test_trials_start_from_the_same_weights_and_dropout(network, loader):
    setting = setting_of(network, loader)
    first, _ = run_trial(setting, 0.05, 0.9, 20)
    torch.rand(7)
    assert run_trial(setting, 0.05, 0.9, 20)[0].losses == first.losses


def test_a_blown_up_trial_ends_early(linear, loader):
    trial, _ = run_trial(setting_of(linear, loader), 50.0, 0.9, 80)
    assert trial.taken == 8
    assert trial.loss == math.inf
    assert trial.outcome == "blew up"


def test_a_trial_that_ends_above_its_start_blew_up(linear, loader):
    """A loss that saturates stays below low multiples of its start at every lr."""
    saturating = lambda output, target: torch.tanh(0.5 * (output - target).abs().mean())  # noqa: E731
    setting = setting_of(linear, loader, loss=saturating)
    assert 1.1 < 1.0 / setting.start < 3.0
    trial, _ = run_trial(setting, 50.0, 0.9, 80)
    assert trial.outcome == "blew up"
    assert trial.loss == math.inf
    assert 40 < trial.taken < 60  # the second half stops it


def test_accumulation_is_the_mean_of_its_batches(linear, loader):
    """Two batches of 16 per step are one of 32."""
    setting = setting_of(linear, loader, accumulate=2)
    trial, _ = run_trial(setting, 0.05, 0.5, 10)
    setting.weights.put_back()
    rule = torch.optim.SGD(linear.parameters(), lr=0.05, momentum=0.5, nesterov=True)
    for step in range(10):
        parts = [setting.batches[2 * step + k] for k in (0, 1)]
        x, y = (torch.cat([part[i] for part in parts]) for i in (0, 1))
        rule.zero_grad()
        loss = MSE(linear(x), y)
        assert float(loss.detach()) == pytest.approx(trial.losses[step], rel=1e-5)
        loss.backward()
        rule.step()


def test_clipping_is_of_gradients_that_were_scaled_back(linear, loader):
    """In half precision the loss is scaled by 65536: a clip at 1000 must not act on that."""
    batches = list(loader)
    runs = {}
    for clip in (None, 1e3, 1e-9):
        setting = setting_of(linear, batches, autocast=torch.float16, clip=clip)
        runs[clip] = run_trial(setting, 0.02, 0.0, 20)[0].losses
        setting.weights.put_back()
    assert runs[1e3] == runs[None]
    assert np.mean(runs[1e-9][-8:]) > 2.0 * np.mean(runs[None][-8:])


def test_a_new_optimizer_state_leaves_the_old_one_alone(linear, data):
    rule = torch.optim.SGD(linear.parameters(), lr=0.1, momentum=0.9)
    linear(data[0]).sum().backward()
    rule.step()
    twin = fresh(rule)
    assert twin.param_groups[0]["params"][0] is linear.weight
    assert not twin.state
    twin.param_groups[0]["lr"] = 5.0
    assert rule.param_groups[0]["lr"] == 0.1
    assert len(rule.state) == 2


@pytest.mark.parametrize(("kind", "rise"), [(torch.optim.AdamW, 5), (torch.optim.SGD, 2)])
def test_trials_of_adam_keep_their_warm_up(linear, data, monkeypatch, kind, rise):
    """50 of 1,000 steps become 5 of 40, and with SGD 2."""
    x, y = data
    setting = setting_of(linear, [(x, y)], schedule="cosine")
    setting.optimizer = kind(linear.parameters(), lr=1.0)
    lrs = []

    def noted(optimizer, lr, momentum, like):
        lrs.append(lr)
        set_parameters(optimizer, lr, momentum, like=like)

    monkeypatch.setattr(trying, "set_parameters", noted)
    run_trial(setting, 1e-3, None, 40)
    assert lrs.index(max(lrs)) == rise


def test_compiled_models(network, loader):
    adam = torch.optim.AdamW(network.parameters())
    plain = advise(network, MSE, loader, optimizer=adam, **QUICK)
    compiled = torch.compile(network, backend="eager")
    assert advise(compiled, MSE, loader, optimizer=adam, **QUICK).lr == plain.lr


def _rank(rank, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2
    )
    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    draw = torch.Generator().manual_seed(rank)
    x = torch.randn(256, 4, generator=draw)
    batches = [(part, part.sum(dim=1, keepdim=True)) for part in x.split(8)]
    for make in (torch.optim.AdamW, torch.optim.SGD):
        rule = make(model.parameters(), lr=1e-3)
        advice = advise(model, MSE, batches, optimizer=rule, accumulate=2, **QUICK)
        with open(f"{folder}/{make.__name__}-{rank}.json", "w") as file:
            file.write(advice.to_json())
    # Torch's own end of a process now and then aborts it, so both end when both are done.
    pathlib.Path(folder, f"done-{rank}").touch()
    while not pathlib.Path(folder, f"done-{1 - rank}").exists():
        time.sleep(0.01)
    os._exit(0)


def test_every_rank_gets_the_same_answer(tmp_path):
    mp.spawn(_rank, (str(tmp_path),), nprocs=2)
    for kind in ("AdamW", "SGD"):
        answers = [(tmp_path / f"{kind}-{rank}.json").read_text() for rank in (0, 1)]
        assert answers[0] == answers[1]
        assert json.loads(answers[0])["improves"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"budget": "long"}, "budget must be one of quick, race, thorough"),
        ({"momentum": 0.9}, "momentum must be 'choose' or 'keep'"),
        ({"accumulate": 0}, "accumulate must be at least 1"),
        ({"clip_grad_norm": 0}, "clip_grad_norm must be positive"),
        ({"steps": 0}, "steps must be at least 1"),
    ],
)
def test_bad_options_are_refused(linear, loader, options, line):
    with pytest.raises(ValueError, match=line):
        advise(linear, MSE, loader, **options)


def test_a_loss_that_is_nan_from_the_start_is_refused(linear, loader):
    with pytest.raises(ValueError, match="loss must be finite at the start"):
        advise(linear, lambda output, target: MSE(output, target) * math.nan, loader)


ROWS = [
    Trial(0.1, 0.9, 36, 0.6, [0.6] * 36),
    Trial(0.05, 0.9, 144, 0.52), Trial(0.1, 0.9, 144, 0.5, [0.4, 0.5, 0.6] * 16, won=True),
    Trial(0.2, 0.9, 144, 0.505), Trial(0.4, 0.9, 144, math.inf, [9.0] * 8),
]  # fmt: skip
CURVATURE = LocalCurvature(
    np.array([2.0]), np.array([[[1.0]], [[-1.0]]]), np.array([1.0]), 5.0, 16, False, False
)


def answer(**changes):
    words = {
        "lr": 0.1, "momentum": 0.9, "lrs": [0.1], "schedule": schedule_of("cosine", 5000, None),
        "start_loss": 2.0, "rows": ROWS, "curvature": CURVATURE, "gamma": None, "direction": None,
        "direction_limit": None, "budget": "race",
        "optimizer": "torch.optim.SGD(model.parameters(), lr={lr}, momentum={momentum})",
    }  # fmt: skip
    return Advice(**{**words, **changes})


def test_every_form_has_the_map_and_the_code():
    advice = answer()
    text = str(advice)
    assert "lr = 0.1, momentum = 0.9; 250 steps of warm-up, then cosine decay, 5000 steps" in text
    assert "torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)" in text
    assert "single steps 0.4 to 0.6" in text
    assert "92 steps in trials; your model and optimizer are unchanged" in text
    assert len(advice.map_table().splitlines()) == 1 + 4 * 3
    html = advice._repr_html_()
    assert html.startswith('<div class="ravine"><style>')
    assert html.count("<table>") == 2
    assert '<td class="bad">blew up</td>' in html
    data = json.loads(advice.to_json())
    assert data["rows"][-1]["loss"] is None
    assert data["rows"][-1]["outcome"] == "blew up"
    assert data["map"][1] == {
        "momentum": 0.0, "batch_size": 16, "limit": CURVATURE.limit(0.0, batch_size=16),
        "iid_limit": CURVATURE.iid_limit(0.0),
    }  # fmt: skip
    assert data["iid_limit"] == advice.iid_limit
    assert data["critical_batch_size"] == advice.critical_batch_size
    assert data["code"] == advice.code


def test_how_flat_the_optimum_is():
    """0.5 at 0.1, and 2 % more half-way to 0.05; 0.2 is within, 0.4 blew up."""
    low, high = answer().flat_range
    assert low == pytest.approx(0.1 * 0.5**0.5)
    assert high == 0.2


def test_limits_grow_with_the_batch():
    small, large = answer().map(momenta=(0.9,), batch_sizes=(8, 64))
    assert (small.batch_size, large.batch_size) == (8, 64)
    assert small.limit < large.limit


@pytest.mark.parametrize(("quadratic", "complete", "word"), [
    (True, True, "exact"), (True, False, "leading directions"), (False, False, "local"),
])  # fmt: skip
def test_limits_say_what_they_hold_for(quadratic, complete, word):
    curvature = LocalCurvature(
        np.array([2.0]),
        np.array([[[1.0]], [[-1.0]]]),
        np.array([1.0]),
        5.0,
        16,
        quadratic,
        complete,
    )
    assert word in answer(curvature=curvature).scope


def test_without_curvature_there_is_no_map():
    advice = answer(curvature=None, momentum=None, gamma=None)
    assert advice.map() == []
    assert advice.limit is None
    assert advice.iid_limit is None
    assert "Stable in mean square" not in str(advice)
    assert "any batches" not in advice._repr_html_()
    assert json.loads(advice.to_json())["map"] == []


def test_a_picture_shows_what_was_tried(tmp_path):
    advice = answer()
    figure = advice.plot(str(tmp_path / "advice.png"))
    assert (tmp_path / "advice.png").stat().st_size > 1000
    axes = figure.axes[0]
    assert {len(line.get_xdata()) for line in axes.lines[:3]} == {1, 3}
    assert axes.get_xscale() == "log"
    curves = [line for line in figure.axes[1].lines if len(line.get_xdata()) > 1]
    assert len(curves) == 2 * 4  # four momenta, these batches and any
    assert curves[0].get_ydata()[1] == advice.map()[1].limit
