"""An index of a rollout file: where each group stands, and what lists and filters want to know of it.

Groups are read once to be indexed and again when they are shown; none is kept. A file may grow while it is read: a
last line without its line break waits for the rest. A file that was replaced or cut short is indexed anew.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from scpo_envs.errors import RolloutFormatError
from scpo_envs.rollouts import RolloutGroup

_FINGERPRINT = 256
_TITLE = 300


@dataclass(frozen=True, slots=True)
class Entry:
    """One group of a file, without its texts.

    Attributes:
        line: Number of its line, from 1: its name in addresses, and in the messages of `read_groups`.
        offset, length: Where it stands in the file, in bytes.
        task: The task's id.
        instruction: The task as the agent was told it, cut short.
        kind: The kind of task; empty where the file does not say.
        siblings, won: Rollouts, and how many of them solved the task.
        steps, failed_steps: Steps of all rollouts, and of the failed ones.
        credited: Failed steps with credit; None where the file holds no credit.
        credit: Credit of all steps together; None likewise.
    """

    line: int
    offset: int
    length: int
    task: str
    instruction: str
    kind: str
    siblings: int
    won: int
    steps: int
    failed_steps: int
    credited: int | None
    credit: float | None

    @property
    def outcome(self) -> str:
        """How it ended: "mixed", "won" (all did), "failed" (all did), or "empty"."""
        if not self.siblings:
            return "empty"
        return "mixed" if 0 < self.won < self.siblings else "won" if self.won else "failed"

    @property
    def share(self) -> float | None:
        """Share of failed steps that have credit; None where the file holds none."""
        return None if self.credited is None else self.credited / self.failed_steps if self.failed_steps else 0.0


class GroupFile:
    """A rollout file and its index.

    Args:
        path: The file.

    Attributes:
        entries: What is indexed so far, in the file's order.
        damaged: Line and reason of each line that is no group.
        indexed: Bytes indexed so far.
        size: Bytes of the file when it was last looked at.
        complete: Whether all but an unfinished last line is indexed.
        modified: When it was last written, seconds since the epoch.
        revision: Grows with every change of the index.
        generation: Grows when the file turns out to have been replaced: what was known of it is void.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = []
        self.damaged: list[tuple[int, str]] = []
        self.indexed = self.size = self.revision = self.generation = 0
        self.modified = 0.0
        self.complete = False
        self._lines = 0
        self._inode = -1
        self._head = self._tail = b""

    def refresh(self) -> bool:
        """Index what is new; returns whether anything is.

        Raises:
            OSError: The file cannot be read.
        """
        status = os.stat(self.path)
        if (status.st_ino, status.st_size, status.st_mtime) == (self._inode, self.size, self.modified):
            return False
        before = self.revision
        with open(self.path, "rb") as file:
            if self._inode not in (-1, status.st_ino) or self._was_replaced(file, status.st_size):
                self._forget()
            self._inode, self.size, self.modified = status.st_ino, status.st_size, status.st_mtime
            self.complete = False
            file.seek(self.indexed)
            for raw in file:
                if not raw.endswith(b"\n"):
                    break  # still being written
                self._add(raw)
            if not self._head:
                file.seek(0)
                self._head = file.read(min(_FINGERPRINT, self.indexed))
        self.complete = True
        return self.revision != before

    def read(self, entry: Entry) -> RolloutGroup:
        """The group of an entry.

        Raises:
            RolloutFormatError: The file has changed since it was indexed.
            OSError: It cannot be read.
        """
        try:
            return RolloutGroup.from_json(self.raw(entry).decode())
        except UnicodeDecodeError as error:
            raise RolloutFormatError("the file has changed since it was indexed") from error

    def raw(self, entry: Entry) -> bytes:
        """The line of an entry, as it stands in the file."""
        with open(self.path, "rb") as file:
            file.seek(entry.offset)
            return file.read(entry.length)

    def find(self, line: int) -> int | None:
        """The place in `entries` of the group on a line; None if there is none."""
        low, high = 0, len(self.entries)
        while low < high:
            middle = (low + high) // 2
            if self.entries[middle].line < line:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self.entries) and self.entries[low].line == line else None

    def _add(self, raw: bytes) -> None:
        offset = self.indexed
        self._lines += 1
        self.indexed += len(raw)
        self._tail = raw[-_FINGERPRINT:]
        if not raw.strip():
            return
        self.revision += 1
        try:
            self.entries.append(_entry(RolloutGroup.from_json(raw.decode()), self._lines, offset, len(raw)))
        except (RolloutFormatError, UnicodeDecodeError) as error:
            self.damaged.append((self._lines, str(error)[:200]))

    def _was_replaced(self, file: BinaryIO, size: int) -> bool:
        """Whether what was indexed no longer stands where it stood."""
        if size < self.indexed:
            return True
        head = file.read(len(self._head))
        file.seek(self.indexed - len(self._tail))
        return head != self._head or file.read(len(self._tail)) != self._tail

    def _forget(self) -> None:
        self.entries, self.damaged = [], []
        self.indexed = self._lines = 0
        self._head = self._tail = b""
        self.revision += 1
        self.generation += 1


def _entry(group: RolloutGroup, line: int, offset: int, length: int) -> Entry:
    failed = [step for rollout in group.rollouts if not rollout.won for step in rollout.steps]
    steps = [step for rollout in group.rollouts for step in rollout.steps]
    shaped = bool(steps) and all(step.credit is not None for step in steps)
    kind = group.info.get("task_type", "")
    return Entry(
        line=line,
        offset=offset,
        length=length,
        task=group.task,
        instruction=(group.instruction or "")[:_TITLE],
        kind=kind if isinstance(kind, str) else "",
        siblings=len(group),
        won=len(group.successes),
        steps=len(steps),
        failed_steps=len(failed),
        credited=sum(bool(step.credit) for step in failed) if shaped else None,
        credit=math.fsum(step.credit or 0.0 for step in steps) if shaped else None,
    )
