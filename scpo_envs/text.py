"""Text as Gymnasium sees it, and the action in what a language model replies."""

from __future__ import annotations

import re
from typing import Any

from gymnasium import spaces

_ACTION = re.compile(r"<action>(.*?)(?:</action>|$)", re.DOTALL | re.IGNORECASE)
_SAMPLED = "abcdefghijklmnopqrstuvwxyz "  # few: each space keeps three tables of them


class Text(spaces.Text):
    """Any string: every alphabet, any length, line breaks and lone surrogates included.

    `gymnasium.spaces.Text` admits 62 characters and a bounded length, and fails on any other
    string; agents and worlds write what they like. This space `contains` every `str`. It still is
    a `gymnasium.spaces.Text`, so libraries that look for one find it; samples are short, of lower
    case letters and spaces.
    """

    def __init__(self, seed: Any = None) -> None:
        super().__init__(max_length=64, min_length=0, charset=_SAMPLED, seed=seed)

    def contains(self, x: object) -> bool:
        """Whether `x` is a string."""
        return isinstance(x, str)

    def __repr__(self) -> str:
        return "Text()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text)

    __hash__ = None  # type: ignore[assignment]  # as the spaces it derives from: mutable through its generator


def parse_action(reply: str) -> str:
    """The action of a reply: what stands in its last `<action>`, else its last line that is not empty.

    Blanks around it are dropped; an empty reply is the empty action, which every world calls invalid.
    """
    found = _ACTION.findall(reply)
    if found:
        return str(found[-1]).strip()
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    return lines[-1] if lines else ""
