"""The shop in a real browser. Slow: needs Chromium, its driver and the extra `browser`; `make test-all` brings them."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import scpo_envs  # noqa: F401  (registers the ids)
from scpo_envs.webshop.backend import ShopUnavailableError, Visit
from scpo_envs.webshop.http import HttpShop
from tests.webshop_server.oddities import ODD_RECORDS
from tests.webshop_server.serving import serving
from tests.webshop_server.stock import REAL_DATA, build
from webshop_server.catalogue import Catalogue
from webshop_server.importer import import_catalogue
from webshop_server.serve import Server
from webshop_server.shop import Shop

pytest.importorskip("selenium", reason="needs the extra `browser`")
from scpo_envs.webshop.browser import BrowserShop

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("chromium") and shutil.which("chromedriver")), reason="needs Chromium and its driver"
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of selenium, when its driver has been killed
]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return build(tmp_path_factory.mktemp("odd"), ODD_RECORDS)


@pytest.fixture(scope="module")
def server(odd: Catalogue) -> Iterator[Server]:
    with serving(Shop(odd, show_attributes=True)) as running:
        yield running


@pytest.fixture(scope="module")
def browser(server: Server) -> Iterator[BrowserShop]:
    shop = browser_at(server)
    yield shop
    shop.close()


def browser_at(server: Server, **options: Any) -> BrowserShop:
    return BrowserShop(
        f"http://127.0.0.1:{server.port}", **({"mode": "text", "quirks": False, "reward": "webshop"} | options)
    )


def same(one: Visit, other: Visit) -> bool:
    """Whether two visits are equal but for the address."""
    fields = [field for field in Visit.__slots__ if field != "url"]
    return [getattr(one, field) for field in fields] == [getattr(other, field) for field in fields]


def expected(shop: Shop, state: Any, outcome: Any = None, mode: str = "text") -> Visit:
    """What the shop says in process."""
    page = shop.page(state)
    reward, done, reason, score = outcome or (0.0, False, None, None)
    parts = {} if score is None else score.parts()
    return Visit(getattr(page, mode), page.url, *page.available, reward, done, reason, parts)


@pytest.mark.parametrize("mode", ["text", "text_rich"])
@pytest.mark.parametrize("quirks", [True, False], ids=["quirks", "strict"])
def test_a_recorded_trace_is_the_same_in_process_over_http_and_in_the_browser(
    tmp_path: Path, mode: Any, quirks: bool
) -> None:
    if not REAL_DATA.exists():
        pytest.skip("the recorded data is not here: no ../shared/data/webshop")
    import_catalogue(
        REAL_DATA / "items_shuffle_1000.json",
        tmp_path / "real",
        attributes=REAL_DATA / "items_ins_v2_1000.json",
        nouns=REAL_DATA / "title_nouns_en_core_web_sm_3.8.0.json.gz",
    )
    shop = Shop(Catalogue(tmp_path / "real"), quirks=quirks)
    with gzip.open(REAL_DATA / "golden_synth.jsonl.gz", "rt", encoding="utf-8") as lines:
        traces = [json.loads(line) for _, line in zip(range(4), lines, strict=False)]
    with serving(shop) as server:
        options: Any = {"mode": mode, "quirks": quirks, "reward": "webshop"}
        http, browser = HttpShop(f"http://127.0.0.1:{server.port}", **options), browser_at(server, **options)
        for trace in traces:
            goal = int(trace["session"])
            state, outcome = shop.start(goal), None
            visits = [http.start(goal), browser.start(goal)]
            for step in trace["steps"]:
                if step["action"] is not None:
                    state, outcome = shop.step(state, step["action"])
                    visits = [http.step(step["action"]), browser.step(step["action"])]
                here = expected(shop, state, outcome, mode)
                assert all(same(visit, here) for visit in visits), (goal, step["action"])
                if quirks:
                    assert here.observation == step["text" if mode == "text" else "rich"]
                    assert abs(here.reward - step["reward"]) <= 1e-12
        http.close()
        browser.close()


def test_odd_products_too_are_the_same(browser: BrowserShop, odd: Catalogue) -> None:
    shop = Shop(odd, show_attributes=True)
    rng = random.Random(0)
    for goal in range(4):
        state, outcome = shop.start(goal), None
        visit = browser.start(goal)
        for _ in range(12):
            assert same(visit, expected(shop, state, outcome)), state
            if visit.done:
                break
            action = (
                f"search[{rng.choice(['friends alert', 'shirt', 'slash number', 'same', 'zzz'])}]"
                if visit.has_search_bar
                else f"click[{rng.choice([c for c in visit.clickables if c != 'buy now'] or ['x'])}]"
            )
            state, outcome = shop.step(state, action)
            visit = browser.step(action)


@pytest.mark.parametrize(
    "query", ["größe 🙂", "two\nlines", "\ud800 lone", "a/b [c] 'd' \"e\" %2f", "x" * 1500, "tab\tbed"]
)
def test_any_query_is_searched(browser: BrowserShop, odd: Catalogue, query: str) -> None:
    shop = Shop(odd, show_attributes=True)
    browser.start(0)
    assert same(browser.step(f"search[{query}]"), expected(shop, *shop.step(shop.start(0), f"search[{query}]")))


def test_of_equal_options_each_can_be_chosen_in_turn(browser: BrowserShop, odd: Catalogue) -> None:
    shop = Shop(odd, show_attributes=True)
    state = shop.start(0)
    browser.start(0)
    for action in ("search[same]", "click[odd0000002]", *["click[small]"] * 3, "click[velvet]", "click[buy now]"):
        state, outcome = shop.step(state, action)
        assert same(browser.step(action), expected(shop, state, outcome)), action
    assert "cover" in str(state.options) and "size" in str(state.options)


def test_an_action_that_does_nothing_goes_nowhere_and_says_why(browser: BrowserShop, odd: Catalogue) -> None:
    shop = Shop(odd, show_attributes=True)
    state = shop.start(0)
    before = browser.start(0)
    for action in ("", "click[nothing]", "click[search]", "search[]", "\ud800", "x" * 500):
        _, outcome = shop.step(state, action)
        visit = browser.step(action)
        assert same(visit, expected(shop, state, outcome))
        assert visit.url == before.url


def test_a_snapshot_is_restored_with_what_has_been_seen(server: Server, odd: Catalogue) -> None:
    browser = browser_at(server, mode="text_rich")
    browser.start(0)
    for action in ("search[shirt]", "click[b000000001]", "click[< prev]", "click[b000000002]", "click[small]"):
        there = browser.step(action)
    snapshot = browser.snapshot()
    back = browser.step("click[< prev]")
    browser.start(1)
    assert same(browser.restore(snapshot), there)
    assert same(browser.step("click[< prev]"), back)
    assert back.observation.count("[clicked button]") == 2
    browser.close()


def child_of(parent: int) -> int:
    """A process that another one has started."""
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            if f"\nPPid:\t{parent}\n" in status.read_text():
                return int(status.parent.name)
    raise AssertionError("it has started none")


@pytest.mark.parametrize("victim", ["chromedriver", "chromium"])
def test_a_browser_that_dies_is_replaced_and_the_session_goes_on(server: Server, odd: Catalogue, victim: str) -> None:
    shop = Shop(odd, show_attributes=True)
    state = shop.start(0)
    browser = browser_at(server)
    browser.start(0)
    first = browser._driver.capabilities["goog:processID"]
    for action in ("search[socks]", "click[next >]", "click[< prev]"):
        state, outcome = shop.step(state, action)
        if action == "click[next >]":
            driver = browser._driver.service.process.pid
            os.kill(driver if victim == "chromedriver" else child_of(driver), signal.SIGKILL)
        assert same(browser.step(action), expected(shop, state, outcome)), action
    browser.close()
    for _ in range(200):  # neither browser outlives the shop
        if not Path(f"/proc/{first}/cmdline").exists() or not Path(f"/proc/{first}/cmdline").read_bytes():
            break
        time.sleep(0.05)
    else:
        raise AssertionError("the browser still runs")


@pytest.mark.parametrize("quirks", [False, True], ids=["strict", "quirks"])
def test_a_step_that_arrived_before_the_browser_died_has_its_page(
    odd: Catalogue, monkeypatch: pytest.MonkeyPatch, quirks: bool
) -> None:
    """Whatever the step was; above all a purchase, which ends the session, so that there is no way back."""
    shop = Shop(odd, show_attributes=True, quirks=quirks)
    with serving(shop) as server:
        browser = browser_at(server, quirks=quirks)
        act = BrowserShop._act
        deaths = []

        def act_and_die(self: BrowserShop, *step: Any) -> None:
            act(self, *step)
            if not deaths:
                deaths.append(step)
                os.kill(self._driver.service.process.pid, signal.SIGKILL)

        monkeypatch.setattr(BrowserShop, "_act", act_and_die)
        state = shop.start(0)
        browser.start(0)
        for action in ("search[same]", "click[odd0000002]", "click[small]", "click[description]", "click[< prev]"):
            deaths.clear()
            state, outcome = shop.step(state, action)
            assert same(browser.step(action), expected(shop, state, outcome)), action
        deaths.clear()
        state, outcome = shop.step(state, "click[buy now]")
        assert same(browser.step("click[buy now]"), expected(shop, state, outcome))
        assert deaths
        browser.close()
        if not quirks:
            assert 'webshop_purchases_total{kind="site"} 1' in "\n".join(server._service.metric_lines())


def test_what_is_not_there_to_be_clicked_is_named(server: Server) -> None:
    browser = browser_at(server, retries=0)
    browser.start(0)
    browser._driver.execute_script("document.querySelector('.btn').remove()")
    with pytest.raises(ShopUnavailableError, match="has nothing named 'search' to click"):
        browser.step("search[shirt]")
    browser.close()


def test_a_server_that_goes_away_truncates_the_episode(odd: Catalogue) -> None:
    with serving(Shop(odd)) as server:
        env = gym.make("SCPO-WebShop-v0", shop=f"browser:http://127.0.0.1:{server.port}", split=None).unwrapped
        env._shop._retries = 1  # type: ignore[attr-defined]
        first, info = env.reset(options={"goal": 0})
        assert info["task_id"] == odd.goals[0].id
        assert env.step("search[shirt]")[4]["valid_action"]
        server._service.sessions.remove("site", env._shop._state.session)  # type: ignore[attr-defined]
        _, _, _, truncated, info = env.step("click[back to search]")  # opens the session anew
        assert not truncated
        assert env.step("search[shirt]")[4]["valid_action"]
        server._service.sessions.remove("site", env._shop._state.session)  # type: ignore[attr-defined]
        _, reward, terminated, truncated, info = env.step("click[b000000001]")
        assert (reward, terminated, truncated) == (0.0, False, True)
        assert "no such session" in info["shop_error"]
        assert env.reset(options={"goal": 0})[0] == first
    _, _, _, truncated, info = env.step("search[shirt]")
    assert truncated and "failed in the browser 2 times" in info["shop_error"]
    with pytest.raises(ShopUnavailableError):
        env.reset(options={"goal": 0})
    env.close()


def test_the_pages_fit_phones_and_desktops_and_need_nothing_from_outside(browser: BrowserShop) -> None:
    browser.start(0)
    driver = browser._driver
    driver.execute_cdp_cmd("Log.enable", {})
    try:
        for width in (360, 1280):
            metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            browser.start(0)
            actions = (
                "search[friends alert]",
                "click[odd0000001]",
                "click[it's]",
                "click[features]",
                "click[< prev]",
                "click[buy now]",
            )
            for action in actions:
                visit = browser.step(action)
                assert visit.invalid_reason is None
                assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth"), (
                    width,
                    action,
                )
                loaded = driver.execute_script("return performance.getEntries().map((e) => e.name)")
                assert not [url for url in loaded if url.startswith("http") and "//127.0.0.1:" not in url]
                assert driver.execute_script("return [...document.images].every((i) => i.naturalWidth > 0)")
        assert not driver.get_log("browser")
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_without_a_browser_it_is_said_what_to_install(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FileNotFoundError, match="apt-get install chromium chromium-driver"):
        browser_at(server)
