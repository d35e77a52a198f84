"""A vocabulary of words, made from what a world says."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from scpo_agents.llm.words import SPECIAL, TAGS, tokenizer_of, vocabulary
from scpo_envs.vector import group_vector_entry_point
from tests.toy import ToyEnv


def test_the_words_of_a_world_are_in_its_vocabulary_and_made_alike_each_time(toy: str) -> None:
    words = vocabulary((toy,), 500)
    assert {"vault", "brass", "key", "図書館", "go", "take", "1"} <= set(words)
    vocabulary.cache_clear()
    assert vocabulary((toy,), 500) == words
    assert words[:4] == SPECIAL and set(TAGS) <= set(words) and len(set(words)) == len(words)


def test_the_most_frequent_words_are_kept(toy: str) -> None:
    whole = vocabulary((toy,), 10_000)
    assert vocabulary((toy,), len(whole) - 5) == whole[:-5]
    assert set(vocabulary((toy,), 16)) < set(whole)  # what words are spelled with is never left out


class SplitToy(ToyEnv):
    """A toy world whose own default split is not the one that is trained on."""

    def __init__(self, split: str = "test", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.game_ids = tuple(game for game in self.game_ids if ("brass" in game) == (split == "train"))


def test_the_train_split_is_read_whatever_the_worlds_own_default(toy: str) -> None:
    name = "SplitToy-v0"
    gym.register(name, SplitToy, vector_entry_point=group_vector_entry_point(name), max_episode_steps=12)
    try:
        words = vocabulary((name,), 500)
    finally:
        del gym.registry[name]
        vocabulary.cache_clear()
    assert {"vault", "key"} <= set(words)


def test_a_world_that_does_not_exist_is_named() -> None:
    with pytest.raises(Exception, match="NoWorld-v0"):
        vocabulary(("NoWorld-v0",), 500)


@pytest.mark.slow
def test_words_are_tokens_and_unknown_ones_are_spelled(toy: str) -> None:
    pytest.importorskip("transformers", reason="the agent needs transformers: pip install 'scpo-envs[llm]'")
    tokenizer = tokenizer_of(vocabulary((toy,), 500))
    assert tokenizer.tokenize("Open the VAULT") == ["open", "the", "vault"]
    one, two = (tokenizer(text)["input_ids"] for text in ("take zebra 1", "take zebu 1"))
    assert one != two and tokenizer.unk_token_id not in one + two
    assert tokenizer.decode(one, skip_special_tokens=True) == "take zebra 1"
    chat = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "ok"},
    ]
    assert tokenizer.apply_chat_template(chat, tokenize=False) == "Go.<|reply|>ok<|end|>"
