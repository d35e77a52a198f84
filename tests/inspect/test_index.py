from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from scpo_envs.errors import RolloutFormatError
from scpo_envs.inspect.index import GroupFile
from scpo_envs.rollouts import write_groups
from tests.inspect.groups import hostile, many, shaped, worked, write


def indexed(path: Path) -> GroupFile:
    file = GroupFile(path)
    file.refresh()
    return file


def test_an_entry_knows_what_lists_show(tmp_path: Path) -> None:
    entry = indexed(write(tmp_path / "a.jsonl", shaped(worked(task_type="heat")))).entries[0]
    assert (entry.line, entry.task, entry.instruction, entry.kind) == (1, "heat the apple", "heat some apple.", "heat")
    assert (entry.siblings, entry.won, entry.steps, entry.failed_steps, entry.credited) == (3, 1, 15, 10, 3)
    assert entry.credit == pytest.approx(3.0) and entry.share == 0.3 and entry.outcome == "mixed"


def test_without_stored_credit_its_share_is_unknown(tmp_path: Path) -> None:
    entry = indexed(write(tmp_path / "a.jsonl", worked())).entries[0]
    assert (entry.credited, entry.credit, entry.share) == (None, None, None)


def test_each_group_is_read_from_its_place(tmp_path: Path) -> None:
    groups = [*many(7), hostile()]
    file = indexed(write(tmp_path / "a.jsonl", *groups))
    assert [file.read(entry) for entry in file.entries] == groups
    assert [file.find(entry.line) for entry in file.entries] == list(range(8))
    assert file.find(0) is file.find(9) is None


def test_a_file_that_grows_is_indexed_from_where_it_ended(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *many(3))
    file = indexed(path)
    first = list(file.entries)
    assert not file.refresh()
    write_groups(path, many(2), append=True)
    assert file.refresh()
    assert file.entries[:3] == first and [entry.line for entry in file.entries] == [1, 2, 3, 4, 5]
    assert file.generation == 0


def test_a_half_written_line_waits_for_its_end(tmp_path: Path) -> None:
    line = worked().to_json().encode() + b"\n"
    path = tmp_path / "a.jsonl"
    path.write_bytes(line + line[:100])
    file = indexed(path)
    assert len(file.entries) == 1 and not file.damaged
    with open(path, "ab") as out:
        out.write(line[100:])
    file.refresh()
    assert len(file.entries) == 2 and not file.damaged


def test_a_file_cut_short_is_indexed_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *many(5))
    file = indexed(path)
    write(path, worked())
    file.refresh()
    assert [entry.task for entry in file.entries] == ["heat the apple"]
    assert file.generation == 1


def test_a_file_replaced_by_a_longer_one_is_indexed_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", worked())
    file = indexed(path)
    write(path, *many(5))  # the same inode, and larger: only its bytes tell
    file.refresh()
    assert [entry.task for entry in file.entries] == [f"task {index}" for index in range(5)]
    os.replace(write(tmp_path / "b.jsonl", *many(9)), path)
    file.refresh()
    assert len(file.entries) == 9 and file.generation == 2


def test_what_was_replaced_under_an_entry_is_not_shown_as_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *many(3))
    file = indexed(path)
    path.write_bytes(b"\xff" * path.stat().st_size)
    for entry in file.entries:
        with pytest.raises(RolloutFormatError):
            file.read(entry)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (b"{not json}", "not a JSON object"),
        (b"[" * 100_000, "not a JSON object"),
        (b"\xff\xfe", "utf-8"),
        (b'{"schema": "scpo-rollouts/9"}', "'scpo-rollouts/9'"),
        (worked().to_json().replace('"reward": 1.0', '"reward": 1e999').encode(), "too large"),
        (worked().to_json().replace('"reward": 1.0', f'"reward": 1{"0" * 400}').encode(), "too large"),
        (b"null", "must be an object"),
    ],
)
def test_a_damaged_line_is_named_and_the_others_are_kept(tmp_path: Path, damage: bytes, reason: str) -> None:
    line = worked().to_json().encode()
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join([line, damage, b"", line]) + b"\n")
    file = indexed(path)
    assert [entry.line for entry in file.entries] == [1, 4]
    [(number, said)] = file.damaged
    assert number == 2 and reason in said


def test_odd_infos_do_no_harm(tmp_path: Path) -> None:
    record = json.loads(worked().to_json())
    record["info"] = {"task_type": ["a", {"b": None}], "scpo": 7}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record) + "\n" + json.dumps({**record, "rollouts": []}) + "\n")
    one, other = indexed(path).entries
    assert one.kind == "" and other.outcome == "empty" and other.siblings == 0
