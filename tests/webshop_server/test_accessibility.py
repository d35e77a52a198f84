"""No page of the shop has a serious accessibility fault. Slow: needs Chromium, its driver, npm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.axe import serious_faults
from tests.chromium import DESKTOP, NEEDS_CHROMIUM, PHONE, chromium, prefer, resize, visit
from tests.webshop_server.oddities import ODD_RECORDS
from tests.webshop_server.serving import serving
from tests.webshop_server.stock import build
from webshop_server.shop import Shop

pytest.importorskip("selenium", reason="needs the extra `browser`")
pytestmark = NEEDS_CHROMIUM

PAGES = {
    "search": ("search", "me"),
    "results": ("results", "search_results/me/shirt/1"),
    "no results": ("results", "search_results/me/zzz/1"),
    "odd results": ("results", "search_results/me/friends alert/1"),
    "item": ("item", "item_page/me/B000000001/shirt/1/{}"),
    "item, chosen": ("item", "item_page/me/B000000001/shirt/1/{'size': 'large'}"),
    "description": ("sub", "item_sub_page/me/B000000001/shirt/1/Description/{}"),
    "features": ("sub", "item_sub_page/me/B000000001/shirt/1/Features/{}"),
    "reviews": ("sub", "item_sub_page/me/B000000001/shirt/1/Reviews/{}"),
    "error": ("error", "search_results/nobody/shirt/1"),
    "done": ("done", "done/me/B000000001/{}"),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as driver:
        yield driver


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_have_no_serious_fault(browser: Any, tmp_path: Path, scheme: str, size: tuple[int, int]) -> None:
    resize(browser, size)
    prefer(browser, scheme)
    faults = {}
    with serving(Shop(build(tmp_path / "odd", ODD_RECORDS), show_attributes=True)) as server:
        for name, (kind, path) in PAGES.items():
            visit(browser, f"http://127.0.0.1:{server.port}/{path}")
            assert browser.execute_script("return document.body.className") == f"page-{kind}"
            faults[name] = serious_faults(browser)
    assert faults == {name: [] for name in PAGES}
