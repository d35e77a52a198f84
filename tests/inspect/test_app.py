from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from scpo_envs.credit import LexicalMatcher, scpo
from scpo_envs.rollouts import read_groups, write_groups
from tests.inspect.conftest import Inspected
from tests.inspect.groups import HOSTILE, many, shaped, worked, write


def rows(page: Any) -> list[str]:
    """The tasks that a list shows."""
    return [unescape(text) for text in re.findall(r"data-row>([^<]*)<", page.text)]


def data(page: Any) -> Any:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.text, re.S)[1])


# From runs to one group


def test_from_runs_to_a_group(run_folder: Path) -> None:
    write(run_folder.parent / "loose.jsonl", worked())
    one = Inspected(run_folder.parent)
    page = one.client.get("/")
    assert rows(page) == ["runs", "mine"]
    assert '<td class="n">20</td>\n<td class="n">50 %</td>' in page.text
    page = one.client.get(re.search(r'href="([^"]+)" data-row>mine', page.text)[1])
    assert rows(page) == ["iteration 20", "iteration 10"]
    assert "success</span> <b>0.5</b>" in page.text and 'aria-label="success: 20 values, from 0.025 to 0.5' in page.text
    page = one.client.get(unescape(re.search(r'href="([^"]+)" data-row>iteration 20', page.text)[1]))
    assert rows(page) == [f"heat apple number {index}." for index in range(5)]
    page = one.client.get(unescape(re.search(r'href="([^"]+)" data-row>heat apple number 0', page.text)[1]))
    assert page.status_code == 200 and "<h1>heat apple number 0.</h1>" in page.text


def test_where_there_is_one_run_or_one_file_the_way_is_shorter(worked_file: Inspected, run_folder: Path) -> None:
    assert worked_file.client.get("/").location == f"/runs/{worked_file.run.id}"
    assert worked_file.client.get("/", follow_redirects=True).request.path.endswith("/groups")
    one = Inspected(run_folder)
    assert one.client.get("/", follow_redirects=True).request.path == f"/runs/{one.run.id}"


def test_a_run_that_keeps_no_groups_says_how_to_keep_them(run_folder: Path) -> None:
    for path in (run_folder / "rollouts").iterdir():
        path.unlink()
    one = Inspected(run_folder)
    assert "rollouts=10" in one.client.get(f"/runs/{one.run.id}").text
    assert "No group has been written yet" in one.groups().text


# Lists


def test_lists_are_filtered_sorted_and_paged(many_groups: Inspected) -> None:
    page = many_groups.groups()
    assert len(rows(page)) == 50 and "120 groups" in page.text and 'rel="next"' in page.text
    assert rows(many_groups.groups(page=3)) == [f"heat apple number {index}." for index in range(100, 120)]
    page = many_groups.groups(kind="kind_1", outcome="won", text="NUMBER 1")
    assert rows(page) == [f"heat apple number {index}." for index in (1, 13, 19, 103, 109, 115)]
    assert rows(many_groups.groups(sort="credit", share="25"))[0] == "heat apple number 0."
    assert "No group passes this filter" in many_groups.groups(text="zebra").text


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"page": "0"}, 400),
        ({"page": "-1"}, 400),
        ({"page": "²"}, 400),
        ({"page": "9" * 400}, 400),
        ({"page": "4"}, 404),
        ({"outcome": "maybe"}, 400),
        ({"file": "../many.jsonl"}, 404),
        ({"text": "x" * 500}, 400),
    ],
)
def test_a_wrong_list_is_refused_with_the_reason(
    many_groups: Inspected, arguments: dict[str, str], status: int
) -> None:
    page = many_groups.groups(**arguments)
    assert page.status_code == status and "Traceback" not in page.text
    assert re.search(r"<p>[A-Z][^<]{10,}</p>", page.text)


