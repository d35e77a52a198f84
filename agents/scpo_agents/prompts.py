"""What a language model is told.

A prompt holds the task, the last exchanges word for word, the observation and the admissible commands. The reply is
asked for as `<think>...</think><action>...</action>`, which `scpo_envs.text.parse_action` reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SYSTEM = (
    "You act in a text world to complete a task. Each turn you are shown what you see and which commands are possible "
    "now. Think briefly between <think> and </think>. Then give exactly one command, copied from the list, between "
    "<action> and </action>."
)


@dataclass(slots=True)
class Transcript:
    """An episode so far, as a model is told of it.

    Attributes:
        task: The task as a sentence.
        exchanges: Observations and the actions that followed, in order.
    """

    task: str
    exchanges: list[tuple[str, str]] = field(default_factory=list)

    def messages(
        self, observation: str, commands: Sequence[str], history: int, *, system: str = SYSTEM
    ) -> list[dict[str, str]]:
        """The chat that asks for the next action.

        Args:
            observation: What is seen now.
            commands: What is possible now; none are listed if it is empty.
            history: How many of the last exchanges to show.
            system: The instructions that come first.
        """
        parts = [f"Task: {self.task}"]
        shown = self.exchanges[len(self.exchanges) - history :] if history < len(self.exchanges) else self.exchanges
        if len(shown) < len(self.exchanges):
            parts.append(f"Steps taken: {len(self.exchanges)}, the last {len(shown)} of which follow.")
        parts += [f"You saw: {seen}\nYou did: {action}" for seen, action in shown]
        parts.append(f"You see: {observation}")
        if commands:
            parts.append("Commands:\n" + "\n".join(commands))
        return [{"role": "system", "content": system}, {"role": "user", "content": "\n\n".join(parts)}]


def commands_of(info: Mapping[str, Any]) -> tuple[str, ...]:
    """The admissible commands of an info; empty where an environment tells none."""
    return tuple(info.get("admissible_commands") or ())
