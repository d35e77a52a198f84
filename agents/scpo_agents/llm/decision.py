"""What was decided in a turn, by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scpo_agents.llm.trie import Choice, Trie


@dataclass(slots=True)
class LLMDecision:
    """A reply, as the ids that were read and written.

    Decisions of one transcript share `ids`: the same list, to which later turns were appended.

    Attributes:
        ids: The text that holds the prompt and the reply.
        start: Where the reply begins.
        stop: Where it ends.
        log_probs: Log-probability of each of its tokens when it was sampled, shape (n_tokens,): of all tokens of a free
            reply; of those that were chosen among several, in a reply limited to commands; of the command, where
            commands were ranked.
        choices: Where a reply that was limited to commands had a choice; None for a free one.
        ranked: The commands that were ranked; None where none were.
        chosen: Which of these was drawn.
    """

    ids: Sequence[int]
    start: int
    stop: int
    log_probs: NDArray[np.float32]
    choices: list[Choice] | None = None
    ranked: Trie | None = None
    chosen: int = 0

    @property
    def positions(self) -> list[int]:
        """Where in `ids` its tokens stand."""
        if self.choices is None:
            return list(range(self.start, self.stop))
        return [self.start + choice.position for choice in self.choices]