def test_a_group_knows_its_neighbours_in_the_list_it_was_opened_from(many_groups: Inspected) -> None:
    page = many_groups.client.get(many_groups.place(4), query_string={"outcome": "mixed"})
    before, after = (re.search(rf'rel="{rel}" href="([^"]+)"', page.text)[1] for rel in ("prev", "next"))
    assert before.endswith("/1?outcome=mixed") and after.endswith("/7?outcome=mixed")
    assert 'rel="prev"' not in many_groups.client.get(many_groups.place(1)).text
    found = many_groups.client.get(many_groups.place(12), query_string={"text": "number 11"}).text
    assert 'rel="prev"' not in found and "/111?text=number+11" in found


def test_damaged_lines_are_listed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", worked())
    with open(path, "a") as file:
        file.write('{"schema": "<b>"}\n')
    write_groups(path, [worked()], append=True)
    page = Inspected(path).groups()
    assert "1 damaged line is left out" in page.text and "a.jsonl, line 2: " in page.text
    assert "<b>" not in page.text
    assert len(rows(page)) == 2


# Live


def test_what_is_written_meanwhile_is_shown(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", worked())
    one = Inspected(path)
    before = one.client.get("/state").json
    assert before["progress"] == 1
    line = worked().to_json() + "\n"
    with open(path, "a") as file:
        file.write(line[:200])
    one.served.refresh()
    assert len(rows(one.groups())) == 1 and one.client.get("/state").json["revision"] == before["revision"]
    with open(path, "a") as file:
        file.write(line[200:])
    one.served.refresh()
    assert len(rows(one.groups())) == 2 and one.client.get("/state").json["revision"] > before["revision"]


def test_a_group_that_was_replaced_is_not_shown_as_another(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *many(3))
    one = Inspected(path)
    path.write_text("x" * 10)
    assert one.client.get(one.place(2)).status_code == 404
    one.served.refresh()
    page = one.client.get(one.place(2))
    assert page.status_code == 404 and "may have been replaced" in page.text
    path.unlink()
    one.served.refresh()
    assert one.client.get("/").status_code == 200


# One group


def test_a_group_shows_its_siblings_and_numbers(worked_file: Inspected) -> None:
    page = worked_file.client.get(worked_file.place())
    for text in (
        "Sibling 0",
        "✓ won",
        "✗ failed at the step limit",
        "take apple 1 from fridge 1",
        "You open the fridge 1.",
    ):
        assert text in page.text
    credit = scpo(worked())
    assert data(page)["result"]["credit"] == [values.tolist() for values in credit.step_credit]
    assert page.text.count("<table") == 4 and page.text.count("<caption") == 4


def test_other_settings_are_computed_on_the_spot(worked_file: Inspected) -> None:
    asked = {"lam": "0.5", "order": "chronological", "rule": "set", "alpha": "1", "scores": "0"}
    result = worked_file.client.get(worked_file.place() + "/credit", query_string=asked).json
    credit = scpo(worked(), lam=0.5, order="chronological", rule="set")
    assert result["credit"] == [values.tolist() for values in credit.step_credit]
    assert "scores" not in result["matches"][0]
    page = worked_file.client.get(worked_file.place(), query_string=asked)  # a deep link
    assert data(page)["result"]["credit"] == result["credit"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"lam": "2"}, "lam must be in [0, 1)"),
        ({"lam": "<script>"}, "lam must be a number"),
        ({"rule": "any"}, "rule='any' is unknown"),
        ({"matcher": "cross-encoder"}, "'cross-encoder' is not available"),
        ({"matcher": "os.system"}, "matcher='os.system' is unknown"),
    ],
)
def test_wrong_settings_are_refused_with_the_reason(
    worked_file: Inspected, arguments: dict[str, str], reason: str
) -> None:
    answer = worked_file.client.get(worked_file.place() + "/credit", query_string=arguments)
    assert answer.status_code == 400 and reason in answer.json["error"]
    for path in ("/export.html", "/export.json"):
        assert worked_file.client.get(worked_file.place() + path, query_string=arguments).status_code == 400


