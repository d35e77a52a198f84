from __future__ import annotations

from pathlib import Path

import pytest

from scpo_envs.inspect.filters import Filter, Found, TextSearch, holds_text
from scpo_envs.inspect.index import GroupFile
from scpo_envs.inspect.runs import Run
from tests.inspect.groups import HOSTILE, hostile, many, worked, write


@pytest.fixture
def run(tmp_path: Path) -> Run:
    file = GroupFile(write(tmp_path / "a.jsonl", *many(30)))
    file.refresh()
    return Run("r", "r", tmp_path, {"f": file})


def lines(found: list[Found]) -> list[int]:
    return [item.entry.line for item in found]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({}, range(1, 31)),
        ({"kind": "kind_1"}, range(2, 31, 2)),
        ({"outcome": "mixed"}, range(1, 31, 3)),
        ({"outcome": "won"}, range(2, 31, 3)),
        ({"outcome": "failed", "kind": "kind_0"}, range(3, 31, 6)),
        ({"share": "0"}, [line for line in range(1, 31, 3) if line % 5]),
        ({"share": "25"}, [line for line in range(1, 31, 3) if line % 5]),
        ({"share": "50"}, []),
        ({"file": "f"}, range(1, 31)),
        ({"kind": "no such"}, []),
    ],
)
def test_groups_are_chosen_by_what_is_known_of_them(run: Run, arguments: dict[str, str], wanted: range) -> None:
    assert lines(Filter.read(arguments).select(run)) == list(wanted)


def test_lists_are_sorted(run: Run) -> None:
    assert Filter.read({"sort": "credit"}).select(run)[0].entry.credit == pytest.approx(3.0)
    won = [item.entry.won for item in Filter.read({"sort": "won"}).select(run)]
    assert won == sorted(won, reverse=True)


@pytest.mark.parametrize(
    "arguments", [{"outcome": "maybe"}, {"share": "1e9"}, {"sort": "__class__"}, {"text": "x" * 201}]
)
def test_an_unknown_choice_is_refused(arguments: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"unknown|at most"):
        Filter.read(arguments)


def test_an_unknown_file_is_refused(run: Run) -> None:
    with pytest.raises(LookupError):
        Filter.read({"file": "../a.jsonl"}).select(run)


def test_text_is_found_in_tasks_observations_and_actions_alone(tmp_path: Path) -> None:
    group = worked(secret="in an info")
    group.rollouts[0].steps[0].observation = 'Ein "Kühlschrank"\nund mehr'
    file = GroupFile(write(tmp_path / "a.jsonl", group, hostile()))
    file.refresh()
    one, other = file.entries
    for text in (
        "HEAT SOME",
        "heat the apple",
        "arrive at sinkbasin",
        "go to microwave",
        "kühlSCHRANK",
        '"k',
        'kühlschrank"\nund',
    ):
        assert holds_text(file, one, text), text
    for text in ("in an info", "rollouts", "reward", "schema", "no such"):
        assert not holds_text(file, one, text)
    assert holds_text(file, other, "<IMG SRC=X") and holds_text(file, other, HOSTILE[:40])


def test_a_search_goes_on_where_its_time_ran_out(run: Run) -> None:
    found, search = Filter().select(run), TextSearch()
    first = search.page(found, "number 2", 1, seconds=-1)
    assert (first.searched, first.of, first.complete) == (0, 30, False)
    seen = 0
    for _ in range(100):
        page = search.page(found, "number 2", 1, seconds=0.0005)
        assert page.searched >= seen
        seen = page.searched
        if page.complete:
            break
    page = search.page(found, "number 2", 1)
    assert page.complete and lines(page.groups) == [3, *range(21, 31)]  # 2, 20, 21, ...
    assert search.page(found, "number 2", 1, seconds=-1) == page  # known by now


def test_pages_are_of_fifty(tmp_path: Path) -> None:
    file = GroupFile(write(tmp_path / "a.jsonl", *many(120)))
    file.refresh()
    found = Filter().select(Run("r", "r", tmp_path, {"f": file}))
    for text in ("", "apple"):
        pages = [TextSearch().page(found, text, number) for number in (1, 2, 3, 4)]
        assert [(len(page.groups), page.more) for page in pages] == [(50, True), (50, True), (20, False), (0, False)]
        assert pages[2].complete and pages[2].total == 120


def test_a_full_page_does_not_wait_for_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scpo_envs.inspect.filters.COUNT_SECONDS", 0)
    file = GroupFile(write(tmp_path / "a.jsonl", *many(120)))
    file.refresh()
    found = Filter().select(Run("r", "r", tmp_path, {"f": file}))
    page = TextSearch().page(found, "apple", 1)
    assert (len(page.groups), page.more, page.complete, page.searched) == (50, True, False, 51)
