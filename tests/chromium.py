"""A headless Chromium to drive pages with."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PHONE, DESKTOP = (360, 800), (1440, 900)
"""Sizes of a small phone and of a desktop, in CSS pixels."""

NEEDS_CHROMIUM = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("chromium") and shutil.which("chromedriver")), reason="needs Chromium and its driver"
    ),
]


@contextlib.contextmanager
def chromium(downloads: Path | None = None) -> Iterator[Any]:
    """A browser; what it saves goes to a folder."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (
        "--headless=new",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if downloads is not None:
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(60)
    try:
        yield driver
    finally:
        driver.quit()


def visit(driver: Any, url: str) -> None:
    """Open a page, and wait until it is that page which is there and its scripts have run.

    On a busy machine the driver may come back from a navigation before it has begun.
    """
    driver.execute_script("window.before = true")
    driver.get(url)
    end = time.monotonic() + 60
    while not driver.execute_script("return window.before === undefined && document.readyState === 'complete'"):
        if time.monotonic() > end:
            raise TimeoutError(f"{url} has not loaded")
        time.sleep(0.02)


def resize(driver: Any, size: tuple[int, int]) -> None:
    """Give pages another size; a narrow one is a phone's."""
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer(driver: Any, scheme: str) -> None:
    """Let pages be "light" or "dark"."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
