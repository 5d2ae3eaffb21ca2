"""How soon the page answers, how many people it bears, and its pictures for the documentation.

``python -m benchmarks.page`` starts the page, moves it in headless Chromium, and prints median,
95th and 99th percentile of the milliseconds from an input to the painted picture; beside them how
much of that Python computes and how much is sent. ``--load 20`` lets that many people use it at the
same time for a minute, and counts errors, mixed-up answers and the growth of memory. ``--pictures
FOLDER`` writes a screenshot of every view.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ravine.arguments import FloatArray

KINDS = ("point", "drag", "Q", "K", "sigma2", "n", "beta", "colour")
"""Inputs that are measured: the point put elsewhere, dragged, and settings changed."""

_MOVE = """
const done = arguments[arguments.length - 1];
const [kind, share] = [arguments[0], arguments[1]];
const plane = document.querySelector('#plane .js-plotly-plot');
const run = document.querySelector('#run .js-plotly-plot');
const moves = ['point', 'drag', 'beta'].includes(kind);
const watched = moves ? run : plane;
const began = performance.now();
let over = false;
const finish = () => {
  if (over) return;
  over = true;
  watched.removeListener('plotly_afterplot', finish);
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began), 0));
};
watched.on('plotly_afterplot', finish);
const box = document.getElementById('plane-wrap').getBoundingClientRect();
const at = {clientX: box.left + 90 + share * 300, clientY: box.top + 200 + 60 * share,
            bubbles: true, cancelable: true};
if (kind === 'point' || kind === 'drag') {
  document.getElementById('plane-wrap').firstChild.dispatchEvent(
    new PointerEvent(kind === 'drag' && window.held ? 'pointermove' : 'pointerdown', at));
  window.held = kind === 'drag';
  if (kind === 'point') document.dispatchEvent(new PointerEvent('pointerup', at));
} else if (kind === 'colour') {
  const next = ['error', 'floor', 'worst', 'rate', 'iid'];
  window.shade = ((window.shade || 0) + 1) % next.length;
  window.dash_clientside.set_props('pick-colour', {value: next[window.shade]});
} else {
  const slider = document.getElementById('slide-' + kind);
  const put = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  put.call(slider, Number(slider.min) + share * (Number(slider.max) - Number(slider.min)));
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  slider.dispatchEvent(new Event('change', {bubbles: true}));
}
"""
_DRAWN = "return !!document.querySelector('#plane .js-plotly-plot .heatmaplayer image')"
_REST = 0.6  # seconds in which the fine picture comes and the page is at rest again
_SPAN = {"n": "sum", "K": "error", "sigma2": "error"}
"""The quantity in colour that depends on a setting; any does on the others."""


@contextmanager
def running_page() -> Iterator[tuple[str, int]]:
    """A page of its own process: its address and its process number."""
    code = "from ravine.web import explore; explore(browser=False, inline=False, port=28057)"
    server = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        words = server.stderr.readline().split()
        address = next(word for word in words if word.startswith("http"))
        threading.Thread(target=server.stderr.read, daemon=True).start()
        settings = {"settings": {"colour": "error"}, "theme": "light", "fine": True}
        answer(address, "plane.figure", "ground", settings)  # kernels are compiled, or loaded
        answer(address, "run.figure", "point", settings)
        yield address, server.pid
    finally:
        server.terminate()
        server.wait()


def browser(width: int = 1280, height: int = 1000) -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    flags = "headless=new no-sandbox disable-gpu disable-quic no-first-run hide-scrollbars"
    flags += f" disable-background-networking window-size={width},{height}"
    for flag in flags.split():
        options.add_argument(f"--{flag}")
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(120)
    return driver


def until(driver: Any, script: str, seconds: float = 240.0) -> None:
    """Wait until a script returns something true."""
    end = time.monotonic() + seconds
    while not driver.execute_script(script):
        if time.monotonic() > end:
            raise TimeoutError(script)
        time.sleep(0.02)


class Measured(NamedTuple):
    """Milliseconds of every input, and processor time an input: of the renderer, of the server."""

    times: list[float]
    page: float
    server: float


def latencies(address: str, count: int, pid: int) -> Iterator[tuple[str, Measured]]:
    """What every kind of input takes. Processor time counts the fine picture that follows too."""
    driver = browser()
    rng = np.random.default_rng(0)
    try:
        firsts = []
        costs = []
        for _ in range(3):
            driver.get(f"{address}_dash-layout")  # a page of the same renderer, and a light one
            before = processor_time(driver, pid)
            began = time.perf_counter()
            driver.get(address)
            until(driver, _DRAWN)
            firsts.append(1e3 * (time.perf_counter() - began))
            costs.append(1e3 * (processor_time(driver, pid) - before))
        yield "first paint", Measured(firsts, *np.median(costs, axis=0))
        for kind in KINDS:
            driver.get(f"{address}?colour={_SPAN.get(kind, 'error')}")
            until(driver, _DRAWN)
            time.sleep(2 * _REST)
            times = []
            before = processor_time(driver, pid)
            for _ in range(count):
                times.append(driver.execute_async_script(_MOVE, kind, float(rng.uniform(0.1, 0.9))))
                if kind != "drag":
                    time.sleep(_REST)
            spent = 1e3 * (processor_time(driver, pid) - before) / count
            yield kind, Measured(times, *spent)
    finally:
        driver.quit()


def processor_time(driver: Any, pid: int) -> FloatArray:
    """Seconds of the browser's renderers, and of the server."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                parents[int(folder.name)] = int(_stat(int(folder.name))[1])

    family = {driver.service.process.pid}
    for _ in range(4):  # driver, browser, zygotes, renderers
        family |= {child for child, parent in parents.items() if parent in family}

    renderers = 0.0
    for one in family:
        with suppress(OSError):
            if b"--type=renderer" in Path(f"/proc/{one}/cmdline").read_bytes():
                renderers += _seconds(one)

    return np.array([renderers, _seconds(pid)])


