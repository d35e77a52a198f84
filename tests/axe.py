"""Accessibility faults of a page, found by axe-core (from npm; installed once, below .cache)."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

VERSION = "4"
FOLDER = Path(__file__).parents[1] / ".cache" / "axe-core"
SERIOUS = ("serious", "critical")

_RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(
  (found) => done(found.violations.map((fault) => ({
    rule: fault.id, impact: fault.impact, help: fault.help, where: fault.nodes.map((node) => node.target.join(" ")),
  }))),
  (error) => done([{rule: "axe itself", impact: "critical", help: String(error), where: []}]),
);
"""


@cache
def axe_source() -> str:
    """The script of axe-core; skips the test where it cannot be had."""
    script = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("needs npm, to install axe-core")
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = [
            npm,
            "install",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(FOLDER),
            f"axe-core@{VERSION}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode or not script.exists():
            pytest.skip(f"axe-core cannot be installed: {done.stderr.strip()[-300:]}")
    return script.read_text(encoding="utf-8")


def serious_faults(driver: Any) -> list[str]:
    """The serious and critical faults of the page that a browser shows: rule, what it asks for, and where."""
    driver.execute_script(axe_source())
    return [
        f"{fault['rule']}: {fault['help']} ({', '.join(fault['where'][:5])})"
        for fault in driver.execute_async_script(_RUN)
        if fault["impact"] in SERIOUS
    ]
