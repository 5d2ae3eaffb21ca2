"""How soon the page answers, how many readers it serves, and its pictures for the documentation.

``python -m benchmarks.page`` starts the page, moves it in headless Chromium, and prints median,
95th and 99th percentile of the milliseconds from an input to the painted picture of that input;
beside them the processor time that it takes. ``--load 20`` lets that many readers use it for a
minute, and counts errors and wrong answers. ``--pictures FOLDER`` writes screenshots of all views.
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
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from ravine.web.answers import answer
from ravine.web.picture import as_json
from ravine.web.view import CONTROLS

_BUSY = "?colour=error&example=noise"
KINDS = {
    "point": _BUSY,
    "point, dragged": _BUSY,
    **{name: _BUSY for name, control in CONTROLS.items() if control.slider},
    "n": "?colour=sum&example=inconsistent",
    "batch": "?colour=iid_rate&ratio=20",
    "Q, regions": "",
    "colour": _BUSY,
}
"""Inputs that are measured, each with the view that it is made in: one in which it matters."""

_STARTS = 8
"""First pictures that are measured, each with an empty cache."""
_REST = 0.6  # seconds in which the fine picture comes and the page is at rest again
_WARM = 20.0  # seconds of use before the memory is read
_VIEWS = 4
"""Views of each reader; nobody has one of another's."""

_PAINTED = """
new MutationObserver((_, watch) => {
  const view = document.getElementById('view-explore');
  if (!view || view.dataset.shown === undefined) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => (window.painted = performance.now()), 0));
}).observe(document, {attributes: true, childList: true, subtree: true});
"""
"""Notes when the first picture is painted, in milliseconds since the page was asked for."""

_MOVE = """
const done = arguments[arguments.length - 1];
const [name, share] = [arguments[0].split(',')[0], arguments[1]];
const dragged = arguments[0].endsWith('dragged');
const view = document.getElementById('view-explore');
const box = (id) => document.getElementById('box-' + id).value;
const names = {point: ['step', 'beta'], colour: []}[name] || [name];

// The picture of this input: the answer that is shown has the numbers that stand in the boxes now.
// A number that is not in the answer has its default.
function there() {
  const told = new URLSearchParams(view.dataset.shown);
  if (name === 'colour') return told.get('colour') === window.shade;
  return names.every((id) => !told.has(id) || Number(told.get(id)) === Number(box(id)));
}
const watch = new MutationObserver(() => {
  if (!there()) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began), 0));
});
watch.observe(view, {attributes: true, attributeFilter: ['data-shown']});

const began = performance.now();
if (name === 'point') {
  const over = document.querySelector('#plane .u-over');
  const area = over.getBoundingClientRect();
  const at = {clientX: area.left + 40 + share * 300, clientY: area.top + 150 + 60 * share,
              bubbles: true, cancelable: true, pointerId: 1};
  over.setPointerCapture = () => {};
  over.hasPointerCapture = () => dragged;
  over.dispatchEvent(new PointerEvent(dragged && window.held ? 'pointermove' : 'pointerdown', at));
  window.held = dragged;
  if (!dragged) over.dispatchEvent(new PointerEvent('pointerup', at));
} else if (name === 'colour') {
  const list = document.getElementById('colour');
  const all = ['error', 'floor', 'worst_case_rate', 'spectral_radius', 'iid_rate'];
  window.shade = all[(all.indexOf(window.shade || 'error') + 1) % all.length];
  list.value = window.shade;
  list.dispatchEvent(new Event('change'));
} else {
  const slider = document.getElementById('slide-' + name);
  slider.value = Number(slider.min) + share * (Number(slider.max) - Number(slider.min));
  slider.dispatchEvent(new Event('input', {bubbles: true}));
}
"""
_SHOWN = "return document.getElementById('view-explore')?.dataset.shown !== undefined"


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
        busy = {"colour": "error", "example": "noise"}
        ask(address, {"settings": busy, "calm": 1})  # kernels are compiled, or loaded
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
    flags += f" disable-background-networking disable-dev-shm-usage window-size={width},{height}"
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
        time.sleep(0.05)


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
            time.sleep(_REST)
            times = []
            before = processor_time(driver, pid)
            for number in range(count):
                # To and fro, so that a slider with few places never stays where it is.
                share = float(rng.uniform(0.1, 0.45)) + 0.45 * (number % 2)
                times.append(driver.execute_async_script(_MOVE, kind, share))
                if not kind.endswith("dragged"):
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
        driver.get(f"{address}claims")  # of the same renderer, and light
        driver.execute_cdp_cmd("Network.clearBrowserCache", {})
        before = processor_time(driver, pid)
        driver.get(address)
        until(driver, "return window.painted !== undefined")
        times.append(driver.execute_script("return window.painted"))
        costs.append(1e3 * (processor_time(driver, pid) - before))

    return Measured(times, *np.median(costs, axis=0))