def _stat(pid: int) -> list[str]:
    """What the system says of a process, behind its name: state, parent, ..."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()


def _seconds(pid: int) -> float:
    words = _stat(pid)
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def parts(address: str) -> dict[str, tuple[float, float]]:
    """Milliseconds until Python's answer is there, the best of some, and its kilobytes."""
    out = {}
    for name, output, store, fine in (
        ("plane, coarse", "plane.figure", "ground", False),
        ("plane, fine", "plane.figure", "ground", True),
        ("run, without bound", "run.figure", "point", False),
        ("run, with bound", "run.figure", "point", True),
        ("numbers and words", "verdict.children", "point", True),
    ):
        times = []
        for Q in (20.0, 21.0, 22.0, 23.0, 24.0):
            data = {"settings": {"Q": str(Q), "colour": "error"}, "theme": "light", "fine": fine}
            began = time.perf_counter()
            said = answer(address, output, store, data)
            times.append(1e3 * (time.perf_counter() - began))
        out[name] = min(times), len(said) / 1e3
    return out


def load(address: str, people: int, seconds: float, pid: int) -> dict[str, Any]:
    """Many people at once: each asks for pictures of its own and checks that it gets them."""
    counts = {"answers": 0, "errors": 0, "mixed up": 0}
    waits: list[float] = []
    lock = threading.Lock()

    def person(number: int, until: float) -> None:
        rng = np.random.default_rng(number)
        while time.monotonic() < until:
            Q = float(np.round(rng.uniform(2.0, 100.0), 3))
            settings = {"Q": str(Q), "step": "0.5", "beta": "0.3", "colour": "error"}
            data = {"settings": settings, "theme": "light", "fine": False}
            began = time.monotonic()
            try:
                right = f"L={Q!r}" in answer(address, "python-code.children", "point", data)
                right &= '"plane"' in answer(address, "plane.figure", "ground", data)
                right &= '"run"' in answer(address, "run.figure", "point", data)
            except OSError:
                with lock:
                    counts["errors"] += 1
                continue
            with lock:
                counts["answers"] += 3
                counts["mixed up"] += not right
                waits.append((time.monotonic() - began) / 3)

    def crowd(until: float) -> None:
        everyone = [threading.Thread(target=person, args=(i, until)) for i in range(people)]
        for one in everyone:
            one.start()
        for one in everyone:
            one.join()

    crowd(time.monotonic() + 5.0)  # caches and threads are as they will stay
    before = memory(pid)
    counts |= dict.fromkeys(counts, 0)
    waits.clear()
    crowd(time.monotonic() + seconds)
    return counts | {
        "people": people,
        "seconds": seconds,
        "wait, median ms": round(1e3 * float(np.median(waits))),
        "memory MB": round(memory(pid) / 1e6),
        "memory grown by": f"{memory(pid) / before - 1:.1%}",
    }


_WIRING: dict[str, list[dict[str, Any]]] = {}


def answer(address: str, output: str, store: str, data: dict[str, Any]) -> str:
    """The answer of one callback, as the page would ask for it."""
    if address not in _WIRING:
        with urllib.request.urlopen(address + "_dash-dependencies") as reply:
            _WIRING[address] = json.load(reply)
    entry = next(one for one in _WIRING[address] if output in one["output"])
    outputs = [
        dict(zip(("id", "property"), part.rsplit(".", 1), strict=True))
        for part in entry["output"].strip(".").split("...")
    ]
    inputs = [{**one, "value": data if one["id"] == store else 0} for one in entry["inputs"]]
    body = {
        "output": entry["output"], "outputs": outputs if len(outputs) > 1 else outputs[0],
        "inputs": inputs, "changedPropIds": [f"{store}.data"],
    }  # fmt: skip
    request = urllib.request.Request(
        address + "_dash-update-component",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as reply:
        return str(reply.read().decode())


def memory(pid: int) -> float:
    """Resident bytes."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return float(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def report(count: int, people: int, seconds: float) -> None:
    """Print the table of latencies, where the time goes, and the load test."""
    with running_page() as (address, pid):
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        head = f"{'median':>7s} {'p95':>7s} {'p99':>7s}  ms {'page':>7s} {'server':>7s}"
        print(f"{'input to painted picture':26s} {head}  ms of processor time")
        for kind, one in latencies(address, count, pid):
            row = " ".join(f"{np.percentile(one.times, p):7.0f}" for p in (50, 95, 99))
            print(f"{kind:26s} {row}     {one.page:7.0f} {one.server:7.0f}", flush=True)
        print(f"load average {os.getloadavg()[0]:.1f} at the end")

        print(f"\n{'of it, in Python':26s} {'ms':>7s} {'kB':>7s}")
        for name, (milliseconds, size) in parts(address).items():
            print(f"{name:26s} {milliseconds:7.0f} {size:7.0f}")

        if people:
            print()
            for name, number in load(address, people, seconds, pid).items():
                print(f"{name:26s} {number}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="inputs of each kind")
    parser.add_argument("--load", type=int, default=0, help="people at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="for which they use it")
    parser.add_argument("--pictures", type=Path, help="folder for a screenshot of every view")
    parser.add_argument("--only", nargs="*", default=(), help="names of the views to take")
    asked = parser.parse_args()
    if asked.pictures is not None:
        from benchmarks.page_pictures import take_pictures

        with running_page() as (address, _):
            take_pictures(address, asked.pictures, asked.only)
        return

    report(asked.count, asked.load, asked.seconds)


if __name__ == "__main__":
    main()
