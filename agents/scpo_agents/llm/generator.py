"""Where replies come from: token ids and log-probabilities in and out, and no word of text.

`Generator` is all that the agent knows of generation. `transformers_generator.py` is the bundled one; another, such as
one that asks a vLLM engine, needs these two methods and no change anywhere else.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scpo_agents.llm.trie import Choice, Trie


@dataclass(frozen=True, slots=True)
class Request:
    """One reply that is asked for.

    Attributes:
        prompt: All that the model is to read, as ids.
        key: Whose reply it is. Prompts of one key often begin alike, which a generator may make use of.
        rng: Draws the tokens; None takes the likeliest.
        commands: What the reply is limited to.
    """

    prompt: Sequence[int]
    key: int
    rng: random.Random | None = None
    commands: Trie | None = None


@dataclass(slots=True)
class Reply:
    """A reply.

    Attributes:
        ids: Its tokens, with the one that ended it, where one did.
        log_probs: Log-probability of each token under the distribution it was drawn from, one for each of `choices`
            where the reply was limited to commands.
        choices: Where a reply that was limited to commands had a choice.
        command: The command that it amounts to.
        cut: Whether it was stopped for its length.
    """

    ids: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    command: int | None = None
    cut: bool = False


class Generator(Protocol):
    """Generates with the weights as they were when it was made."""

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """A reply to each request, in order.

        A reply with `commands` goes down the trie: each token is drawn among those that continue a command, under
        the model's distribution over these alone; where one token alone is possible, the model is not asked.
        """

    def rank(self, requests: Sequence[Request]) -> list[NDArray[np.float32]]:
        """For each request, the log-probability of each of its commands as the whole reply, shape (n_commands,)."""
