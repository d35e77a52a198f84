"""KEY=VALUE arguments."""

from __future__ import annotations

import pytest

from scpo_envs.commands.arguments import keyword_arguments


def test_json_is_read_as_json_and_the_rest_as_text() -> None:
    pairs = ["a=1", "b=true", "c=null", "d=[1, 2]", "e=valid_seen", "f=", "g=a=b", 'h="1"', "i=1.5", "j=東京"]
    assert keyword_arguments(pairs) == {
        "a": 1,
        "b": True,
        "c": None,
        "d": [1, 2],
        "e": "valid_seen",
        "f": "",
        "g": "a=b",
        "h": "1",
        "i": 1.5,
        "j": "東京",
    }


def test_what_nests_too_deeply_for_json_is_text() -> None:
    assert keyword_arguments(["a=" + "[" * 200_000]) == {"a": "[" * 200_000}


@pytest.mark.parametrize("pair", ["split", "=x", "two words=1", ""])
def test_other_forms_are_refused(pair: str) -> None:
    with pytest.raises(ValueError, match="KEY=VALUE"):
        keyword_arguments([pair])


def test_a_key_may_come_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        keyword_arguments(["a=1", "a=2"])