def test_settings_begin_with_those_of_the_run_and_of_the_group(run_folder: Path) -> None:
    one = Inspected(run_folder)
    options = one.client.get(one.place(5) + "/credit").json["options"]  # no credit is stored in its file
    assert (options["alpha"], options["omega"], options["lam"], options["order"]) == (0.25, 0.5, 0.7, "chronological")
    judged = {"estimator": "grpo", "reward": "success", "invalid_penalty": 0.01}
    (run_folder / "last" / "config.json").write_text(json.dumps({"advantage": judged}))
    options = one.client.get(one.place(5) + "/credit").json["options"]
    assert (options["reward"], options["invalid_penalty"]) == ("success", 0.01)
    for advantage in ({"estimator": "gigpo", "omega": 0.5, "alpha": 3}, {"estimator": ["scpo"], "matcher": [1]}, "x"):
        (run_folder / "last" / "config.json").write_text(json.dumps({"advantage": advantage}))
        options = one.client.get(one.place(5) + "/credit").json["options"]
        assert (options["alpha"], options["lam"]) == (0.5, 0.85)
        assert options["omega"] == (0.5 if "omega" in advantage else 1.0)
    (run_folder / "last" / "config.json").write_text(
        '{"advantage": {"estimator": "scpo", "omega": 0.5, "alpha": 0.25}}'
    )
    write(run_folder / "rollouts" / "000010.jsonl", shaped(worked()))
    one.served.refresh()
    options = one.client.get(one.place(1) + "/credit").json["options"]
    assert (options["alpha"], options["omega"], options["lam"]) == (0.5, 0.5, 0.85)


def test_a_group_without_rollouts_or_with_one_is_shown(tmp_path: Path) -> None:
    empty, single = worked(), worked()
    empty.rollouts = []
    single.rollouts = [single.rollouts[0]]
    single.rollouts[0].steps = []
    one = Inspected(write(tmp_path / "a.jsonl", empty, single))
    for line in (1, 2):
        assert one.client.get(one.place(line)).status_code == 200
        assert one.client.get(one.place(line) + "/export.html").status_code == 200


def test_a_group_too_large_to_be_compared_is_shown_and_one_too_large_for_a_page_is_named(tmp_path: Path) -> None:
    large, huge = worked(), worked()
    for rollout in large.rollouts:
        rollout.steps *= 150
    for rollout in huge.rollouts:
        rollout.steps *= 1500
    one = Inspected(write(tmp_path / "a.jsonl", large, huge))
    page = one.client.get(one.place(1))
    assert page.status_code == 200
    assert data(page)["result"] is None and "too large to be compared" in data(page)["problem"]
    page = one.client.get(one.place(2))
    assert page.status_code == 422 and "Line 2 of a.jsonl holds it" in page.text


def test_advantages_that_training_gave_are_shown(tmp_path: Path) -> None:
    group = worked()
    group.rollouts[1].steps[2].info["advantage"] = -0.125
    one = Inspected(write(tmp_path / "a.jsonl", group))
    page = one.client.get(one.place()).text
    assert 'data-trained="-0.125"' in page and "as trained" in page


def test_a_group_is_saved_as_a_rollout_file(worked_file: Inspected, tmp_path: Path) -> None:
    chosen = {"lam": "0.5", "matcher": "lexical-whole"}
    answer = worked_file.client.get(worked_file.place() + "/export.json", query_string=chosen)
    assert answer.headers["Content-Disposition"] == 'attachment; filename="group-1.json"'
    (tmp_path / "saved.json").write_bytes(answer.data)
    [group] = read_groups(tmp_path / "saved.json")
    credit = scpo(worked(), LexicalMatcher(apart=False), lam=0.5)
    assert [step.credit for step in group.rollouts[1].steps] == credit.step_credit[1].tolist()
    again = Inspected(tmp_path / "saved.json")
    options = again.client.get(again.place() + "/credit").json["options"]
    assert (options["lam"], options["matcher"]) == (0.5, "lexical-whole")


# Hostile texts


