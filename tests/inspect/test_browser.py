"""The inspector in a real browser. Slow: needs Chromium, its driver and the extra `browser`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scpo_envs.credit import advantages, scpo, shape
from scpo_envs.rollouts import read_groups, write_groups
from tests.chromium import DESKTOP, NEEDS_CHROMIUM, PHONE, chromium, prefer, resize, visit
from tests.inspect.groups import hostile, many, shaped, worked, write
from tests.inspect.serving import Serving, serving

pytest.importorskip("selenium", reason="needs the extra `browser`")
pytestmark = NEEDS_CHROMIUM

NUMBERS = """
return [...document.querySelectorAll(".lane")].sort((a, b) => a.dataset.sibling - b.dataset.sibling).map(
  (lane) => [...lane.querySelectorAll(`tbody td.${arguments[0]}`)].map((cell) => Number(cell.dataset.value)));
"""
WHAT_IF = """
return [...document.querySelectorAll(`#what-if td[data-estimator=${arguments[0]}]`)].map(
  (cell) => Number(cell.dataset.value));
"""


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def driver(downloads: Path) -> Iterator[Any]:
    with chromium(downloads) as started:
        yield started


@pytest.fixture(autouse=True)
def as_at_first(driver: Any) -> None:
    resize(driver, DESKTOP)
    prefer(driver, "light")
    driver.get("about:blank")
    driver.get_log("browser")


@pytest.fixture
def run(run_folder: Path) -> Iterator[Serving]:
    write(run_folder / "rollouts" / "000020.jsonl", shaped(worked(task_type="heat")), *many(60))
    with serving(run_folder) as one:
        yield one


def group_url(one: Serving, line: int = 1, file: int = -1, run: int = 0) -> str:
    found = list(one.served.runs.values())[run]
    return f"{one.url}runs/{found.id}/groups/{list(found.files)[file]}/{line}"


def wait(condition: Callable[[], Any], seconds: float = 40) -> Any:
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return value


def arrived(driver: Any, condition: Callable[[], bool]) -> None:
    """Wait for another page, and for its scripts, which listen to keys."""
    wait(lambda: condition() and driver.execute_script("return document.readyState") == "complete")


def click(driver: Any, text: str) -> None:
    driver.find_element("link text", text).click()


def press(driver: Any, keys: str) -> None:
    driver.switch_to.active_element.send_keys(keys)


def set_slider(driver: Any, name: str, value: float) -> None:
    """Move a slider as a hand does: its value, and the event that tells of it."""
    script = """
    const slider = document.getElementById(arguments[0]);
    slider.value = arguments[1];
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    """
    driver.execute_script(script, name, str(value))


def choose(driver: Any, name: str, value: str) -> None:
    from selenium.webdriver.support.ui import Select

    for fold in driver.find_elements("css selector", "details.further:not([open]) > summary"):
        fold.click()
    Select(driver.find_element("css selector", f"#options [name={name}]")).select_by_value(value)


def shows(driver: Any, credit: Any, totals: Any) -> bool:
    """Whether the lanes hold exactly these numbers."""
    return bool(
        driver.execute_script(NUMBERS, "credit") == [values.tolist() for values in credit.step_credit]
        and driver.execute_script(NUMBERS, "advantage") == [values.tolist() for values in totals]
    )


def settled(driver: Any, **options: Any) -> None:
    """Wait until the lanes show what `scpo_envs.credit` says of the worked group."""
    alpha = options.pop("alpha", 0.5)
    omega = options.pop("omega", 0.5)  # the run's
    options = {"lam": 0.85, "order": "chronological"} | options
    credit = scpo(worked(), **options)
    totals = advantages([shape(worked(), credit, alpha=alpha)], "scpo", alpha=alpha, omega=omega).total[0]
    wait(lambda: shows(driver, credit, totals))


def no_complaints(driver: Any) -> None:
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_from_a_run_to_a_group_with_other_numbers_to_a_page_that_works_offline(
    driver: Any, run: Serving, downloads: Path
) -> None:
    visit(driver, run.url)
    assert driver.find_element("tag name", "h1").text == "mine"
    assert "success" in driver.find_element("css selector", "figure.curve figcaption").text
    click(driver, "iteration 20")
    driver.find_element("css selector", "[name=outcome] [value=mixed]").click()
    driver.find_element("css selector", "[data-search]").send_keys("SINKBASIN\n")
    arrived(driver, lambda: "text=SINKBASIN" in driver.current_url)
    tasks = [link.text for link in driver.find_elements("css selector", "[data-row]")]
    assert len(tasks) == 21 and tasks[:3] == ["heat some apple.", "heat apple number 0.", "heat apple number 3."]
    click(driver, "heat some apple.")

    settled(driver)
    for lam in (0.5, 0.7, 0.95):
        set_slider(driver, "lam", lam)
        settled(driver, lam=lam)
        assert driver.find_element("id", "lam-value").text == str(lam)
    set_slider(driver, "alpha", 1.25)
    settled(driver, lam=0.95, alpha=1.25)
    choose(driver, "rule", "none")
    choose(driver, "order", "reverse")
    set_slider(driver, "lam", 0.6)
    settled(driver, lam=0.6, alpha=1.25, rule="none", order="reverse")

    address = driver.current_url
    assert "lam=0.6" in address and "rule=none" in address and "outcome=mixed" in address
    visit(driver, address)  # a link to what is shown
    settled(driver, lam=0.6, alpha=1.25, rule="none", order="reverse")
    click(driver, "Save as HTML")
    click(driver, "JSON")
    page, line = (wait(lambda name=name: list(downloads.glob(name))) for name in ("group-1.html", "group-1.json"))
    [group] = read_groups(line[0])
    credit = scpo(worked(), lam=0.6, rule="none", order="reverse")
    assert [[step.credit for step in rollout.steps] for rollout in group.rollouts] == [
        values.tolist() for values in credit.step_credit
    ]
    no_complaints(driver)

    driver.execute_cdp_cmd("Network.enable", {})
    off = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", off)
    try:
        visit(driver, page[0].as_uri())
        settled(driver, lam=0.6, alpha=1.25, rule="none", order="reverse")
        set_slider(driver, "lam", 0.3)
        settled(driver, lam=0.3, alpha=1.25, rule="none", order="reverse")
        assert driver.find_elements("css selector", "#lines path.is-active")
        press(driver, "j")
        wait(lambda: driver.find_element("css selector", "#sibling-1 tr.is-now").get_attribute("data-step") == "1")
        press(driver, "?")
        assert driver.find_element("id", "help").is_displayed()
        assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0
        no_complaints(driver)
    finally:
        driver.execute_cdp_cmd("Network.emulateNetworkConditions", off | {"offline": False, "downloadThroughput": -1})


def test_what_if_shows_the_other_estimators(driver: Any, run: Serving) -> None:
    visit(driver, group_url(run))
    settled(driver)
    for level in ("total", "step", "episode"):
        driver.find_element("css selector", f"#level [value={level}]").click()
        for name in ("gigpo", "grpo"):
            expected = getattr(advantages([worked()], name, omega=0.5), level)[0][1]
            assert driver.execute_script(WHAT_IF, name) == expected.tolist()
    choose(driver, "norm", "std")
    expected = advantages([worked()], "gigpo", omega=0.5, norm="std").episode[0][1].tolist()
    wait(lambda: driver.execute_script(WHAT_IF, "gigpo") == expected)


def test_another_matcher_brings_its_own_threshold_and_those_without_a_model_cannot_be_chosen(
    driver: Any, run: Serving
) -> None:
    visit(driver, group_url(run))
    set_slider(driver, "lam", 0.3)
    settled(driver, lam=0.3)
    choose(driver, "matcher", "lexical-whole")
    wait(lambda: driver.find_element("id", "lam-value").text == "0.85")
    assert "lam=0.85" in driver.current_url
    option = driver.find_element("css selector", "[name=matcher] [value=cross-encoder]")
    assert not option.is_enabled() and "scpo" in option.text


def test_settings_between_a_sliders_stops_are_kept(driver: Any, run: Serving) -> None:
    visit(driver, group_url(run) + "?alpha=2.123&lam=0.6543")
    settled(driver, lam=0.6543, alpha=2.123)
    choose(driver, "rule", "set")
    settled(driver, lam=0.6543, alpha=2.123, rule="set")
    assert "alpha=2.123" in driver.current_url and driver.find_element("id", "lam-value").text == "0.6543"
    set_slider(driver, "lam", 0.5)
    settled(driver, lam=0.5, alpha=2.123, rule="set")


def test_what_the_server_refuses_is_said(driver: Any, run: Serving) -> None:
    visit(driver, group_url(run))
    driver.execute_script("document.getElementById('alpha').max = 99")
    set_slider(driver, "alpha", 99)
    status = driver.find_element("id", "status")
    wait(lambda: "alpha must be in [0, 10], not 99" in status.text)
    set_slider(driver, "alpha", 1)
    settled(driver, alpha=1.0)
    assert "credited" in status.text


def lines(driver: Any) -> dict[tuple[int, int], int]:
    """Reference positions by sibling and step, of the lines that are drawn."""
    drawn = driver.execute_script(
        "return [...document.querySelectorAll('#lines path')].map((line) => [line.dataset.from, line.dataset.to])"
    )
    return {tuple(map(int, start.split("."))): int(end) for start, end in drawn}  # type: ignore[misc]


ENDS = """
const frame = document.getElementById("lanes").getBoundingClientRect();
return [...document.querySelectorAll("#lines path")].map((line) => {
  const [sibling, step] = line.dataset.from.split(".");
  const rowOf = (id, at) => document.querySelectorAll(`#${id} tbody tr`)[at].getBoundingClientRect();
  const from = rowOf(`sibling-${sibling}`, step);
  const to = rowOf(document.querySelector(".is-reference").id, line.dataset.to);
  const [start, end] = [line.getPointAtLength(0), line.getPointAtLength(line.getTotalLength())];
  const inside = (y, row) => y + frame.top >= row.top && y + frame.top <= row.bottom;
  return inside(start.y, to) && inside(end.y, from) && Math.abs(end.x + frame.left - from.left) < 2;
});
"""


def test_lines_join_credited_steps_to_the_positions_they_claimed(driver: Any, run: Serving) -> None:
    visit(driver, group_url(run))
    settled(driver)
    for size in (DESKTOP, (900, 700), PHONE, DESKTOP):
        resize(driver, size)
        wait(lambda: (ends := driver.execute_script(ENDS)) and all(ends) and len(ends) == 3)
        assert lines(driver) == {(1, 0): 0, (1, 1): 1, (1, 2): 2}
    set_slider(driver, "lam", 0.7)
    settled(driver, lam=0.7)
    match = scpo(worked(), lam=0.7, order="chronological").matches
    claimed = {(one.rollout, int(i)): int(one.position[i]) for one in match for i in one.claimed.nonzero()[0]}
    wait(lambda: lines(driver) == claimed)
    driver.execute_script("document.querySelector('#sibling-1 details').open = true")
    wait(lambda: all(driver.execute_script(ENDS)))


def test_the_heat_map_tells_of_the_cell_under_the_pointer(driver: Any, run: Serving) -> None:
    from selenium.webdriver import ActionChains

    visit(driver, group_url(run))
    settled(driver)
    canvas = driver.find_element("id", "matrix")
    assert canvas.get_attribute("aria-label").endswith("3 claimed: 0 to 0, 1 to 1, 2 to 2")
    driver.execute_script("arguments[0].scrollIntoView()", canvas)
    script = "return [MARGIN.left + 3.5 * matrix.cell, MARGIN.top + 3.5 * matrix.cell]"
    x, y = driver.execute_script(script)
    box = canvas.rect
    move = ActionChains(driver).move_to_element_with_offset(
        canvas, int(x - box["width"] / 2), int(y - box["height"] / 2)
    )
    move.perform()
    readout = driver.find_element("id", "matrix-readout")
    wait(lambda: readout.text == "3 go to sinkbasin 1 / 3 go to microwave 1: 0.750, unlike")
    move.click().perform()
    wait(lambda: driver.current_url.endswith("#s1-3"))


def test_everything_is_reached_with_keys(driver: Any, run: Serving) -> None:
    from selenium.webdriver.common.keys import Keys

    run_id = next(iter(run.served.runs))
    visit(driver, f"{run.url}runs/{run_id}/groups?file={list(run.served.runs[run_id].files)[-1]}")
    for key in ("j", Keys.ARROW_DOWN, "j", "k"):
        press(driver, key)
    assert driver.switch_to.active_element.text == "heat apple number 0."
    press(driver, "n")
    arrived(driver, lambda: "page=2" in driver.current_url)
    press(driver, "p")
    arrived(driver, lambda: "page=1" in driver.current_url)
    press(driver, "/")
    press(driver, "number 3")
    press(driver, Keys.ENTER)
    arrived(driver, lambda: "text=number+3" in driver.current_url)
    press(driver, "j")
    press(driver, Keys.ENTER)
    arrived(driver, lambda: "heat apple number 3." in driver.title)
    assert driver.find_element("css selector", "tr.is-now").get_attribute("data-step") == "0"
    for key, place in (
        ("j", "#s1-1"),
        (Keys.ARROW_DOWN, "#s1-2"),
        ("k", "#s1-1"),
        ("l", "#s2-1"),
        (Keys.ARROW_LEFT, "#s1-1"),
    ):
        press(driver, key)
        assert driver.current_url.endswith(place), key
    press(driver, "c")
    assert driver.current_url.endswith("#s1-2")
    press(driver, Keys.ENTER)
    fold = driver.find_element("css selector", "tr.is-now details")
    assert fold.get_attribute("open") and "In it, you see a apple 1." in fold.text
    press(driver, "?")
    dialog = driver.find_element("id", "help")
    assert dialog.is_displayed() and "next sibling" in dialog.text
    press(driver, Keys.ESCAPE)
    assert not dialog.is_displayed()
    press(driver, "/")
    assert driver.switch_to.active_element.get_attribute("id") == "lam"
    press(driver, Keys.ARROW_LEFT)
    wait(lambda: driver.find_element("id", "lam-value").text == "0.845")
    press(driver, Keys.ESCAPE)
    press(driver, "n")
    arrived(driver, lambda: "heat apple number 30." in driver.title)
    press(driver, "u")
    arrived(driver, lambda: "/groups?" in driver.current_url)
    assert "text=number+3" in driver.current_url


def test_a_deep_link_opens_at_its_step(driver: Any, run: Serving) -> None:
    visit(driver, group_url(run) + "#s2-3")
    row = driver.find_element("css selector", "#sibling-2 tr.is-now")
    assert row.get_attribute("data-step") == "3" and row.is_displayed()


def test_lists_follow_what_is_written(driver: Any, run: Serving, run_folder: Path) -> None:
    run_id = next(iter(run.served.runs))
    visit(driver, f"{run.url}runs/{run_id}/groups?sort=won")
    press(driver, "j")
    cursor = driver.switch_to.active_element.get_attribute("href")
    count = driver.find_element("id", "count")
    assert "66 groups" in count.text
    late = worked()
    late.instruction = "written while you looked"
    line = late.to_json() + "\n"
    with open(run_folder / "rollouts" / "000020.jsonl", "a") as file:
        file.write(line[:300])
    with open(run_folder / "metrics.jsonl", "a") as file:
        file.write(json.dumps({"iteration": 21, "success": 1.0}) + "\n")
    with open(run_folder / "rollouts" / "000020.jsonl", "a") as file:
        file.write(line[300:])
    wait(lambda: "67 groups" in count.text)
    assert driver.switch_to.active_element.get_attribute("href") == cursor
    write_groups(run_folder / "rollouts" / "000030.jsonl", [late])
    visit(driver, f"{run.url}runs/{run_id}")
    wait(lambda: driver.find_elements("link text", "iteration 30"))
    wait(lambda: driver.find_elements("css selector", "svg[aria-label^='success: 21 values, from 0.025 to 1;']"))
    no_complaints(driver)


def test_hostile_texts_do_nothing(driver: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "hostile.jsonl", hostile(), hostile())
    with serving(path) as one:
        visit(driver, one.url)
        driver.find_element("css selector", "[data-row]").click()
        wait(lambda: driver.find_elements("css selector", "#lines path"))
        for fold in driver.find_elements("css selector", ".lane summary")[:40]:
            driver.execute_script("arguments[0].click()", fold)
        driver.execute_script("document.querySelector('.whole').click()")
        wait(lambda: not driver.find_elements("css selector", "#sibling-1 tr:first-child .whole"))
        size = driver.execute_script(
            "return Math.max(...[...document.querySelectorAll('.observation')].map((e) => e.textContent.length))"
        )
        assert size > 1 << 20
        driver.execute_script("document.querySelector('#matrix').scrollIntoView()")
        saved = tmp_path / "saved.html"
        saved.write_bytes(one.client.get(group_url(one)[len(one.url) - 1 :] + "/export.html").data)
        for page in (None, saved.as_uri()):
            if page:
                visit(driver, page)
                wait(lambda: driver.find_elements("css selector", "#lines path"))
            assert driver.execute_script("return window.pwned === undefined && document.images.length === 0")
            no_complaints(driver)


def test_a_group_that_cannot_be_compared_says_why_and_shows_the_rest(driver: Any, tmp_path: Path) -> None:
    large, empty = worked(), worked()
    for rollout in large.rollouts:
        rollout.steps *= 150
    empty.rollouts = []
    with serving(write(tmp_path / "large.jsonl", large, empty)) as one:
        visit(driver, group_url(one))
        assert "too large to be compared on the spot" in driver.find_element("id", "status").text
        assert len(driver.find_elements("css selector", ".lane tbody tr")) == 2250
        press(driver, "j")
        assert driver.current_url.endswith("#s0-1")
        visit(driver, group_url(one, 2))
        assert "This group has no rollouts." in driver.find_element("id", "lanes").text
        no_complaints(driver)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_pages_fit_their_window_and_need_nothing_from_outside(
    driver: Any, run: Serving, size: tuple[int, int], scheme: str
) -> None:
    resize(driver, size)
    prefer(driver, scheme)
    run_id = next(iter(run.served.runs))
    for url in (f"{run.url}runs/{run_id}", f"{run.url}runs/{run_id}/groups", group_url(run), f"{run.url}nothing"):
        visit(driver, url)
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth"), url
        loaded = driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        assert loaded and all(name.startswith(run.url) for name in loaded)
