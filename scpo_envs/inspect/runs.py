"""What there is to inspect: runs, their rollout files and their metrics, found below one path and nowhere else."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scpo_envs.inspect.index import Entry, GroupFile

METRICS, ROLLOUTS = "metrics.jsonl", "rollouts"
"""Names of a run's measurements and of the folder of its groups."""

_CHECKPOINTS = ("last", "best", "start")
_SCHEMA = re.compile(rb'"schema"\s*:\s*"scpo-rollouts/')
_HEAD = 1 << 16


@dataclass
class Run:
    """A folder with metrics, rollout files, or both.

    Attributes:
        id: Its name in addresses: made from its place, so a link holds as long as the folder stays.
        name: Its place below the path that is inspected.
        folder: The folder.
        files: Its rollout files by id, in the order of their names.
        metrics: Whether it has measurements.
    """

    id: str
    name: str
    folder: Path
    files: dict[str, GroupFile] = field(default_factory=dict)
    metrics: bool = False

    _measured: float = field(default=0.0, init=False, repr=False)

    @property
    def groups(self) -> int:
        """How many groups are indexed."""
        return sum(len(file.entries) for file in self.files.values())

    @property
    def modified(self) -> float:
        """When one of its files was last written, seconds since the epoch."""
        times = [file.modified for file in self.files.values()]
        if self.metrics:
            times.append(_modified(self.folder / METRICS))
        return max(times, default=0.0)

    def measured(self) -> bool:
        """Whether the measurements have changed since this was last asked."""
        before, self._measured = self._measured, _modified(self.folder / METRICS) if self.metrics else 0.0
        return before != self._measured

    def entries(self) -> Iterator[tuple[str, GroupFile, Entry]]:
        """File id, file and entry of every group, file by file."""
        for id, file in self.files.items():
            for entry in list(file.entries):
                yield id, file, entry

    def label(self, file_id: str) -> str:
        """What a file is called: "iteration 10" for rollouts/000010.jsonl, else its name."""
        path = self.files[file_id].path
        number = path.stem.isdecimal() and path.parent.name == ROLLOUTS
        return f"iteration {int(path.stem)}" if number else path.name

    def settings(self) -> dict[str, Any]:
        """The settings that the run's checkpoint holds; empty where there is none to read."""
        for name in _CHECKPOINTS:
            try:
                read = json.loads((self.folder / name / "config.json").read_text("utf-8"))
            except (OSError, ValueError, RecursionError):
                continue
            if isinstance(read, dict):
                return read
        return {}


class Library:
    """The runs below a path.

    Addresses name runs and files by ids that this class hands out; nothing a client sends becomes part of a path. Links
    are not followed out of the path.

    Args:
        path: A rollout file, a run's folder, or a folder with any number of both below it.

    Attributes:
        root: The path, resolved.
        runs: Runs by id, in the order of their names.

    Raises:
        FileNotFoundError: There is no such path, or nothing to inspect in it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        given = Path(path)
        if not given.exists():
            raise FileNotFoundError(f"there is no file or folder {given}")
        self.root = given.resolve()
        self.runs: dict[str, Run] = {}
        self._changes = 0
        self._is_known: dict[Path, bool] = {}
        self._lock = threading.Lock()
        self._discover()
        if not self.runs:
            raise FileNotFoundError(
                f"no rollouts found: {given} is or holds neither a rollout file (JSON Lines, as `scpo rollout --out` "
                f"writes it) nor a run's folder with {METRICS}"
            )

    @property
    def revision(self) -> int:
        """Grows when anything has changed."""
        return self._changes + sum(file.revision for _, file in self._files())

    @property
    def progress(self) -> float:
        """Share of the bytes that is indexed, in [0, 1]."""
        size = sum(file.size for _, file in self._files())
        left = sum(max(0, file.size - file.indexed) for _, file in self._files() if not file.complete)
        return 1.0 - left / size if size else 1.0

    def refresh(self) -> bool:
        """Look for new runs and index what has been written; returns whether anything is new."""
        with self._lock:
            before = self.revision
            self._discover()
            for _, file in self._files():
                with contextlib.suppress(OSError):  # gone since it was found: the next round will not find it
                    file.refresh()
            return self.revision != before

    def watch(self, stop: threading.Event, seconds: float = 1.0) -> None:
        """Refresh until told to stop, with pauses that grow with the time a round takes."""
        while not stop.is_set():
            start = time.monotonic()
            self.refresh()
            stop.wait(min(30.0, max(seconds, 5 * (time.monotonic() - start))))

    def _files(self) -> list[tuple[str, GroupFile]]:
        return [item for run in list(self.runs.values()) for item in list(run.files.items())]

    def _discover(self) -> None:
        """Look for runs and files that are new or gone."""
        found: dict[Path, tuple[list[Path], bool]] = {}
        for path in self._candidates():
            beside = path.parent.name == ROLLOUTS and path.parent != self.root
            folder = path.parent.parent if beside else path.parent
            files, metrics = found.get(folder, ([], False))
            found[folder] = (files, True) if path.name == METRICS else ([*files, path], metrics)
        runs: dict[str, Run] = {}
        for folder in sorted(found):
            name = "." if self.root.is_file() else self._place(folder)
            run = self.runs.get(_id(name)) or Run(_id(name), self.root.name if name == "." else name, folder)
            files, run.metrics = found[folder]
            files_by_id = {_id(self._place(path)): path for path in sorted(files)}
            kept = {id: run.files.get(id) or GroupFile(path) for id, path in files_by_id.items()}
            self._changes += kept.keys() != run.files.keys()
            self._changes += run.measured()
            run.files = kept
            runs[run.id] = run
        self._changes += runs.keys() != self.runs.keys()
        self.runs = runs

    def _candidates(self) -> Iterator[Path]:
        if self.root.is_file():
            if self._is_rollouts(self.root):
                yield self.root
            return
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in names:
                path = Path(folder, name)
                if name.endswith(".jsonl") and self._inside(path) and (name == METRICS or self._is_rollouts(path)):
                    yield path

    def _inside(self, path: Path) -> bool:
        try:
            return path.is_file() and path.resolve().is_relative_to(self.root)
        except OSError:
            return False

    def _is_rollouts(self, path: Path) -> bool:
        """Whether a file's beginning names the schema; the file that was asked for may also be empty as yet."""
        if path in self._is_known:
            return self._is_known[path]
        try:
            with open(path, "rb") as file:
                head = file.read(_HEAD)
        except OSError:
            return False
        found = bool(_SCHEMA.search(head))
        if found or b"\n" in head or len(head) == _HEAD:  # else its first line is still being written
            self._is_known[path] = found
        return found or (path == self.root and path not in self._is_known)

    def _place(self, path: Path) -> str:
        return path.relative_to(self.root.parent if self.root.is_file() else self.root).as_posix()


def _id(place: str) -> str:
    return hashlib.blake2b(place.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
