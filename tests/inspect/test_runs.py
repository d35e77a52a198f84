from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from scpo_envs.inspect.runs import Library
from tests.inspect.groups import many, worked, write


def fresh(path: Path) -> Library:
    library = Library(path)
    library.refresh()
    return library


def names(library: Library) -> dict[str, list[str]]:
    return {run.name: [run.label(id) for id in run.files] for run in library.runs.values()}


def test_a_file_is_a_run_of_its_own(tmp_path: Path) -> None:
    library = fresh(write(tmp_path / "some.jsonl", *many(3)))
    assert names(library) == {"some.jsonl": ["some.jsonl"]}
    assert library.progress == 1.0


def test_a_runs_folder_has_metrics_settings_and_iterations(run_folder: Path) -> None:
    library = fresh(run_folder)
    assert names(library) == {"mine": ["iteration 10", "iteration 20"]}
    run = next(iter(library.runs.values()))
    assert run.metrics and run.groups == 10 and run.settings()["seed"] == 3


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"[" * 200_000])
def test_settings_that_cannot_be_read_are_none(run_folder: Path, content: bytes) -> None:
    (run_folder / "last" / "config.json").write_bytes(content)
    assert next(iter(fresh(run_folder).runs.values())).settings() == {}


def test_a_folder_of_runs_and_loose_files(run_folder: Path) -> None:
    write(run_folder.parent / "loose.jsonl", worked())
    (run_folder.parent / "results.jsonl").write_text('{"game": 1}\n')  # of an evaluation
    (run_folder.parent / "notes.txt").write_text("scpo-rollouts/1")
    write(run_folder.parent / ".hidden" / "a.jsonl", worked())
    assert names(fresh(run_folder.parent)) == {"runs": ["loose.jsonl"], "mine": ["iteration 10", "iteration 20"]}


def test_ids_depend_on_the_place_alone(run_folder: Path) -> None:
    one = fresh(run_folder.parent)
    write(run_folder.parent / "another" / "a.jsonl", worked())
    other = fresh(run_folder.parent)
    assert set(one.runs) < set(other.runs)


def test_what_appears_later_is_found(run_folder: Path) -> None:
    library = fresh(run_folder)
    before = library.revision
    assert not library.refresh() and library.revision == before
    write(run_folder / "rollouts" / "000030.jsonl", *many(2))
    assert library.refresh()
    assert names(library)["mine"][-1] == "iteration 30"
    (run_folder / "rollouts" / "000010.jsonl").unlink()
    assert library.refresh()
    assert names(library)["mine"] == ["iteration 20", "iteration 30"]
    with open(run_folder / "metrics.jsonl", "a") as file:
        file.write('{"iteration": 21, "success": 0.1}\n')
    os.utime(run_folder / "metrics.jsonl", (1, 1))
    assert library.refresh()


def test_a_file_whose_first_line_is_still_being_written_is_found_once_it_is_there(run_folder: Path) -> None:
    path = run_folder / "rollouts" / "000030.jsonl"
    path.write_text("{")
    library = fresh(run_folder)
    assert len(names(library)["mine"]) == 2
    write(path, worked())
    library.refresh()
    assert len(names(library)["mine"]) == 3


def test_a_file_that_is_to_be_written_may_be_empty_as_yet(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    library = fresh(path)
    assert next(iter(library.runs.values())).groups == 0
    write(path, worked())
    library.refresh()
    assert next(iter(library.runs.values())).groups == 1


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "outside" / "secret.jsonl", worked())
    inside = tmp_path / "inside"
    write(inside / "own.jsonl", worked())
    (inside / "linked.jsonl").symlink_to(tmp_path / "outside" / "secret.jsonl")
    (inside / "metrics.jsonl").symlink_to(tmp_path / "outside" / "secret.jsonl")
    (inside / "folder").symlink_to(tmp_path / "outside")
    (inside / "same.jsonl").symlink_to(inside / "own.jsonl")
    (inside / "loop").symlink_to(inside)
    (inside / "dangling.jsonl").symlink_to(inside / "nothing")
    library = fresh(inside)
    assert names(library) == {"inside": ["own.jsonl", "same.jsonl"]}
    assert not next(iter(library.runs.values())).metrics


def test_nothing_to_inspect_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no file or folder .*nothing"):
        Library(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="no rollouts found"):
        Library(tmp_path)
    (tmp_path / "letter.txt").write_text("Dear reader,\n")
    with pytest.raises(FileNotFoundError, match=r"no rollouts found: .*letter\.txt"):
        Library(tmp_path / "letter.txt")


def test_it_is_watched_until_told_to_stop(tmp_path: Path) -> None:
    library = Library(write(tmp_path / "a.jsonl", worked()))
    stop = threading.Event()
    watcher = threading.Thread(target=library.watch, args=(stop, 0.01))
    watcher.start()
    run = next(iter(library.runs.values()))
    for count in (1, 3):
        while run.groups != count:
            stop.wait(0.01)
        write(tmp_path / "a.jsonl", *many(3))
    stop.set()
    watcher.join(10)
    assert not watcher.is_alive()
