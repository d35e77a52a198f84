"""Rollouts as data, and their files: what is written is read, and what is damaged is named."""

from __future__ import annotations

import json
import math
import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scpo_envs.errors import RolloutFormatError
from scpo_envs.rollouts import SCHEMA, Rollout, RolloutGroup, Step, read_groups, write_groups

any_text = st.text(st.characters(exclude_categories=()), max_size=20)
numbers = st.floats(allow_nan=False, allow_infinity=False)
infos = st.dictionaries(
    any_text, st.none() | st.booleans() | st.integers() | numbers | any_text | st.lists(any_text), max_size=3
)
steps = st.builds(Step, any_text, any_text, numbers, infos, st.none() | numbers, st.none() | numbers)
rollouts = st.builds(Rollout, st.lists(steps, max_size=4), st.booleans(), st.booleans(), st.none() | any_text, infos)
groups = st.builds(RolloutGroup, any_text, st.lists(rollouts, max_size=4), numbers, st.none() | any_text, infos)


def group(task: str = "train/a", **changes: Any) -> RolloutGroup:
    won = Rollout([Step("a room", "look", 0.0), Step("a desk", "go to desk 1", 1.0, {"valid_action": True})], won=True)
    lost = Rollout([Step("a room", "inventory", 0.0)], won=False, truncated=True, final_observation="nothing")
    return RolloutGroup(task, [won, lost], instruction="find it", **changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder" / "rollouts.jsonl"


# The data


def test_a_group_knows_its_successes_and_failures() -> None:
    some = group()
    assert (len(some), some.successes, some.failures) == (2, [0], [1])
    assert [len(rollout) for rollout in some.rollouts] == [2, 1]


def test_rewards_are_summed_without_rounding() -> None:
    rollout = Rollout([Step("", "", reward) for reward in (1e16, 1.0, -1e16)], won=False)
    assert rollout.total_reward == 1.0
    assert rollout.rewards.dtype == np.float64
    assert rollout.rewards.tolist() == [1e16, 1.0, -1e16]
    assert Rollout([], won=False).rewards.shape == (0,)


def test_infos_are_not_shared_between_steps() -> None:
    first, second = Step("", "", 0.0), Step("", "", 0.0)
    first.info["a"] = 1
    assert second.info == {}


# One line


@given(groups)
def test_what_is_written_is_read(some: RolloutGroup) -> None:
    """Any text, lone surrogates included, on one line that any UTF-8 reader can take."""
    line = some.to_json()
    assert "\n" not in line
    line.encode()
    assert RolloutGroup.from_json(line) == some


def test_the_form_of_a_line() -> None:
    record = json.loads(group().to_json())
    assert record["schema"] == SCHEMA == "scpo-rollouts/1"
    assert list(record) == ["schema", "task", "instruction", "success_reward", "info", "rollouts"]
    assert record["rollouts"][1] == {
        "won": False,
        "truncated": True,
        "final_observation": "nothing",
        "info": {},
        "steps": [{"observation": "a room", "action": "inventory", "reward": 0.0, "info": {}}],
    }


def test_shaping_is_kept_only_where_there_is_some() -> None:
    some = group()
    some.rollouts[0].steps[0].credit, some.rollouts[0].steps[0].shaped_reward = 0.25, 0.0
    first, second = json.loads(some.to_json())["rollouts"][0]["steps"]
    assert (first["credit"], first["shaped_reward"]) == (0.25, 0.0)
    assert "credit" not in second
    assert RolloutGroup.from_json(some.to_json()) == some


def test_text_of_any_alphabet_stays_readable() -> None:
    assert "取る 🍎" in RolloutGroup("取る 🍎", []).to_json()
    assert "\\ud800" in RolloutGroup("\ud800", []).to_json()


def test_numpy_values_become_plain_ones() -> None:
    some = group(info={"score": np.float32(0.5), "flags": np.array([True, False]), "n": np.int64(3), "t": (1, 2)})
    some.rollouts[0].steps[0].reward = np.float64(0.1)
    read = RolloutGroup.from_json(some.to_json())
    assert read.info == {"score": 0.5, "flags": [True, False], "n": 3, "t": [1, 2]}
    assert read.rollouts[0].steps[0].reward == 0.1


def test_what_json_has_no_form_for_is_refused() -> None:
    with pytest.raises(TypeError, match=r"info holds .* of type set, which a JSON file cannot keep"):
        group(info={"a": {1}}).to_json()
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            group(success_reward=bad).to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "scpo-rollouts/2"}, "field 'schema' is 'scpo-rollouts/2'; this release reads 'scpo-rollouts/1'"),
        ({"schema": None}, "field 'schema' is missing"),
        ({"task": 3}, "field 'task' must be str, not 3"),
        ({"success_reward": "1"}, "field 'success_reward' must be float, not '1'"),
        ({"success_reward": True}, "field 'success_reward' must be float, not True"),
        ({"success_reward": 10**400}, f"field 'success_reward' is too large a number: 1{'0' * 19}..."),
        ({"rollouts": {}}, "field 'rollouts' must be list, not {}"),
        ({"rollouts": [3]}, r"rollouts[0] must be an object, not 3"),
        ({"rollouts": [{"won": 1, "steps": []}]}, "field 'rollouts[0].won' must be bool, not 1"),
        ({"rollouts": [{"won": True}]}, "field 'rollouts[0].steps' is missing"),
        ({"rollouts": [{"won": True, "steps": [None]}]}, "rollouts[0].steps[0] must be an object, not None"),
        (
            {"rollouts": [{"won": True, "steps": [{"observation": "", "action": "", "reward": None}]}]},
            "field 'rollouts[0].steps[0].reward' is missing",
        ),
        ({"info": []}, "field 'info' must be dict, not []"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], message: str) -> None:
    record = {"schema": SCHEMA, "task": "t", "success_reward": 1, "rollouts": []}
    assert RolloutGroup.from_json(json.dumps(record)) == RolloutGroup("t", [])
    with pytest.raises(RolloutFormatError) as caught:
        RolloutGroup.from_json(json.dumps(record | change))
    assert str(caught.value) == message


