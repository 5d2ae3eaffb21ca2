"""How soon the page answers, how many people it bears, and its pictures for the documentation.

``python -m benchmarks.page`` starts the page, moves it in headless Chromium, and prints median,
95th and 99th percentile of the milliseconds from an input to the painted picture of that input;
beside them the processor time that it takes. ``--load 20`` lets that many people use it at the same
time for a minute, and counts errors, mixed-up answers and the growth of memory. ``--pictures
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
from ravine.web.layout import CONTROLS

KINDS = {
    "point": "?colour=error",
    "point, dragged": "?colour=error",
    **dict.fromkeys(CONTROLS, "?colour=error"),
    "n": "?colour=sum&example=odd",
    "batch": "?colour=iid&ratio=20",
    "Q, dragged": "?colour=error",
    "Q, from rest": "?colour=error",
    "colour": "?colour=error",
}
"""Inputs that are measured, each with the view that it is made in: one in which it matters."""

_STARTS = 12
"""First pictures that are measured, each with an empty cache."""

_PAINTED = """
new MutationObserver((_, watch) => {
  const wrap = document.getElementById('plane-wrap');
  if (!wrap || wrap.dataset.shown === undefined) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => (window.painted = performance.now()), 0));
}).observe(document, {attributes: true, childList: true, subtree: true});
"""
"""Notes when the first picture is painted, in milliseconds since the page was asked for."""

_MOVE = """
const done = arguments[arguments.length - 1];
const [kind, share] = [arguments[0].split(',')[0], arguments[1]];
const dragged = arguments[0].endsWith('dragged');
const box = (name) => document.getElementById('box-' + name).value;
const told = (id) => new URLSearchParams(
  (document.getElementById(id + '-layer').dataset.shown || '').split(' ').pop());
const before = ['run', 'plane'].map((id) => told(id).toString()).join();

// The picture of this input: drawn from the numbers that stand in the boxes now.
const names = kind === 'point' ? ['step', 'beta'] : [kind];
const where = ['point', 'step', 'beta', 'seed'].includes(kind) ? 'run' : 'plane';
function there() {
  const [picture, now] = [told(where), ['run', 'plane'].map((id) => told(id).toString()).join()];
  if (kind === 'colour') return picture.get('colour') === window.shade;
  // A number that stands nowhere in the name of a picture has its usual value.
  const same = (name) => [null, box(name)].includes(picture.get(name))
    || Number(picture.get(name)) === Number(box(name));
  return now !== before && names.every(same);
}
const watch = new MutationObserver(() => {
  if (!there()) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began), 0));
});
watch.observe(document.getElementById('plane-wrap'), {attributes: true, subtree: true});
watch.observe(document.getElementById('run-wrap'), {attributes: true, subtree: true});

