"""Which groups a list shows: by kind of task, outcome, credited share and text, in which order, a page at a time."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from scpo_envs.errors import RolloutFormatError
from scpo_envs.inspect.index import Entry, GroupFile
from scpo_envs.inspect.runs import Run
from scpo_envs.rollouts import RolloutGroup

PAGE_SIZE = 50
OUTCOMES = {"": "any", "mixed": "won and failed", "won": "all won", "failed": "all failed"}
SHARES = {"": "any", "0": "some", "10": "10 % and more", "25": "25 % and more", "50": "50 % and more"}
SORTS = {"": "as written", "credit": "most credit", "share": "largest credited share", "won": "most won"}
MAX_TEXT = 200
"""Longest text to search for, in characters."""
SEARCH_SECONDS = 1.5
"""How long one request searches for a page of groups; the next one goes on where it stopped."""
COUNT_SECONDS = 0.2
"""How long one request searches in all to count further groups, once its page is full."""


class Found(NamedTuple):
    """One group of a run."""

    file_id: str
    file: GroupFile
    entry: Entry


@dataclass(frozen=True)
class Filter:
    """A choice of a run's groups; every field as it stands in an address.

    Attributes:
        file: Id of one file; empty for all.
        kind: Kind of task.
        outcome: A key of `OUTCOMES`.
        share: A key of `SHARES`: least share of failed steps with credit, in per cent; "0" asks for any at all.
        text: Text in the task, the instruction, an observation or an action; capitals do not matter.
        sort: A key of `SORTS`.
    """

    file: str = ""
    kind: str = ""
    outcome: str = ""
    share: str = ""
    text: str = ""
    sort: str = ""

    @classmethod
    def read(cls, arguments: Mapping[str, str]) -> Filter:
        """The filter of an address.

        Raises:
            ValueError: A value is not one of those that there are.
        """
        chosen = cls(**{one.name: arguments.get(one.name, "").strip() for one in fields(cls)})
        for name, values in (("outcome", OUTCOMES), ("share", SHARES), ("sort", SORTS)):
            if getattr(chosen, name) not in values:
                raise ValueError(f"{name}={getattr(chosen, name)[:40]!r} is unknown: use one of {', '.join(values)}")
        if len(chosen.text) > MAX_TEXT:
            raise ValueError(f"a text to search for has at most {MAX_TEXT} characters, not {len(chosen.text):,}")
        return chosen

    def arguments(self, **changes: str) -> dict[str, str]:
        """The filter as arguments of an address, without those that are empty."""
        return {name: value for name, value in {**vars(self), **changes}.items() if value}

    def select(self, run: Run) -> list[Found]:
        """The run's groups that pass all but the text, in order.

        Raises:
            LookupError: The run has no such file.
        """
        if self.file and self.file not in run.files:
            raise LookupError("this run has no such file")
        found = [Found(*item) for item in run.entries() if self._passes(item[0], item[2])]
        if self.sort:
            found.sort(key=_SORT_KEYS[self.sort])
        return found

    def _passes(self, file_id: str, entry: Entry) -> bool:
        if (self.file and file_id != self.file) or (self.kind and entry.kind != self.kind):
            return False
        if self.outcome and entry.outcome != self.outcome:
            return False
        return not self.share or (bool(entry.share) and 100 * (entry.share or 0.0) >= int(self.share))


_SORT_KEYS: dict[str, Any] = {
    "credit": lambda found: -(found.entry.credit or 0.0),
    "share": lambda found: -(found.entry.share or 0.0),
    "won": lambda found: -found.entry.won / max(1, found.entry.siblings),
}


@dataclass(frozen=True)
class Page:
    """A page of a list.

    Attributes:
        groups: Its groups.
        number: Its number, from 1.
        total: Groups of the whole list, as far as it has been searched.
        searched: Groups searched for the text.
        of: Groups there were to search.
    """

    groups: list[Found]
    number: int
    total: int
    searched: int
    of: int

    @property
    def complete(self) -> bool:
        """Whether all groups have been searched."""
        return self.searched == self.of

    @property
    def more(self) -> bool:
        """Whether a next page is known of."""
        return self.total > self.number * PAGE_SIZE


class TextSearch:
    """Remembers which groups hold which text, so that a search goes on from request to request.

    Safe to share between threads: at worst two of them read the same group.

    Args:
        texts: Texts remembered; the one that was longest not asked for goes first.
    """

    def __init__(self, texts: int = 8) -> None:
        self._texts = texts
        self._lock = threading.Lock()
        self._known: dict[str, dict[tuple[str, int, int], bool]] = {}

    def page(self, found: Sequence[Found], text: str, number: int, seconds: float = SEARCH_SECONDS) -> Page:
        """A page of the groups that hold a text; without a text, of all.

        Args:
            found: The groups, in the order of the list.
            text: What to search for.
            number: Which page.
            seconds: How long to search at most.
        """
        first, last = (number - 1) * PAGE_SIZE, number * PAGE_SIZE
        hits: list[Found] = []
        searched = 0
        start = time.monotonic()
        for item, holds in self.scan(found, text, seconds):
            searched += 1
            if holds:
                hits.append(item)
            if text and len(hits) > last and time.monotonic() > start + COUNT_SECONDS:
                break
        return Page(hits[first:last], number, len(hits), searched, len(found))

    def scan(self, found: Sequence[Found], text: str, seconds: float) -> Iterator[tuple[Found, bool]]:
        """Each group with whether it holds the text, until the time is up; all hold an empty one."""
        if not text:
            yield from ((item, True) for item in found)
            return
        with self._lock:
            known = self._known.pop(text.casefold(), {})
            self._known[text.casefold()] = known
            while len(self._known) > self._texts:
                del self._known[next(iter(self._known))]
        end = time.monotonic() + seconds
        for item in found:
            key = (item.file_id, item.file.generation, item.entry.line)
            if key not in known:
                if time.monotonic() > end:
                    return
                known[key] = holds_text(item.file, item.entry, text)
            yield item, known[key]


def holds_text(file: GroupFile, entry: Entry, text: str) -> bool:
    """Whether a group holds a text, in its task, its instruction, an observation or an action."""
    try:
        raw = file.raw(entry)
        if text.isascii() and json.dumps(text)[1:-1].lower().encode() not in raw.lower():
            return False  # quick: ASCII stands in the file as `to_json` writes it
        group = RolloutGroup.from_json(raw.decode())
    except (OSError, UnicodeDecodeError, RolloutFormatError):  # the file has just been replaced
        return False
    wanted = text.casefold()
    return any(wanted in one.casefold() for one in _texts(group))


def _texts(group: RolloutGroup) -> Iterator[str]:
    yield group.task
    yield group.instruction or ""
    for rollout in group.rollouts:
        yield rollout.final_observation or ""
        for step in rollout.steps:
            yield step.action
            yield step.observation