@pytest.mark.parametrize("line", ["", "{", "[1]", "nonsense", '{"schema": NaN}', "[" * 100_000, '{"a": 1} x'])
def test_what_is_no_object_is_refused(line: str) -> None:
    with pytest.raises(RolloutFormatError):
        RolloutGroup.from_json(line)


def test_a_number_beyond_floats_is_refused() -> None:
    line = json.dumps({"schema": SCHEMA, "task": "t", "success_reward": 5, "rollouts": []})
    with pytest.raises(RolloutFormatError, match="'success_reward' is too large a number"):
        RolloutGroup.from_json(line.replace("5", "1e999"))


@given(groups, st.data())
def test_a_line_cut_anywhere_is_refused(some: RolloutGroup, data: st.DataObject) -> None:
    line = some.to_json()
    with pytest.raises(RolloutFormatError):
        RolloutGroup.from_json(line[: data.draw(st.integers(0, len(line) - 1))])


# Files


def test_a_file_is_written_and_read_in_order(path: Path) -> None:
    assert write_groups(path, [group("a"), group("b")]) == 2
    assert write_groups(path, [group("c")], append=True) == 1
    assert [some.task for some in read_groups(path)] == ["a", "b", "c"]
    assert write_groups(path, []) == 0
    assert list(read_groups(path)) == []


def test_groups_are_consumed_lazily_and_flushed_one_by_one(path: Path) -> None:
    def source() -> Iterator[RolloutGroup]:
        yield group("a")
        assert [some.task for some in read_groups(path)] == ["a"], "a reader may follow"
        yield group("b")

    assert write_groups(path, source()) == 2
    reader = read_groups(path)
    assert next(reader).task == "a"
    reader.close()  # type: ignore[attr-defined]


def test_an_error_in_the_middle_leaves_whole_groups(path: Path) -> None:
    with pytest.raises(TypeError):
        write_groups(path, [group("a"), group("b", info={"x": object()}), group("c")])
    assert [some.task for some in read_groups(path)] == ["a"]


def test_a_line_that_cannot_be_finished_is_taken_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up while a line is written."""
    write_groups(path, [group("a")])
    before = path.read_bytes()

    def half(file: Any, data: bytes) -> None:
        file.write(data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("scpo_envs.rollouts._write_all", half)
    with pytest.raises(OSError, match="No space left"):
        write_groups(path, [group("b")], append=True)
    assert path.read_bytes() == before


def test_a_damaged_line_is_raised_or_skipped_by_name(path: Path) -> None:
    write_groups(path, [group("a"), group("b"), group("c")])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"\xff\xfe\n" + lines[1][:50] + b"\n\n  \n" + lines[2])
    with pytest.raises(RolloutFormatError, match=r"rollouts\.jsonl, line 2: not UTF-8"):
        list(read_groups(path))
    skipped: list[str] = []
    assert [some.task for some in read_groups(path, on_error="skip", skipped=skipped)] == ["a", "c"]
    assert [message.split(": ")[0] for message in skipped] == [f"{path}, line 2", f"{path}, line 3"]
    assert len(list(read_groups(path, on_error="skip"))) == 2


def test_an_unknown_way_to_deal_with_errors_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="must be 'raise' or 'skip', not 'ignore'"):
        list(read_groups(path, on_error="ignore"))  # type: ignore[arg-type]


def test_a_missing_file_is_an_error_of_the_system(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_groups(path))


def _write_for_ever(path: Path) -> None:
    def source() -> Iterator[RolloutGroup]:
        number = 0
        while True:
            yield group(f"task {number}", info={"padding": "x" * 5_000})
            number += 1

    write_groups(path, source())


def test_a_writer_killed_at_any_moment_leaves_a_readable_file(path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_write_for_ever, args=(path,))
    process.start()
    try:
        while not path.exists() or path.stat().st_size < 200_000:
            time.sleep(0.01)
    finally:
        process.kill()
        process.join()
    tasks = [some.task for some in read_groups(path, on_error="skip")]
    assert tasks == [f"task {number}" for number in range(len(tasks))]
    assert len(tasks) >= 30
