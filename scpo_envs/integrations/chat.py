"""A text world as a conversation: what a language model is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SYSTEM = (
    "You act in a text world to complete a task. Each message shows what you see. Think briefly, then give exactly one "
    "command between <action> and </action>."
)
"""The first message of a conversation."""


def told(observation: str, info: Mapping[str, Any], *, commands: bool = True) -> str:
    """A message of the world: the observation and, if wanted, the admissible commands."""
    admissible: Sequence[str] = info.get("admissible_commands") or ()
    if not commands or not admissible:
        return observation
    return f"{observation}\n\nCommands:\n" + "\n".join(admissible)


def opening(messages: Sequence[Mapping[str, Any]], first: str) -> list[dict[str, Any]]:
    """A conversation's beginning: the messages given (else the system's) and the world's first one.

    The world's message joins a last message of the user, since many chat templates refuse two in a row.
    """
    chat = [dict(message) for message in messages] or [{"role": "system", "content": SYSTEM}]
    if chat[-1]["role"] == "user":
        chat[-1]["content"] = f"{chat[-1]['content']}\n\n{first}"
    else:
        chat.append({"role": "user", "content": first})
    return chat
