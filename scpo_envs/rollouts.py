"""The data that flows: a step, a rollout, a group of sibling rollouts, and their files.

Environments produce `RolloutGroup`s, `scpo_envs.credit` reads them, trainers and
the inspector consume them. Nothing here knows an environment or a model.

A file of groups is JSON Lines: one group a line, each line complete in itself::

    {"schema": "scpo-rollouts/1", "task": "...", "instruction": "...", "success_reward": 1.0,
     "info": {}, "rollouts": [{"won": true, "truncated": false, "final_observation": "...",
     "info": {}, "steps": [{"observation": "...", "action": "...", "reward": 0.0, "info": {}}]}]}

Shaped steps also hold `credit` and `shaped_reward`. Lines are UTF-8; a lone
surrogate, which an agent's reply may contain, is escaped and comes back as it was.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scpo_envs.errors import RolloutFormatError

SCHEMA = "scpo-rollouts/1"
"""Name and version of the file format that this release writes and reads."""


@dataclass(slots=True)
class Step:
    """One decision of an agent.

    Attributes:
        observation: The text the agent saw before it acted: what the action answered.
        action: The text it acted with.
        reward: The environment's reward for this action, before any shaping.
        info: What is known of this step; `info["admissible_commands"]`, where kept, belongs to `observation`.
        credit: SCPO's soft credit in [0, 1], None until shaped.
        shaped_reward: `reward + alpha * success_reward * credit`, None until shaped.
    """

    observation: str
    action: str
    reward: float
    info: dict[str, Any] = field(default_factory=dict)
    credit: float | None = None
    shaped_reward: float | None = None


@dataclass(slots=True)
class Rollout:
    """One episode of one sibling, from the shared start to its end.

    Attributes:
        steps: The decisions in order; may be empty (an episode that ended before its first action).
        won: Whether the task was solved: the outcome that group-based estimators compare.
        truncated: Whether a limit ended the episode. Never true together with `won`.
        final_observation: The text after the last action.
        info: Anything else that belongs to the whole rollout.
    """

    steps: list[Step]
    won: bool
    truncated: bool = False
    final_observation: str | None = None
    info: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def total_reward(self) -> float:
        """Undiscounted sum of the raw rewards."""
        return math.fsum(step.reward for step in self.steps)

    @property
    def rewards(self) -> NDArray[np.float64]:
        """Raw rewards, shape (n_steps,)."""
        return np.array([step.reward for step in self.steps], dtype=np.float64)


@dataclass(slots=True)
class RolloutGroup:
    """Sibling rollouts of one task from one start state.

    Attributes:
        task: The id that makes these rollouts siblings (`info["task_id"]`: a game or goal id).
        rollouts: The siblings; uneven lengths, and any number of them.
        success_reward: What the environment pays for a success, the unit of SCPO's alpha.
        instruction: The task as the agent was told it.
        info: Anything else that belongs to the whole group.
    """

    task: str
    rollouts: list[Rollout]
    success_reward: float = 1.0
    instruction: str | None = None
    info: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rollouts)

    @property
    def successes(self) -> list[int]:
        """Indices of the rollouts that solved the task."""
        return [index for index, rollout in enumerate(self.rollouts) if rollout.won]

    @property
    def failures(self) -> list[int]:
        """Indices of the rollouts that did not."""
        return [index for index, rollout in enumerate(self.rollouts) if not rollout.won]

    def to_json(self) -> str:
        """This group as one line of a rollout file, without the line break.

        Raises:
            TypeError: An `info` holds a value that JSON has no form for.
            ValueError: A number is NaN or infinite.
        """
        record = {
            "schema": SCHEMA,
            "task": self.task,
            "instruction": self.instruction,
            "success_reward": self.success_reward,
            "info": self.info,
            "rollouts": [
                {
                    "won": rollout.won,
                    "truncated": rollout.truncated,
                    "final_observation": rollout.final_observation,
                    "info": rollout.info,
                    "steps": [_step_record(step) for step in rollout.steps],
                }
                for rollout in self.rollouts
            ],
        }
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, default=_plain)
        return text if _is_utf8(text) else json.dumps(record, allow_nan=False, default=_plain)

    @classmethod
    def from_json(cls, line: str) -> RolloutGroup:
        """Read one line of a rollout file.

        Raises:
            RolloutFormatError: The line is not a group of this schema; the message names the field.
        """
        try:
            record = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise RolloutFormatError(f"not a JSON object: {error}") from error
        top = _Fields(record, "")
        schema = top.take("schema", str)
        if schema != SCHEMA:
            raise RolloutFormatError(f"field 'schema' is {schema!r}; this release reads {SCHEMA!r}")
        return cls(
            task=top.take("task", str),
            instruction=top.take("instruction", str, None),
            success_reward=top.take("success_reward", float),
            info=top.take("info", dict, {}),
            rollouts=[
                _read_rollout(_Fields(item, f"rollouts[{index}]."))
                for index, item in enumerate(top.take("rollouts", list))
            ],
        )


def write_groups(path: str | os.PathLike[str], groups: Iterable[RolloutGroup], *, append: bool = False) -> int:
    """Write groups to a file, one a line, and return how many.

    Each line is flushed when it is complete, so a reader may follow the file while it grows. If
    writing a line fails (a full disk, a value JSON cannot hold), what was written of that line is
    taken back: the file ends with the last whole group, and the error goes up.

    Args:
        path: The file; its folder is made if needed.
        groups: Any iterable, consumed lazily.
        append: Add to the file instead of replacing it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with open(path, "ab" if append else "wb", buffering=0) as file:
        for group in groups:
            line = (group.to_json() + "\n").encode()
            start = file.seek(0, os.SEEK_END)
            try:
                _write_all(file, line)
            except BaseException:
                file.truncate(start)
                raise
            count += 1
    return count


