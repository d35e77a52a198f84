"""No page of the inspector has a serious accessibility fault. Slow: needs Chromium, its driver, npm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scpo_envs.rollouts import write_groups
from tests.axe import serious_faults
from tests.chromium import DESKTOP, NEEDS_CHROMIUM, PHONE, chromium, prefer, resize, visit
from tests.inspect.groups import hostile, many, shaped, worked, write
from tests.inspect.serving import serving

pytest.importorskip("selenium", reason="needs the extra `browser`")
pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as driver:
        yield driver


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_have_no_serious_fault(
    browser: Any, run_folder: Path, tmp_path: Path, scheme: str, size: tuple[int, int]
) -> None:
    write(run_folder / "rollouts" / "000010.jsonl", shaped(worked(task_type="heat")), *many(60))
    write_groups(run_folder.parent / "loose.jsonl", [hostile()])
    with open(run_folder / "rollouts" / "000010.jsonl", "a") as file:
        file.write("damaged\n")
    resize(browser, size)
    prefer(browser, scheme)
    with serving(run_folder.parent) as one:
        loose, mine = one.served.runs.values()
        groups = f"runs/{mine.id}/groups"
        group = f"{groups}/{next(iter(mine.files))}/1"
        pages = [
            "",
            f"runs/{mine.id}",
            groups,
            f"{groups}?text=nothing+like+it",
            group,
            f"{group}?alpha=1&lam=0.5",
            "no/such/page",
        ]
        pages.append(f"runs/{loose.id}/groups/{next(iter(loose.files))}/1")
        for page in pages:
            visit(browser, one.url + page)
            assert serious_faults(browser) == [], page
        visit(browser, one.url + group)
        browser.execute_script("for (const fold of document.querySelectorAll('details')) fold.open = true")
        assert serious_faults(browser) == [], "unfolded"
        browser.execute_script("document.getElementById('help').showModal()")
        assert serious_faults(browser) == [], "help"
        saved = tmp_path / "saved.html"
        saved.write_bytes(one.client.get(f"/{group}/export.html").data)
    visit(browser, saved.as_uri())
    assert serious_faults(browser) == [], "saved"
