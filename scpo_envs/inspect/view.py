"""What the page of a group says beside its numbers: siblings and their texts, cut to a size that a page can hold."""

from __future__ import annotations

from dataclasses import dataclass

from scpo_envs.inspect.index import Entry
from scpo_envs.rollouts import RolloutGroup, Step

TEXT, ACTION, PEEK = 2000, 400, 160
"""Characters shown of an observation, of an action, and of an observation that is folded."""
EXPORTED = 20_000
"""Characters of a text that a page to keep holds."""


@dataclass(frozen=True)
class Text:
    """A text as a page shows it.

    Attributes:
        shown: Its beginning.
        size: Its size in characters.
    """

    shown: str
    size: int

    @classmethod
    def of(cls, text: str, limit: int) -> Text:
        """A text cut to a limit."""
        return cls(text[:limit], len(text))

    @property
    def cut(self) -> bool:
        """Whether there is more of it."""
        return len(self.shown) < self.size


@dataclass(frozen=True)
class StepView:
    """A step: its texts, its raw reward, and the advantage that training gave it, where the file says."""

    action: Text
    observation: Text
    peek: str
    reward: float
    trained: float | None

    @classmethod
    def of(cls, step: Step, limit: int, action_limit: int) -> StepView:
        """What to show of a step."""
        trained = step.info.get("advantage")
        return cls(
            action=Text.of(step.action, action_limit),
            observation=Text.of(step.observation, limit),
            peek=" ".join(step.observation[: 4 * PEEK].split())[:PEEK],
            reward=step.reward,
            trained=trained if isinstance(trained, float) else None,
        )


@dataclass(frozen=True)
class SiblingView:
    """A sibling."""

    index: int
    won: bool
    truncated: bool
    reward: float
    steps: list[StepView]
    final: Text | None

    @property
    def outcome(self) -> str:
        """How it ended, in words."""
        return "won" if self.won else "failed at the step limit" if self.truncated else "failed"


@dataclass(frozen=True)
class GroupView:
    """A group.

    Attributes:
        title: The task in words.
        task, kind: The task's id and kind.
        place: Where it stands: file or iteration, and line.
        entry: What the index knows of it.
        siblings: The siblings.
        unit: What a success pays.
        trained: Whether steps have the advantages that training gave them.
    """

    title: str
    task: str
    kind: str
    place: str
    entry: Entry
    siblings: list[SiblingView]
    unit: float
    trained: bool

    @classmethod
    def of(cls, group: RolloutGroup, entry: Entry, label: str, *, cut: bool = True) -> GroupView:
        """What to show of a group.

        Args:
            group: The group.
            entry: Its entry.
            label: What its file is called.
            cut: Whether long texts are cut to what a page can hold; what is kept for long may be longer.
        """
        limits = (TEXT, ACTION) if cut else (EXPORTED, EXPORTED)
        siblings = [
            SiblingView(
                index=index,
                won=rollout.won,
                truncated=rollout.truncated,
                reward=rollout.total_reward,
                steps=[StepView.of(step, *limits) for step in rollout.steps],
                final=None if rollout.final_observation is None else Text.of(rollout.final_observation, limits[0]),
            )
            for index, rollout in enumerate(group.rollouts)
        ]
        return cls(
            title=(group.instruction or group.task)[:TEXT],
            task=group.task[:TEXT],
            kind=entry.kind[:ACTION],
            place=f"{label}, group {entry.line}",
            entry=entry,
            siblings=siblings,
            unit=group.success_reward,
            trained=any(step.trained is not None for one in siblings for step in one.steps),
        )


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, and a true minus."""
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")