def test_hostile_texts_are_texts(hostile_file: Inspected) -> None:
    pages = [hostile_file.groups(), hostile_file.client.get(hostile_file.place())]
    pages.append(hostile_file.client.get(hostile_file.place() + "/export.html"))
    for page in pages:
        assert page.status_code == 200
        body = page.text.split("<script>")[0]  # the page to keep holds our own script
        assert "<img" not in body and "window.pwned = 1</script" not in body
        assert "49" not in re.findall(r"&#39;&amp;(.{12})", body)
        assert "{{ 7 * 7 }}" in unescape(body)
    answer = hostile_file.client.get(hostile_file.place() + "/text", query_string={"rollout": 1, "step": 0})
    assert answer.mimetype == "application/json" and answer.json["observation"] == HOSTILE + "x" * (1 << 20)


def test_a_megabyte_is_cut_in_pages_and_whole_on_request(hostile_file: Inspected) -> None:
    page = hostile_file.client.get(hostile_file.place())
    assert len(page.data) < 200_000 and "Show all 1,048," in page.text
    assert len(hostile_file.client.get(hostile_file.place() + "/export.html").data) < 400_000


@pytest.mark.parametrize(
    "arguments", [{}, {"rollout": "9", "step": "0"}, {"rollout": "x", "step": "0"}, {"rollout": "0"}]
)
def test_a_text_that_is_not_there_is_refused(worked_file: Inspected, arguments: dict[str, str]) -> None:
    assert worked_file.client.get(worked_file.place() + "/text", query_string=arguments).status_code == 404


# Nobody else's


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "localhost.:80", "[::2]"]
)
def test_other_names_for_this_machine_are_refused(worked_file: Inspected, host: str) -> None:
    for path in ("/", "/state", worked_file.place(), "/static/group.js"):
        assert worked_file.client.get(path, headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:1", "LOCALHOST", "[::1]:80", "[::1]"])
def test_names_of_this_machine_are_answered(worked_file: Inspected, host: str) -> None:
    assert worked_file.client.get("/state", headers={"Host": host}).status_code == 200


def test_pages_trust_nothing_but_their_own_files(worked_file: Inspected) -> None:
    for path in ("/", "/state", worked_file.place(), "/static/inspector.css", "/no/such/page", "/favicon.ico"):
        headers = worked_file.client.get(path, buffered=True).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_pages_hold_no_style_or_script_of_their_own_and_no_foreign_address(many_groups: Inspected) -> None:
    for page in (many_groups.groups(), many_groups.client.get(many_groups.place())):
        assert not re.search(r"<script(?! src=\"/static/| type=\"application/json\")|<style| style=| on\w+=", page.text)
        assert not re.search(r"(src|href|action)=\"(?!/|\?)", re.sub(r'href="#main"', "", page.text))


@pytest.mark.parametrize(
    "path",
    [
        "/runs/../../etc/passwd",
        "/runs/%2e%2e%2f",
        "/runs/{run}/groups/..%2fmany.jsonl/1",
        "/runs/{run}/groups/many.jsonl/1",
        "/runs/{run}/groups/{file}/0",
        "/runs/{run}/groups/{file}/121",
        "/runs/{run}/groups/{file}/-1",
        "/runs/{run}/groups/{file}/99999999999999999999999",
        "/runs/x/groups/{file}/1",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
    ],
)
def test_only_what_the_index_names_is_read(many_groups: Inspected, path: str) -> None:
    page = many_groups.client.get(path.format(run=many_groups.run.id, file=next(iter(many_groups.run.files))))
    assert page.status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_it_only_reads(worked_file: Inspected, method: str) -> None:
    for path in ("/", "/state", worked_file.place(), worked_file.place() + "/credit"):
        assert worked_file.client.open(path, method=method).status_code == 405


def test_the_files_are_left_as_they_were(run_folder: Path) -> None:
    before = {path: path.read_bytes() for path in run_folder.rglob("*") if path.is_file()}
    one = Inspected(run_folder)
    for path in ("", "/credit", "/export.html", "/export.json"):
        one.client.get(one.place() + path)
    assert {path: path.read_bytes() for path in run_folder.rglob("*") if path.is_file()} == before
