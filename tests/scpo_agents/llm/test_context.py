"""What the model is shown, with a tokenizer of one id a character: no model is needed."""

from __future__ import annotations

from typing import Any

import pytest

from scpo_agents.llm.config import LLMConfig
from scpo_agents.llm.context import CONTEXTS, Chat, Growing, Window

END = "\x03"


class Letters:
    """A tokenizer whose ids are code points, with a chat template like ChatML."""

    chat_template: str | None = "letters"
    name_or_path = "letters"
    eos_token_id = ord(END)
    forgetful = False

    def __call__(self, text: str, add_special_tokens: bool) -> dict[str, list[int]]:
        assert not add_special_tokens
        return {"input_ids": [ord(letter) for letter in text]}

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        return "".join(map(chr, ids)).replace(END, "") if skip_special_tokens else "".join(map(chr, ids))

    def apply_chat_template(self, messages: list[dict[str, str]], tokenize: bool, add_generation_prompt: bool) -> str:
        assert not tokenize and add_generation_prompt
        shown = messages[-1:] if self.forgetful else messages
        return "".join(f"{one['role'][0]}:{one['content']}{END}\n" for one in shown) + "a:"


def chat() -> Chat:
    return Chat(Letters())


def config(**settings: Any) -> LLMConfig:
    return LLMConfig(**{"max_context": 4000, "max_tokens": 100, **settings})


def said(context: Any, observation: str, action: str, commands: tuple[str, ...] = ("look", "wait")) -> str:
    """Play a turn; gives what was read before the reply."""
    prompt = context.prompt(observation, commands)
    text = "".join(map(chr, prompt.ids))
    assert prompt.start == len(prompt.ids)
    context.replied(prompt, [*map(ord, action), ord(END)], observation, action)
    return text


def test_the_first_observation_is_in_the_first_prompt() -> None:
    for kind in CONTEXTS.values():
        assert "an old attic" in said(kind(chat(), config(), "find it"), "an old attic", "look")


def test_a_window_shows_the_last_exchanges_word_for_word_and_nothing_older() -> None:
    window = Window(chat(), config(history=2), "find it")
    for index in range(4):
        text = said(window, f"room {index}", f"act {index}")
    assert "You saw: room 1\nYou did: act 1" in text and "You saw: room 2\nYou did: act 2" in text
    assert "room 0" not in text and "Steps taken: 3" in text and "You see: room 3" in text
    assert "Commands:\nlook\nwait" in text and "Task: find it" in text


def test_commands_are_shown_only_if_wanted() -> None:
    for kind in CONTEXTS.values():
        context = kind(chat(), config(show_commands=False), "t")
        assert "wait" not in said(context, "x", "look") + said(context, "y", "look")


def test_a_transcript_only_grows_and_holds_every_reply_as_it_was_written() -> None:
    growing = Growing(chat(), config(), "find it")
    texts = [said(growing, f"room {index}", f"act {index}") for index in range(3)]
    assert texts[1].startswith(texts[0] + f"act 0{END}") and texts[2].startswith(texts[1] + f"act 1{END}")
    assert texts[1] == f"{texts[0]}act 0{END}\nu:room 1\nCommands:\nlook\nwait{END}\na:"


def test_a_reply_without_an_end_is_ended_in_the_transcript() -> None:
    growing = Growing(chat(), config(show_commands=False), "t")
    prompt = growing.prompt("one", ())
    growing.replied(prompt, list(map(ord, "unfinished")), "one", "unfinished")
    assert "".join(map(chr, growing.prompt("two", ()).ids)).endswith(f"a:unfinished{END}\nu:two{END}\na:")


def test_a_full_transcript_begins_anew_with_a_window_and_says_so() -> None:
    growing = Growing(chat(), config(max_context=900, history=1), "find it")
    cuts = []
    for index in range(12):
        prompt = growing.prompt(f"room {index} " + "x" * 40, ("look",))
        assert len(prompt.ids) <= 900 - 100
        cuts.append(prompt.cut)
        growing.replied(prompt, [ord("a"), ord(END)], f"room {index}", "a")
    assert True in cuts and cuts[0] is False


def test_a_window_that_does_not_fit_shows_less_history_first_and_is_counted() -> None:
    window = Window(chat(), config(max_context=900, history=5), "find it")
    for index in range(5):
        prompt = window.prompt(f"room {index} " + "x" * 90, ("look",))
        assert len(prompt.ids) <= 800
        window.replied(prompt, [ord(END)], f"room {index} " + "x" * 90, "a")
    assert prompt.cut and f"You see: room 4 {'x' * 90}" in "".join(map(chr, prompt.ids))


@pytest.mark.parametrize("kind", CONTEXTS.values())
def test_a_prompt_that_cannot_fit_loses_its_beginning_and_is_counted(kind: Any) -> None:
    prompt = kind(chat(), config(max_context=300), "t").prompt("y" * 5000 + " the end", ("look",))
    assert prompt.cut and len(prompt.ids) == 200 and "".join(map(chr, prompt.ids)).endswith("look\x03\na:")


def test_a_command_is_a_whole_reply() -> None:
    assert chat().command("go") == (ord("g"), ord("o"), ord(END))
    assert chat().ends == {ord(END)} and Chat(Letters(), [7]).ends == {ord(END), 7}


def test_text_that_is_no_unicode_is_read_all_the_same() -> None:
    assert chat().encode("a\udc80b") == [ord("a"), ord("?"), ord("b")]


def test_a_model_that_cannot_chat_is_refused() -> None:
    mute, forgetful = Letters(), Letters()
    mute.chat_template = None
    with pytest.raises(ValueError, match="letters has no chat template: use an instruct model"):
        Chat(mute)
    forgetful.forgetful = True
    with pytest.raises(ValueError, match="rewrites earlier turns"):
        Chat(forgetful)


def test_a_context_without_room_for_a_prompt_is_refused() -> None:
    with pytest.raises(ValueError, match=r"agent\.max_context=300 leaves no room .* agent\.max_tokens=300"):
        Window(chat(), config(max_context=300, max_tokens=300), "t")