def read_groups(
    path: str | os.PathLike[str], *, on_error: Literal["raise", "skip"] = "raise", skipped: list[str] | None = None
) -> Iterator[RolloutGroup]:
    """Read a file of groups lazily, in order.

    Args:
        path: A file that `write_groups` or `scpo rollout` wrote.
        on_error: What to do with a damaged line, such as the last one of a run that was killed:
            "raise", or "skip" it.
        skipped: A list that receives one message for each line skipped.

    Raises:
        RolloutFormatError: A line is damaged; the message names file, line and field.
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error must be 'raise' or 'skip', not {on_error!r}")
    with open(path, "rb") as file:
        for number, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            try:
                yield RolloutGroup.from_json(_decode(raw))
            except RolloutFormatError as error:
                message = f"{os.fspath(path)}, line {number}: {error}"
                if on_error == "raise":
                    raise RolloutFormatError(message) from error
                if skipped is not None:
                    skipped.append(message)


def _step_record(step: Step) -> dict[str, Any]:
    record: dict[str, Any] = {
        "observation": step.observation,
        "action": step.action,
        "reward": step.reward,
        "info": step.info,
    }
    if step.credit is not None:
        record["credit"] = step.credit
    if step.shaped_reward is not None:
        record["shaped_reward"] = step.shaped_reward
    return record


def _read_rollout(fields: _Fields) -> Rollout:
    return Rollout(
        won=fields.take("won", bool),
        truncated=fields.take("truncated", bool, False),
        final_observation=fields.take("final_observation", str, None),
        info=fields.take("info", dict, {}),
        steps=[
            _read_step(_Fields(item, f"{fields.where}steps[{index}]."))
            for index, item in enumerate(fields.take("steps", list))
        ],
    )


def _read_step(fields: _Fields) -> Step:
    return Step(
        observation=fields.take("observation", str),
        action=fields.take("action", str),
        reward=fields.take("reward", float),
        info=fields.take("info", dict, {}),
        credit=fields.take("credit", float, None),
        shaped_reward=fields.take("shaped_reward", float, None),
    )


_REQUIRED = object()


class _Fields:
    """A JSON object whose fields are taken one by one, with errors that say where they stand."""

    def __init__(self, record: object, where: str) -> None:
        if not isinstance(record, dict):
            raise RolloutFormatError(f"{where.rstrip('.') or 'the line'} must be an object, not {record!r:.60}")
        self.record = record
        self.where = where

    def take(self, name: str, kind: type, default: object = _REQUIRED) -> Any:
        """The value of a field, of the type asked for; a default also stands in for null."""
        value = self.record.get(name)
        if value is None:
            if default is _REQUIRED:
                raise RolloutFormatError(f"field '{self.where}{name}' is missing")
            return {} if kind is dict else default
        if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if math.isinf(number):  # JSON's 1e999 is one, too
                raise RolloutFormatError(f"field '{self.where}{name}' is too large a number: {value!s:.20}...")
            return number
        if not isinstance(value, kind):
            raise RolloutFormatError(f"field '{self.where}{name}' must be {kind.__name__}, not {value!r:.60}")
        return value


def _write_all(file: Any, data: bytes) -> None:
    """Write every byte to an unbuffered file, which may take fewer a call."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise RolloutFormatError(f"not UTF-8: {error}") from error


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number that JSON knows")


def _plain(value: object) -> object:
    """NumPy scalars and arrays, tuples and mappings as JSON's own types."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"info holds {value!r:.60} of type {type(value).__name__}, which a JSON file cannot keep")
