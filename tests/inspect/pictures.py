"""Makes the pictures of docs/inspector.md.

    python -m tests.inspect.pictures docs/images [RUN]

Needs Chromium and its driver; with Pillow the pictures are a third of their size.
"""

from __future__ import annotations

import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import gymnasium as gym

import scpo_envs  # noqa: F401  (registers the ids)
from scpo_envs.policies import collect, make_policy
from scpo_envs.rollouts import RolloutGroup
from scpo_envs.wrappers import ScpoReward
from tests.chromium import DESKTOP, chromium, prefer, resize, visit
from tests.inspect.groups import write
from tests.inspect.serving import serving

TALL, PHONE = (1440, 1180), (390, 844)
SIDE_BY_SIDE = "document.getElementById('side-title').scrollIntoView()"


def main(out: Path, run: Path | None = None) -> None:
    """Write the pictures; that of a run's page only where a run's folder is given."""
    with tempfile.TemporaryDirectory() as folder, chromium() as driver:
        played = write(Path(folder, "alfworld.jsonl"), *play())
        driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        with serving(played) as one:
            found = next(iter(one.served.runs.values()))
            place = f"{one.url}runs/{found.id}/groups"
            group = f"{place}/{next(iter(found.files))}/3"
            take(driver, place, out / "inspector-groups.png", DESKTOP)
            take(driver, group, out / "inspector-group.png", TALL)
            take(driver, group, out / "inspector-dark.png", DESKTOP, scheme="dark", script=SIDE_BY_SIDE)
            take(driver, group, out / "inspector-phone.png", PHONE, script=SIDE_BY_SIDE)
        if run is not None:
            with serving(run) as one:
                take(driver, one.url, out / "inspector-run.png", DESKTOP)


def play() -> list[RolloutGroup]:
    """Twelve groups of the noisy expert, as `scpo rollout --groups 12` plays them."""
    venv = ScpoReward(gym.make_vec("SCPO-ALFWorld-v0", num_envs=64, group_size=8))
    try:
        return list(collect(venv, make_policy("noisy-expert", seed=0), groups=12, seed=0))
    finally:
        venv.close()


def take(
    driver: Any, url: str, path: Path, size: tuple[int, int], *, scheme: str = "light", script: str | None = None
) -> None:
    """A picture of a page."""
    resize(driver, size)
    prefer(driver, scheme)
    visit(driver, url)
    if script is not None:
        driver.execute_script(script)
    time.sleep(0.7)  # fonts and lines
    path.write_bytes(smaller(driver.get_screenshot_as_png()))


def smaller(picture: bytes) -> bytes:
    """A PNG with a palette, where Pillow is there to make one."""
    try:
        from PIL import Image
    except ImportError:
        return picture
    reduced = BytesIO()
    Image.open(BytesIO(picture)).convert("RGB").quantize(200, dither=Image.Dither.NONE).save(
        reduced, "PNG", optimize=True
    )
    return reduced.getvalue()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
