"""Screenshots of every view of the running page, for the documentation.

python -m benchmarks.page --pictures docs/images/page
"""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.page import browser, until

_WIDE = (1280, 1010)
_PHONE = (390, 2330)
_SETTLED = 2.0  # seconds for the fine picture, which comes after the coarse one
_DRAWN = (
    "const wrap = document.getElementById('plane-wrap');"
    "const layers = [...document.querySelectorAll('canvas.layer')];"
    "const waits = one => !one.hidden && one.parentElement.clientWidth > 0;"
    "return !!wrap && wrap.dataset.shown !== undefined && !layers.some(waits)"
)
_QUALITY = 82  # of WebP: text stays sharp, a picture takes some 60 kB

VIEWS = {
    "plane": ("", _WIDE, "light"),
    "dark": ("?colour=error&axis=log", _WIDE, "dark"),
    "odd": ("?example=odd&n=10&colour=sum&K=150", _WIDE, "light"),
    "turning": ("?example=turning&K=60&colour=commuting", _WIDE, "light"),
    "phone": ("", _PHONE, "light"),
}
"""Address, size and light of the views that are there at once."""


def take_pictures(address: str, folder: Path, only: Sequence[str] = ()) -> None:
    """Write every view as WebP, or those that are named."""
    folder.mkdir(parents=True, exist_ok=True)
    driver = browser()
    try:
        for name, (query, shape, light) in VIEWS.items():
            if not only or name in only:
                _open(driver, address + query, shape, light)
                _save(driver, folder / f"{name}.webp")

        for name, take in {"share": _share, "data": _data, "claims": _claims}.items():
            if not only or name in only:
                take(driver, address, folder)
    finally:
        driver.quit()


def _open(driver: Any, address: str, shape: tuple[int, int], light: str) -> None:
    width, height = shape
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = [{"name": "prefers-color-scheme", "value": light}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    driver.get("about:blank")
    driver.get(address)
    until(driver, _DRAWN)
    time.sleep(_SETTLED)


def _share(driver: Any, address: str, folder: Path) -> None:
    """The dialog with the code and the downloads."""
    _open(driver, address, _WIDE, "light")
    _press(driver, "open-share")
    _save(driver, folder / "share.webp")


def _data(driver: Any, address: str, folder: Path) -> None:
    """The room for tables, with a data set of scikit-learn diagnosed."""
    _open(driver, address + "?room=data", (1280, 1580), "light")
    driver.execute_script("window.dash_clientside.set_props('dataset', {value: 'diabetes'})")
    until(driver, "return !document.getElementById('data-words').hidden")
    time.sleep(_SETTLED)
    _press(driver, "judge-point")
    until(driver, "return document.getElementById('data-judged').textContent.includes('lr = ')")
    _save(driver, folder / "data.webp")


def _claims(driver: Any, address: str, folder: Path) -> None:
    """The room for claims, with a figure that was run live, while others are measured."""
    _open(driver, address + "?room=claims", (1280, 1250), "light")
    driver.execute_script(
        "[...document.querySelectorAll('.figures button')]"
        ".find(b => b.textContent.startsWith('Where convergence')).click()"
    )
    until(driver, "return !!document.querySelector('img.picture-live')")
    _press(driver, "judge")
    until(driver, "return document.querySelectorAll('.claims td.good').length > 6")
    _save(driver, folder / "claims.webp")


def _press(driver: Any, identity: str) -> None:
    driver.execute_script("document.getElementById(arguments[0]).click()", identity)
    time.sleep(0.3)


def _save(driver: Any, path: Path) -> None:
    options = {"format": "webp", "quality": _QUALITY}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", options)
    path.write_bytes(base64.b64decode(taken["data"]))
    print(f"{path} {path.stat().st_size / 1e3:.0f} kB")