const began = performance.now();
if (kind === 'point') {
  const area = document.getElementById('plane-wrap').getBoundingClientRect();
  const at = {clientX: area.left + 90 + share * 300, clientY: area.top + 200 + 60 * share,
              bubbles: true, cancelable: true};
  document.getElementById('plane-wrap').firstChild.dispatchEvent(
    new PointerEvent(dragged && window.held ? 'pointermove' : 'pointerdown', at));
  window.held = dragged;
  if (!dragged) document.dispatchEvent(new PointerEvent('pointerup', at));
} else if (kind === 'colour') {
  const all = ['error', 'floor', 'worst', 'rate', 'iid'];
  window.shade = all[(all.indexOf(window.shade || 'error') + 1) % all.length];
  window.dash_clientside.set_props('pick-colour', {value: window.shade});
} else {
  const slider = document.getElementById('slide-' + kind);
  const put = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  put.call(slider, Number(slider.min) + share * (Number(slider.max) - Number(slider.min)));
  slider.dispatchEvent(new Event('input', {bubbles: true}));
}
"""
_SHOWN = "return (document.getElementById('plane-wrap') || {dataset: {}}).dataset.shown != null"
_TAKEN = "return ['plane', 'run'].every(id => document.getElementById(id + '-layer').hidden)"
"""Whether Plotly has taken over: nothing has moved for a second."""
_REST = 0.6  # seconds in which the fine picture comes and the page is at rest again


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
        answer(
            address, {"search": "?colour=error", "fine": True}
        )  # kernels are compiled, or loaded
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


def until(driver: Any, script: str, seconds: float = 240.0, pause: float = 0.02) -> None:
    """Wait until a script returns something true."""
    end = time.monotonic() + seconds
    while not driver.execute_script(script):
        if time.monotonic() > end:
            raise TimeoutError(script)
        time.sleep(pause)


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
        yield "first picture", first_pictures(driver, address, pid)
        for kind, view in KINDS.items():
            driver.get(address + view)
            until(driver, _SHOWN)
            until(driver, _TAKEN)
            times = []
            before = processor_time(driver, pid)
            for number in range(count):
                # To and fro, so that a slider with few places never stays where it is.
                share = float(rng.uniform(0.1, 0.45)) + 0.45 * (number % 2)
                times.append(driver.execute_async_script(_MOVE, kind, share))
                if kind.endswith("from rest"):
                    until(driver, _TAKEN, pause=0.2)
                elif not kind.endswith("dragged"):
                    time.sleep(_REST)
            spent = 1e3 * (processor_time(driver, pid) - before) / count
            yield kind, Measured(times, *spent)
    finally:
        driver.quit()


def first_pictures(driver: Any, address: str, pid: int) -> Measured:
    """From asking for the page to its first picture, with nothing in the browser's cache."""
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _PAINTED})
    times = []
    costs = []
    for _ in range(_STARTS):
        driver.get(f"{address}_dash-layout")  # a page of the same renderer, and a light one
        driver.execute_cdp_cmd("Network.clearBrowserCache", {})
        before = processor_time(driver, pid)
        driver.get(address)
        until(driver, "return window.painted !== undefined", pause=0.2)
        times.append(driver.execute_script("return window.painted"))
        until(driver, _TAKEN, pause=0.2)
        costs.append(1e3 * (processor_time(driver, pid) - before))

    return Measured(times, *np.median(costs, axis=0))


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
    first = json.loads(answer(address, {"search": "?colour=error", "fine": True}))
    settings = first["settings"]
    shown = {"plane": first["plane"]["key"], "run": first["run"]["key"]}
    out = {}
    for name, change, usual, fine in (
        ("Q moved: coarse plane, run, words", "Q", 32.0, False),
        ("the fine plane when it rests", "Q", 32.0, True),
        ("point moved: run, words", "step", 1.0, False),
    ):
        times = []
        for share in (0.81, 0.82, 0.83, 0.84, 0.85):
            moved = settings | {change: str(share * usual)}
            wish = {"settings": moved, "fine": False, **shown}
            if fine:  # the coarse answer has brought the run
                wish |= {"run": json.loads(answer(address, wish))["run"]["key"], "fine": True}
            began = time.perf_counter()
            said = answer(address, wish)
            times.append(1e3 * (time.perf_counter() - began))
        out[name] = min(times), len(said) / 1e3
    return out


def answer(address: str, wish: dict[str, Any]) -> str:
    """What Python says to a question, as the page would ask it."""
    request = urllib.request.Request(
        address + "answer",
        data=json.dumps(wish).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as reply:
        return str(reply.read().decode())


def report(count: int, people: int, seconds: float) -> None:
    """Print the table of latencies, where the time goes, and the load test."""
    with running_page() as (address, pid):
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print("| input | median, ms | 95 % | 99 % | page, ms | server, ms |")
        print("|---|---:|---:|---:|---:|---:|")
        for kind, one in latencies(address, count, pid):
            row = " | ".join(f"{np.percentile(one.times, p):.0f}" for p in (50, 95, 99))
            print(f"| {kind} | {row} | {one.page:.0f} | {one.server:.0f} |", flush=True)
        print(f"load average {os.getloadavg()[0]:.1f} at the end")

        print(f"\n{'of it, in Python':36s} {'ms':>7s} {'kB':>7s}")
        for name, (milliseconds, size) in parts(address).items():
            print(f"{name:36s} {milliseconds:7.0f} {size:7.0f}")

        if people:
            from benchmarks.page_load import load

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
