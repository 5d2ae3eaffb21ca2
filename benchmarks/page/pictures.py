"""Screenshots of every view of the running page: on a desktop, on a phone and in the dark.

python -m benchmarks.page --pictures docs/images/page
"""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.page.latency import browser, until

_WIDE = 1280
_PHONE = 390
_HIGHEST = 3600  # pixels of a picture: all of a view but the long list of claims
_QUALITY = 40  # of WebP: text stays sharp, a picture takes some 60 kB
_DIABETES = "?tab=data&dataset=diabetes&standardise=1&intercept=1&job=none"
_ANSWERED = "return !document.getElementById('data-plane-card').hidden"
_LISTED = "return document.querySelectorAll('#claims tr').length > 9"

VIEWS = {
    "explore": ("", "light", "return document.getElementById('play').textContent === 'Play'"),
    "noise": ("?example=noise&colour=floor", "light", ""),
    "inconsistent": ("?example=inconsistent&n=10&colour=sum&K=150", "light", ""),
    "dark": ("?example=noise&colour=error&axis=log", "dark", ""),
    "data": (_DIABETES, "light", _ANSWERED),
    "data-dark": (_DIABETES, "dark", _ANSWERED),
    "claims": ("?tab=claims", "light", _LISTED),
    "claims-dark": ("?tab=claims", "dark", _LISTED),
}
"""Address, light, and what to wait for."""


def take_pictures(address: str, folder: Path, only: Sequence[str] = ()) -> None:
    """Write every view as WebP, for a desktop and for a phone, or those that are named."""
    folder.mkdir(parents=True, exist_ok=True)
    driver = browser()
    try:
        for name, (query, light, ready) in VIEWS.items():
            for width, ending in ((_WIDE, ""), (_PHONE, "-phone")):
                if not only or name + ending in only:
                    _open(driver, address + query, width, light, ready)
                    _save(driver, folder / f"{name}{ending}.webp", width)

        for name, button in {"share": "open-share", "tour": "start-tour"}.items():
            if not only or name in only:
                _open(driver, address, _WIDE, "light", "")
                driver.execute_script(f"document.getElementById('{button}').click()")
                _save(driver, folder / f"{name}.webp", _WIDE, whole=False)
    finally:
        driver.quit()


def _open(driver: Any, address: str, width: int, light: str, ready: str) -> None:
    _size(driver, width, 1000)
    scheme = [
        {"name": "prefers-color-scheme", "value": light},
        # Nothing plays: the picture is the whole run.
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    driver.get("about:blank")
    driver.get(address)
    until(driver, "return document.getElementById('view-explore')?.dataset.shown !== undefined")
    if ready:
        until(driver, ready)


def _size(driver: Any, width: int, height: int) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def _save(driver: Any, path: Path, width: int, *, whole: bool = True) -> None:
    if whole:
        high = driver.execute_script("return document.documentElement.scrollHeight")
        _size(driver, width, min(high, _HIGHEST))
    time.sleep(1.0)  # the fine picture, and the new size
    options = {"format": "webp", "quality": _QUALITY}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", options)
    path.write_bytes(base64.b64decode(taken["data"]))
    print(f"{path} {path.stat().st_size / 1e3:.0f} kB", flush=True)
