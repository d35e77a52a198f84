"""A vocabulary of words, made from what the environments say: small models learn from scratch with nothing less.

Text is lower-cased and split into words and signs. A word that the vocabulary lacks is spelled out in its longest known
beginnings, at worst in letters, so that two commands never look alike because their words are unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from scpo_agents.environments import arguments_for, games_of
from scpo_agents.evaluate import spread
from scpo_envs.policies import RandomPolicy, collect

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

END, REPLY = "<|end|>", "<|reply|>"
"""What ends a reply, and what comes before it."""

SPECIAL = ("<|pad|>", "<|unknown|>", END, REPLY)
TAGS = ("<think>", "</think>", "<action>", "</action>")
EPISODES = 256
"""Episodes of random play in the train split, spread over its games, whose texts are counted."""

CHAT_TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'user' %}{{ message.content }}<|reply|>"
    "{% elif message.role == 'assistant' %}{{ message.content }}<|end|>{% endif %}{% endfor %}"
)
"""A chat without system messages: a small model is told nothing that it cannot learn."""

_LETTERS = "".join(chr(code) for code in range(33, 127) if not chr(code).isupper())
_PIECE = re.compile(r"\w+|[^\w\s]+")  # as `tokenizers.pre_tokenizers.Whitespace` splits


@lru_cache(maxsize=4)
def vocabulary(environments: tuple[str, ...], size: int) -> tuple[str, ...]:
    """The words of the environments' train splits, the most frequent first, and all single characters seen.

    Args:
        environments: Their ids.
        size: Most entries.

    Returns:
        Entries of a WordPiece vocabulary, special tokens first. Equal arguments give equal entries.
    """
    counts: Counter[str] = Counter()
    for env in environments:
        for text in _texts(env):
            counts.update(_PIECE.findall(text.lower()))
    letters = sorted({letter for word in counts for letter in word} | set(_LETTERS))
    fixed = [*SPECIAL, *TAGS, *letters, *(f"##{letter}" for letter in letters)]
    words = sorted(counts.keys() - set(fixed), key=lambda word: (-counts[word], word))
    return tuple([*fixed, *words[: max(0, size - len(fixed))]])


def tokenizer_of(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """A tokenizer with a chat template, for entries that `vocabulary` gives."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pad, unknown, end, reply = SPECIAL
    model: Any = models.WordPiece(
        {word: index for index, word in enumerate(words)}, unk_token=unknown, max_input_chars_per_word=200
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    tokenizer.add_tokens(list(TAGS))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        unk_token=unknown,
        eos_token=end,
        additional_special_tokens=[reply],
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def _texts(env: str) -> Iterator[str]:
    """What an environment says in some episodes of random play in its train split."""
    games = spread(tuple(games_of(env, "train", {})), EPISODES)
    venv = gym.make_vec(
        env, num_envs=min(32, len(games)), group_size=1, sampler=games, **arguments_for(env, "train", {})
    )
    with closing(venv):
        for group in collect(venv, RandomPolicy(seed=0), seed=0):
            yield from _said(group.instruction, group.rollouts[0].steps)


def _said(instruction: str | None, steps: Iterable[Any]) -> Iterator[str]:
    yield instruction or ""
    for step in steps:
        yield step.observation
        yield from step.info.get("admissible_commands", ())
