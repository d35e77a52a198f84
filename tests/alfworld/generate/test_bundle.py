"""The bundled games are what the generator makes, and an archive is written as a whole or not at all."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from scpo_envs.alfworld.archive import read_manifest, read_record
from scpo_envs.alfworld.games import bundled_archive, open_games
from scpo_envs.alfworld.generate import SPLITS, GameRecord, generate_game, generate_games
from scpo_envs.alfworld.generate.bundle import BUNDLE_COUNTS, BUNDLE_SEED, build_bundle, write_archive


def test_bundled_games_are_generated_alike() -> None:
    """A sample; the whole archive is made anew in the slow test below."""
    with zipfile.ZipFile(bundled_archive()) as archive:
        pins = read_manifest(archive)
        for split, count in BUNDLE_COUNTS.items():
            for index in range(0, count, 10 if split == "train" else 3):
                record = generate_game(seed=BUNDLE_SEED, index=index, split=split)
                full = record.to_json().encode()
                assert pins[record.id] == hashlib.sha256(full).hexdigest(), record.id
                assert read_record(archive, record.id) == full


@pytest.mark.slow
def test_the_whole_bundle_is_made_anew(tmp_path: Path) -> None:
    build_bundle(tmp_path / "games.zip")
    with zipfile.ZipFile(tmp_path / "games.zip") as new, zipfile.ZipFile(bundled_archive()) as old:
        assert new.namelist() == old.namelist()
        assert all(new.read(name) == old.read(name) for name in old.namelist())


def test_equal_games_give_equal_archives_in_a_folder_made_for_them(tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        write_archive(tmp_path / "new" / name, generate_games(seed=5, count=6))
    assert (tmp_path / "new" / "one.zip").read_bytes() == (tmp_path / "new" / "two.zip").read_bytes()


def test_an_archive_can_hold_games_of_several_seeds_and_splits(tmp_path: Path) -> None:
    records = [
        record for seed in (1, 2) for split in SPLITS for record in generate_games(seed=seed, count=4, split=split)
    ]
    assert write_archive(tmp_path / "games.zip", records) == 24
    games = open_games(tmp_path / "games.zip")
    assert set(games.ids) == {record.id for record in records}
    for record in records:
        assert json.loads(games.read(record.id)) == json.loads(record.to_json())
        assert games.load(record.id).walkthrough == record.walkthrough


@pytest.fixture
def failing() -> Iterator[GameRecord]:
    def fail() -> Iterator[GameRecord]:
        raise RuntimeError("the power is gone")
        yield

    return chain(generate_games(seed=5, count=2), fail())


def test_a_write_that_fails_leaves_the_old_archive(tmp_path: Path, failing: Iterator[GameRecord]) -> None:
    path = tmp_path / "games.zip"
    write_archive(path, generate_games(seed=5, count=1))
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match="the power is gone"):
        write_archive(path, failing)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["games.zip"]


def test_a_game_that_comes_twice_is_refused(tmp_path: Path) -> None:
    (record,) = generate_games(seed=5, count=1)
    with pytest.raises(ValueError, match=f"game {record.id} comes twice"):
        write_archive(tmp_path / "games.zip", [record, record])
    assert not list(tmp_path.iterdir())
