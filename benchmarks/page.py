"""How soon the page answers: milliseconds from an input to the painted picture, in a browser.

``python -m benchmarks.page`` starts the page, moves it in headless Chromium, and prints median,
95th and 99th percentile for every kind of input; with ``--load 20`` that many people use it at the
same time for a minute, and errors, mixed-up answers and the growth of memory are counted.
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
from typing import Any

import numpy as np

_MOVE = """
const done = arguments[arguments.length - 1];
const [kind, share] = [arguments[0], arguments[1]];
const plane = document.querySelector('#plane .js-plotly-plot');
const run = document.querySelector('#run .js-plotly-plot');
const watched = kind === 'point' ? run : plane;
const began = performance.now();
const finish = () => requestAnimationFrame(() => setTimeout(() => {
  watched.removeListener('plotly_afterplot', finish);
  done(performance.now() - began);
}, 0));
watched.on('plotly_afterplot', finish);
if (kind === 'point') {
  const box = document.getElementById('plane-wrap').getBoundingClientRect();
  const at = {clientX: box.left + 90 + share * 300, clientY: box.top + 200, bubbles: true,
              cancelable: true};
  const inside = document.getElementById('plane-wrap').firstChild;
  inside.dispatchEvent(new PointerEvent('pointerdown', at));
  document.dispatchEvent(new PointerEvent('pointerup', at));
} else {
  const slider = document.getElementById('slide-' + kind);
  const put = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  put.call(slider, Number(slider.min) + share * (Number(slider.max) - Number(slider.min)));
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  slider.dispatchEvent(new Event('change', {bubbles: true}));
}
"""
_KINDS = ("point", "Q", "K", "sigma2")


def browser() -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    flags = "headless=new no-sandbox disable-gpu disable-quic no-first-run"
    flags += " disable-background-networking window-size=1280,1000"
    for flag in flags.split():
        options.add_argument(f"--{flag}")
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(60)
    return driver


def latencies(address: str, count: int) -> dict[str, list[float]]:
    """Milliseconds of every input, by kind."""
    driver = browser()
    rng = np.random.default_rng(0)
    found: dict[str, list[float]] = {}
    try:
        began = time.perf_counter()
        driver.get(address + "?colour=error")
        drawn = "return !!document.querySelector('#plane .js-plotly-plot .heatmaplayer image')"
        while not driver.execute_script(drawn):
            time.sleep(0.02)
        found["first paint"] = [1e3 * (time.perf_counter() - began)]
        for kind in _KINDS:
            times = []
            for _ in range(count):
                times.append(driver.execute_async_script(_MOVE, kind, float(rng.uniform(0.1, 0.9))))
                time.sleep(0.5)  # the fine picture comes to rest
            found[kind] = times
    finally:
        driver.quit()
    return found


def load(address: str, people: int, seconds: float, pid: int) -> dict[str, Any]:
    """Many people at once: each asks for planes of its own and checks that it gets them."""
    before = _memory(pid)
    counts = {"answers": 0, "errors": 0, "mixed up": 0}
    lock = threading.Lock()
    until = time.monotonic() + seconds

    def person(number: int) -> None:
        rng = np.random.default_rng(number)
        while time.monotonic() < until:
            Q = float(np.round(rng.uniform(2.0, 100.0), 3))
            settings = {"Q": str(Q), "step": "0.5", "beta": "0.3"}
            data = {"settings": settings, "theme": "light", "fine": False}
            try:
                said = _ask(address, "python-code.children", "point", data)
                right = f"L={Q!r}" in said
                with lock:
                    counts["answers"] += 1
                    counts["mixed up"] += not right
            except OSError:
                with lock:
                    counts["errors"] += 1

    crowd = [threading.Thread(target=person, args=(i,)) for i in range(people)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    return counts | {"memory grown by": f"{_memory(pid) / before - 1:.1%}"}


def _ask(address: str, output: str, store: str, data: dict[str, Any]) -> str:
    """The answer of one callback, as the page would ask for it."""
    with urllib.request.urlopen(address + "_dash-dependencies") as answer:
        wiring = json.load(answer)
    entry = next(one for one in wiring if output in one["output"])
    outputs = [
        dict(zip(("id", "property"), part.rsplit(".", 1), strict=True))
        for part in entry["output"].strip(".").split("...")
    ]
    inputs = [{**one, "value": data if one["id"] == store else None} for one in entry["inputs"]]
    body = {"output": entry["output"], "outputs": outputs, "inputs": inputs,
            "changedPropIds": [f"{store}.data"]}  # fmt: skip
    request = urllib.request.Request(
        address + "_dash-update-component",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


def _memory(pid: int) -> float:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return float(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="inputs of each kind")
    parser.add_argument("--load", type=int, default=0, help="people at once, for a minute")
    asked = parser.parse_args()
    code = "from ravine.web import explore; explore(browser=False, inline=False, port=28057)"
    server = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        address = next(word for word in server.stderr.readline().split() if "http" in word)
        threading.Thread(target=server.stderr.read, daemon=True).start()
        time.sleep(8.0)  # the kernels are compiled or loaded
        print(f"{'input':14s} {'median':>8s} {'p95':>8s} {'p99':>8s}  ms")
        for kind, times in latencies(address, asked.count).items():
            row = " ".join(f"{np.percentile(times, p):8.0f}" for p in (50, 95, 99))
            print(f"{kind:14s} {row}")
        if asked.load:
            print(load(address, asked.load, 60.0, server.pid))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