def processor_time(driver: Any, pid: int) -> Any:
    """Seconds of the browser's renderers, and of the server."""

    def seconds(process: psutil.Process) -> float:
        return process.cpu_times().user + process.cpu_times().system

    family = psutil.Process(driver.service.process.pid).children(recursive=True)
    renderers = [one for one in family if "--type=renderer" in one.cmdline()]
    return np.array([sum(map(seconds, renderers)), seconds(psutil.Process(pid))])


def ask(address: str, wanted: dict[str, Any]) -> Any:
    """What Python answers to a request of the page."""
    request = urllib.request.Request(
        address + "answer",
        data=json.dumps(wanted).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as reply:
        return json.load(reply)


def load(address: str, readers: int, seconds: float, pid: int) -> dict[str, Any]:
    """Every reader asks for views of its own, and compares each answer with the library's."""
    requests = [[_request(number, view) for view in range(_VIEWS)] for number in range(readers)]
    expected = [[json.loads(as_json(answer(one))) for one in own] for own in requests]
    counts = {"answers": 0, "errors": 0, "wrong answers": 0}
    waits: list[float] = []
    lock = threading.Lock()

    def reader(number: int, end: float) -> None:
        rng = np.random.default_rng(number)
        while time.monotonic() < end:
            view = int(rng.integers(_VIEWS))
            began = time.monotonic()
            try:
                got = ask(address, requests[number][view])
            except OSError:
                with lock:
                    counts["errors"] += 1
                continue
            with lock:
                counts["answers"] += 1
                counts["wrong answers"] += got != expected[number][view]
                waits.append(time.monotonic() - began)

    def everyone(duration: float) -> int:
        """Let all readers ask for some seconds; bytes that the server has then."""
        end = time.monotonic() + duration
        threads = [threading.Thread(target=reader, args=(one, end)) for one in range(readers)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return int(psutil.Process(pid).memory_info().rss)

    # Caches and the memory of every thread fill up first: what grows then would be a leak.
    before = everyone(_WARM)
    after = everyone(seconds)
    wait = round(1e3 * float(np.median(waits)))
    memory = f"{before / 2**20:.0f} MiB after {_WARM:g} s, {after / before - 1.0:+.1%} at the end"
    return counts | {"wait, median ms": wait, "memory": memory}


def _request(number: int, view: int) -> dict[str, Any]:
    """A view that no other reader has: both its pictures depend on Q."""
    settings = {
        "Q": f"{3.0 + number + view / 7.0:.6g}",
        "step": "0.5",
        "beta": f"{0.02 * number:.6g}",
        "colour": ("error", "worst_case_rate", "floor", "regions")[view],
        "example": ("noise", "inconsistent", "turning")[view % 3],
    }
    return {"settings": settings, "calm": int(view == 0)}


def report(count: int, readers: int, seconds: float) -> None:
    """Print the table of latencies and the load test."""
    with running_page() as (address, pid):
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        if count:
            print("| input | median, ms | 95 % | 99 % | page, CPU ms | server, CPU ms |")
            print("|---|---:|---:|---:|---:|---:|")
            for kind, one in latencies(address, count, pid):
                row = " | ".join(f"{np.percentile(one.times, p):.0f}" for p in (50, 95, 99))
                print(f"| {kind} | {row} | {one.page:.0f} | {one.server:.0f} |", flush=True)
        if readers:
            for name, number in load(address, readers, seconds, pid).items():
                print(f"{name:26s} {number}")
        print(f"load average {os.getloadavg()[0]:.1f} at the end")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="inputs of each kind")
    parser.add_argument("--load", type=int, default=0, help="readers at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="for which they use it")
    parser.add_argument("--pictures", type=Path, help="folder for a screenshot of every view")
    parser.add_argument("--only", nargs="*", default=(), help="names of the views to take")
    asked = parser.parse_args()
    if asked.pictures is not None:
        from benchmarks.page.pictures import take_pictures

        with running_page() as (address, _):
            take_pictures(address, asked.pictures, asked.only)
        return

    report(asked.count, asked.load, asked.seconds)


if __name__ == "__main__":
    main()
