"""The text space admits what worlds and agents really write."""

from __future__ import annotations

import copy
import pickle

import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from hypothesis import given
from hypothesis import strategies as st

from scpo_envs.text import Text, parse_action


@given(st.text(st.characters(exclude_categories=())))
def test_every_string_is_contained(text: str) -> None:
    assert text in Text()


@pytest.mark.parametrize("text", ["", "a" * 1_000_000, "取る", "\ud800", "\x00", "line\nbreak", "🛒"])
def test_strings_that_gymnasium_refuses(text: str) -> None:
    assert text in Text()
    assert text not in spaces.Text(64)


@pytest.mark.parametrize("other", [None, 3, b"look", ["look"], {"a": "b"}])
def test_nothing_else_is_contained(other: object) -> None:
    assert other not in Text()


def test_samples_are_short_text_and_follow_the_seed() -> None:
    first, second, other = Text(seed=7), Text(), Text(seed=8)
    second.seed(7)
    samples = [first.sample() for _ in range(50)]
    assert samples == [second.sample() for _ in range(50)]
    assert samples != [other.sample() for _ in range(50)]
    assert all(isinstance(sample, str) and len(sample) <= 64 and sample.isascii() for sample in samples)
    assert len(set(samples)) > 40


def test_it_is_a_text_space_to_whoever_looks_for_one() -> None:
    assert isinstance(Text(), spaces.Text)
    assert Text() == Text(seed=3)
    assert Text() != spaces.Text(64)
    assert repr(Text()) == "Text()"


def test_it_travels_and_batches() -> None:
    space = Text(seed=1)
    space.sample()
    for arrived in (pickle.loads(pickle.dumps(space)), copy.deepcopy(space)):
        assert arrived == space
        assert arrived.sample() == copy.deepcopy(space).sample()
    assert ("", "漢字") in batch_space(space, 2)
    assert space.from_jsonable(space.to_jsonable(["a", "漢字"])) == ["a", "漢字"]


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("<think>the fridge</think><action>open fridge 1</action>", "open fridge 1"),
        ("<action> look \n</action> and then", "look"),
        ("<action>look</action> no: <ACTION>inventory</ACTION>", "inventory"),
        ("<think>hm</think><action>go to desk 1", "go to desk 1"),
        ("I will look.\nlook\n\n", "look"),
        ("<action></action>", ""),
        ("", ""),
        ("go to hall\n\n", "go to hall"),
        ("\ud800 <action>前へ</action>", "前へ"),
        ("\ud800", "\ud800"),
    ],
)
def test_the_action_of_a_reply(reply: str, action: str) -> None:
    assert parse_action(reply) == action


@given(st.text(), st.text(st.characters(exclude_characters="<>"), min_size=1))
def test_what_stands_in_the_last_action_is_taken_whatever_surrounds_it(thought: str, command: str) -> None:
    assert parse_action(f"{thought}<action>{command}</action>") == command.strip()
