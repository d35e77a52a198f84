from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from webshop_server.errors import BuildError, CatalogueError
from webshop_server.storage import MANIFEST, Folder, _content_hash, new_folder

KIND, VERSION = "test-folder", 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "folder"
    write(path)
    return path


def write(path: Path) -> None:
    with new_folder(path) as out:
        out.array("numbers", np.arange(5, dtype=">i4"))
        mapped = out.empty_array("mapped", 3, np.uint16)
        mapped[:] = [7, 8, 9]
        out.empty_array("nothing", 0, np.float64)
        with out.blob("text") as blob:
            blob.write(b"hello")
        out.blob("empty").close()
        out.close(KIND, VERSION, {"greeting": "hello"}, {"note": "aside"})


def test_what_was_written_is_read(folder: Path) -> None:
    opened = Folder(folder, KIND, VERSION)
    assert opened.facts == {"greeting": "hello", "note": "aside"}
    assert opened.array("numbers").tolist() == [0, 1, 2, 3, 4]
    assert opened.array("numbers").dtype == np.dtype("<i4")
    assert opened.array("mapped").tolist() == [7, 8, 9]
    assert opened.array("nothing").tolist() == []
    assert bytes(opened.blob("text")) == b"hello"
    assert bytes(opened.blob("empty")) == b""


def test_arrays_cannot_be_written_to(folder: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        Folder(folder, KIND, VERSION).array("numbers")[0] = 1


def test_equal_content_has_an_equal_hash(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "other")
    hashes = {Folder(path, KIND, VERSION).content_hash for path in (folder, tmp_path / "other")}
    assert len(hashes) == 1


def test_nothing_appears_when_writing_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="half-way"), new_folder(tmp_path / "folder") as out:
        out.array("numbers", np.arange(5))
        raise RuntimeError("half-way")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_place_is_refused_but_an_empty_folder_is_filled(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="exists already"):
        write(folder)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BuildError, match="exists already"):
        write(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty")
    assert Folder(tmp_path / "empty", KIND, VERSION)


def test_a_parent_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="cannot write"):
        write(tmp_path / "file" / "folder")


def _write_and_hang(path: Path, started: Any) -> None:
    with new_folder(path) as out:
        out.array("numbers", np.arange(5))
        started.set()
        signal.pause()


def test_a_killed_writer_leaves_no_folder_and_does_not_hinder_the_next(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    writer = context.Process(target=_write_and_hang, args=(tmp_path / "folder", started))
    writer.start()
    assert started.wait(60)
    writer.kill()
    writer.join()
    assert not (tmp_path / "folder").exists()
    write(tmp_path / "folder")
    assert Folder(tmp_path / "folder", KIND, VERSION)


def test_a_place_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"is no test-folder: there is no such folder"):
        Folder(tmp_path / "nowhere", KIND, VERSION)
    with pytest.raises(CatalogueError, match=r"is no test-folder: it has no manifest\.json"):
        Folder(tmp_path, KIND, VERSION)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": "other"}', b"\xff\xfe", b"[" * 200_000])
def test_a_foreign_manifest_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(CatalogueError, match=r"manifest\.json"):
        Folder(tmp_path, KIND, VERSION)


def test_another_version_is_refused(folder: Path) -> None:
    with pytest.raises(CatalogueError, match="has format version 3; this release reads 4"):
        Folder(folder, KIND, 4)


@pytest.mark.parametrize("files", [None, [], {"x.npy": 5}, {"x.npy": {"bytes": "5", "sha256": ""}}])
def test_a_manifest_that_lists_no_files_is_refused(folder: Path, files: Any) -> None:
    rewrite_manifest(folder, files=files)  # before its hash is looked at
    with pytest.raises(CatalogueError, match="lists no files"):
        Folder(folder, KIND, VERSION)


@pytest.mark.parametrize("change", [{"facts": {"greeting": "hallo"}}, {"content_hash": "0" * 64}])
def test_a_changed_manifest_is_found_by_its_hash(folder: Path, change: Any) -> None:
    rewrite_manifest(folder, rehash=False, **change)
    with pytest.raises(CatalogueError, match="its content hash differs"):
        Folder(folder, KIND, VERSION)


def test_a_manifest_without_facts_or_notes_is_refused(folder: Path) -> None:
    rewrite_manifest(folder, rehash=False, facts=None)
    with pytest.raises(CatalogueError, match="no facts"):
        Folder(folder, KIND, VERSION)


def test_a_manifest_cannot_point_outside_the_folder(folder: Path) -> None:
    rewrite_manifest(folder, files={"../secret": {"bytes": 1, "sha256": ""}})
    with pytest.raises(CatalogueError, match="no file of this folder"):
        Folder(folder, KIND, VERSION)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "text.bin").unlink()
    with pytest.raises(CatalogueError, match=r"text\.bin is missing"):
        Folder(folder, KIND, VERSION)


def test_a_shortened_file_is_named(folder: Path) -> None:
    os.truncate(folder / "numbers.npy", 130)
    with pytest.raises(CatalogueError, match=r"numbers\.npy is damaged: 130 bytes where 148 were written"):
        Folder(folder, KIND, VERSION)


def test_a_changed_byte_is_found_by_its_checksum(folder: Path) -> None:
    (folder / "text.bin").write_bytes(b"hallo")
    with pytest.raises(CatalogueError, match=r"text\.bin is damaged: its checksum differs"):
        Folder(folder, KIND, VERSION)
    unverified = Folder(folder, KIND, VERSION, verify=False)
    with pytest.raises(CatalogueError, match=r"text\.bin"):
        unverified.verify()


def test_an_array_that_is_none_is_named(folder: Path) -> None:
    (folder / "numbers.npy").write_bytes(b"x" * 148)
    with pytest.raises(CatalogueError, match=r"numbers\.npy is no readable array"):
        Folder(folder, KIND, VERSION, verify=False).array("numbers")


def test_an_array_of_objects_is_never_unpickled(folder: Path) -> None:
    np.save(folder / "numbers.npy", np.array([object()]), allow_pickle=True)
    rewrite_manifest(folder, size_of="numbers.npy")
    with pytest.raises(CatalogueError, match="no readable array"):
        Folder(folder, KIND, VERSION, verify=False).array("numbers")


def test_a_file_that_the_manifest_does_not_list_is_not_read(folder: Path) -> None:
    np.save(folder / "more.npy", np.arange(3))
    with pytest.raises(CatalogueError, match=r"lists no more\.npy"):
        Folder(folder, KIND, VERSION).array("more")


def rewrite_manifest(folder: Path, size_of: str | None = None, *, rehash: bool = True, **changes: Any) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest |= changes
    if size_of:
        manifest["files"][size_of]["bytes"] = (folder / size_of).stat().st_size
    if rehash:
        manifest["content_hash"] = _content_hash(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest))
