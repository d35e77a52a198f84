"""What the model is shown: a new prompt each turn, or one growing transcript; as ids, which are never made twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from scpo_agents.llm.config import LLMConfig
from scpo_agents.prompts import SYSTEM, Transcript

SYSTEM_COMMANDS = (
    "You act in a text world to complete a task. Each turn you are shown what you see. Reply with exactly one command "
    "that is possible now, and nothing else."
)
"""What a model is told whose replies are limited to the admissible commands."""

COMMAND_ROOM = 128
"""Tokens left free for a reply that is a command."""

_PROBES = ("probe alpha", "probe beta", "probe gamma")


class Prompt(NamedTuple):
    """What the model reads before a reply.

    Attributes:
        ids: The text; the reply is to be appended to it.
        start: Its length now.
        cut: Whether something older was left out because it was full.
    """

    ids: list[int]
    start: int
    cut: bool


class Chat:
    """A tokenizer with its chat template, as far as it is needed.

    Attributes:
        end: The id that the template puts after a reply.
        ends: All ids that end a reply.

    Args:
        tokenizer: One of transformers'.
        ends: Further ids that end a reply, from the model's generation settings.

    Raises:
        ValueError: There is no chat template, or one that does not let a chat be continued.
    """

    def __init__(self, tokenizer: Any, ends: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        self._commands: dict[str, tuple[int, ...]] = {}
        if not tokenizer.chat_template:
            raise ValueError(f"{tokenizer.name_or_path or 'the tokenizer'} has no chat template: use an instruct model")
        self._after, self._before = self._continuation()
        self.end = self.encode(self._after)[0]
        self.ends = frozenset({self.end, *ends} | ({tokenizer.eos_token_id} - {None}))

    def encode(self, text: str) -> list[int]:
        """The ids of a text as it stands."""
        # a lone surrogate is no UTF-8, which tokenizers want
        ids: list[int] = self._tokenizer(text.encode(errors="replace").decode(), add_special_tokens=False)["input_ids"]
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, without special tokens."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def opening(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """The ids of a chat up to where a reply begins."""
        return self.encode(self._render(messages))

    def continuation(self, text: str, ended: bool) -> list[int]:
        """The ids between a reply and the next: the reply's end, unless it `ended`, and what is said then."""
        ids = self.encode(self._after + text + self._before)
        return ids[1:] if ended else ids

    def command(self, text: str) -> tuple[int, ...]:
        """A command as a whole reply."""
        if text not in self._commands:
            self._commands[text] = (*self.encode(text), self.end)
        return self._commands[text]

    def _render(self, messages: Sequence[dict[str, str]]) -> str:
        return str(self._tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True))

    def _continuation(self) -> tuple[str, str]:
        """What the template puts after a reply, and after what is said then."""
        said, reply, then = _PROBES
        chat = [{"role": "user", "content": said}]
        opening = self._render(chat)
        chat += [{"role": "assistant", "content": reply}, {"role": "user", "content": then}]
        whole = self._render(chat)
        if not whole.startswith(opening + reply) or then not in whole:
            raise ValueError("the chat template rewrites earlier turns: a chat cannot be continued by appending to it")
        after, before = whole[len(opening + reply) :].split(then)
        return after, before


class Context(Protocol):
    """What one episode has shown so far."""

    def prompt(self, observation: str, commands: Sequence[str]) -> Prompt:
        """What to read now."""

    def replied(self, prompt: Prompt, ids: Sequence[int], observation: str, action: str) -> None:
        """Take note of the reply to a prompt."""


class Window:
    """Each turn a prompt of its own, with the last exchanges word for word.

    Attributes:
        room: Tokens that a prompt may have.

    Args:
        chat: Makes ids.
        config: Says how much is shown.
        task: The episode's.
    """

    def __init__(self, chat: Chat, config: LLMConfig, task: str) -> None:
        self._chat = chat
        self._config = config
        self._transcript = Transcript(task)
        self.room = config.max_context - (config.max_tokens if config.reply == "think" else COMMAND_ROOM)
        if self.room < 1:
            raise ValueError(
                f"agent.max_context={config.max_context} leaves no room for a prompt beside a reply of "
                f"agent.max_tokens={config.max_tokens}"
            )

    def prompt(self, observation: str, commands: Sequence[str]) -> Prompt:
        """A new prompt, with fewer exchanges if they do not fit; a prompt too long by itself loses its beginning."""
        system = SYSTEM if self._config.reply == "think" else SYSTEM_COMMANDS
        shown = commands if self._config.show_commands else ()
        history = min(self._config.history, len(self._transcript.exchanges))
        for count in range(history, -1, -1):
            ids = self._chat.opening(self._transcript.messages(observation, shown, count, system=system))
            if len(ids) <= self.room:
                return Prompt(ids, len(ids), cut=count < history)
        ids = ids[-self.room :]
        return Prompt(ids, len(ids), cut=True)

    def replied(self, prompt: Prompt, ids: Sequence[int], observation: str, action: str) -> None:
        """Keep the exchange."""
        prompt.ids.extend(ids)
        self._transcript.exchanges.append((observation, action))


class Growing:
    """One chat, to which each turn is appended; begun anew, with a window's prompt, when it is full.

    Args:
        chat: Makes ids.
        config: Says how much fits.
        task: The episode's.
    """

    def __init__(self, chat: Chat, config: LLMConfig, task: str) -> None:
        self._chat = chat
        self._config = config
        self._window = Window(chat, config, task)
        self._ids: list[int] | None = None

    def prompt(self, observation: str, commands: Sequence[str]) -> Prompt:
        """The chat so far and what is seen now."""
        if self._ids is not None:
            shown = "\nCommands:\n" + "\n".join(commands) if self._config.show_commands else ""
            more = self._chat.continuation(observation + shown, self._ids[-1] in self._chat.ends)
            if len(self._ids) + len(more) <= self._window.room:
                self._ids.extend(more)
                return Prompt(self._ids, len(self._ids), cut=False)
        full = self._ids is not None
        prompt = self._window.prompt(observation, commands)
        self._ids = prompt.ids
        return prompt._replace(cut=full or prompt.cut)

    def replied(self, prompt: Prompt, ids: Sequence[int], observation: str, action: str) -> None:
        """Append the reply."""
        self._window.replied(prompt, ids, observation, action)


CONTEXTS: dict[str, Callable[[Chat, LLMConfig, str], Context]] = {"window": Window, "transcript": Growing}
