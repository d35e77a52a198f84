"""Folders on disk that are written once, atomically, and read memory-mapped.

A folder holds `.npy` arrays, raw blobs and `manifest.json`, which names the format and its version, the size and
SHA-256 of every file, whatever facts its owner adds, and a content hash over all of it. The manifest is written last
and the folder takes its name last, so that a folder with a name is whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from webshop_server.errors import BuildError, CatalogueError

MANIFEST = "manifest.json"
VERIFY_BELOW = 16 << 20
"""Folders smaller than this many bytes have their checksums verified whenever they are opened."""


class FolderWriter:
    """A folder being written; see `new_folder`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._scratch: list[BinaryIO] = []

    def array(self, name: str, values: NDArray[Any]) -> None:
        """Write an array as `<name>.npy`, little-endian."""
        np.save(self.path / f"{name}.npy", _little_endian(values), allow_pickle=False)

    def empty_array(self, name: str, shape: int, dtype: DTypeLike) -> NDArray[Any]:
        """A writable memory-mapped array that becomes `<name>.npy`."""
        if shape == 0:
            self.array(name, np.empty(0, dtype))
            return np.empty(0, dtype)
        mapped: NDArray[Any] = np.lib.format.open_memmap(
            self.path / f"{name}.npy", mode="w+", dtype=np.dtype(dtype).newbyteorder("<"), shape=(shape,)
        )
        return mapped

    def blob(self, name: str) -> BinaryIO:
        """A binary file `<name>.bin` to write to; the caller closes it."""
        return (self.path / f"{name}.bin").open("wb")

    def scratch(self) -> BinaryIO:
        """An unnamed temporary file on the same disk; it goes when the folder is finished."""
        file = tempfile.TemporaryFile(dir=self.path)
        self._scratch.append(file)
        return file

    def discard_scratch(self) -> None:
        """Free the temporary files."""
        while self._scratch:
            self._scratch.pop().close()

    def close(self, kind: str, version: int, facts: Mapping[str, Any], notes: Mapping[str, Any] | None = None) -> None:
        """Write the manifest over the files as they are now; the notes do not count for the content hash."""
        files = {
            file.name: {"bytes": file.stat().st_size, "sha256": _sha256(file)} for file in sorted(self.path.iterdir())
        }
        manifest = {"format": kind, "version": version, "facts": dict(facts), "files": files}
        manifest |= {"content_hash": _content_hash(manifest), "notes": dict(notes or {})}
        text = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=True)
        (self.path / MANIFEST).write_text(text + "\n", encoding="utf-8")


@contextlib.contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[FolderWriter]:
    """Write a folder that appears under its name only when the block ends without an exception.

    Raises:
        BuildError: Something is at `path` already (an empty folder is fine), or its parent cannot be written.
    """
    path = Path(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise BuildError(f"{path} exists already; give another place or remove it first")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".building", dir=path.parent))
    except OSError as error:
        raise BuildError(f"cannot write {path}: {error.strerror}") from error
    folder = FolderWriter(building)
    try:
        yield folder
        building.chmod(0o755)
        building.rename(path)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    finally:
        folder.discard_scratch()


class Folder:
    """A folder opened for reading.

    Args:
        path: The folder.
        kind: The format its manifest must name.
        version: The format version its manifest must name.
        verify: Whether to compare every file with its checksum, which reads them all; None verifies small folders.

    Attributes:
        path: The folder.
        facts: What its owner noted.
        content_hash: Equal for folders of equal content.

    Raises:
        CatalogueError: The folder is missing, of another format or version, or damaged; says which file and why.
    """

    def __init__(self, path: str | os.PathLike[str], kind: str, version: int, *, verify: bool | None = None) -> None:
        self.path = Path(path)
        manifest = self._read_manifest(kind, version)
        self.facts: Mapping[str, Any] = {**manifest["facts"], **manifest["notes"]}
        self.content_hash: str = manifest["content_hash"]
        self._files: dict[str, dict[str, Any]] = manifest["files"]
        for name, entry in self._files.items():
            self._check_size(name, entry)
        if verify or (verify is None and sum(entry["bytes"] for entry in self._files.values()) < VERIFY_BELOW):
            self.verify()

    def verify(self) -> None:
        """Compare every file with its checksum.

        Raises:
            CatalogueError: A file differs.
        """
        for name, entry in self._files.items():
            if _sha256(self.path / name) != entry["sha256"]:
                raise CatalogueError(f"{self.path / name} is damaged: its checksum differs from the manifest's")

    def array(self, name: str) -> NDArray[Any]:
        """The array `<name>.npy`, read-only and memory-mapped.

        Raises:
            CatalogueError: The file is no such array.
        """
        file = self._listed(f"{name}.npy")
        try:
            values: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise CatalogueError(f"{file} is no readable array: {error}") from error
        return values.view(np.ndarray)  # without np.memmap's cost at every slice

    def blob(self, name: str) -> memoryview:
        """The bytes of `<name>.bin`, memory-mapped."""
        file = self._listed(f"{name}.bin")
        if not file.stat().st_size:
            return memoryview(b"")
        with file.open("rb") as handle:
            return memoryview(mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ))

    def _read_manifest(self, kind: str, version: int) -> dict[str, Any]:
        file = self.path / MANIFEST
        try:
            manifest = json.loads(file.read_bytes())
        except FileNotFoundError:
            reason = "it has no manifest.json" if self.path.is_dir() else "there is no such folder"
            raise CatalogueError(f"{self.path} is no {kind}: {reason}") from None
        except (OSError, ValueError, RecursionError) as error:
            raise CatalogueError(f"{file} cannot be read: {error}") from error
        if not isinstance(manifest, dict) or manifest.get("format") != kind:
            raise CatalogueError(f"{file} does not describe a {kind}")
        if manifest.get("version") != version:
            raise CatalogueError(
                f"{self.path} has format version {manifest.get('version')!r}; this release reads {version}"
            )
        entries = manifest.get("files")
        if not isinstance(entries, dict) or not all(
            isinstance(entry, dict) and isinstance(entry.get("bytes"), int) and isinstance(entry.get("sha256"), str)
            for entry in entries.values()
        ):
            raise CatalogueError(f"{file} lists no files with their sizes and checksums")
        if not isinstance(manifest.get("facts"), dict) or not isinstance(manifest.get("notes"), dict):
            raise CatalogueError(f"{file} is damaged: it has no facts or no notes")
        if manifest.get("content_hash") != _content_hash(manifest):
            raise CatalogueError(f"{file} is damaged: its content hash differs from its content")
        return manifest

    def _check_size(self, name: str, entry: Mapping[str, Any]) -> None:
        if Path(name).name != name:
            raise CatalogueError(f"{self.path / MANIFEST} names {name!r}, which is no file of this folder")
        try:
            size = (self.path / name).stat().st_size
        except OSError:
            raise CatalogueError(f"{self.path / name} is missing") from None
        if size != entry["bytes"]:
            raise CatalogueError(f"{self.path / name} is damaged: {size} bytes where {entry['bytes']} were written")

    def _listed(self, name: str) -> Path:
        if name not in self._files:
            raise CatalogueError(f"{self.path / MANIFEST} lists no {name}")
        return self.path / name


def _content_hash(manifest: Mapping[str, Any]) -> str:
    """The hash of what a manifest says, but for itself and the notes."""
    content = [manifest[key] for key in ("format", "version", "facts", "files")]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _little_endian(values: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))


def _sha256(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
