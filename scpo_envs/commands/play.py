"""Play a task by hand, with completion of the admissible commands, undo, hints and a transcript."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import tyro
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from rich.console import Console
from rich.text import Text

from scpo_envs.commands.arguments import keyword_arguments
from scpo_envs.registration import check_arguments, parameters
from scpo_envs.rollouts import Rollout, RolloutGroup, Step, write_groups

_KEYS = {
    "/commands": "list what can be done now",
    "/hint": "what the expert would do",
    "/undo": "take the last action back",
    "/restart": "begin again",
    "/quit": "stop (Ctrl-D too)",
}
_PARTS = ("r_type", "r_att", "r_option", "r_price")
"""The parts of a purchase's score, which WebShop tells."""


def play(
    env: Annotated[str, tyro.conf.Positional] = "SCPO-ALFWorld-v0",
    *,
    game: str | None = None,
    seed: int | None = None,
    env_arg: tyro.conf.UseAppendAction[tuple[str, ...]] = (),
    out: Path | None = None,
) -> int:
    """Play a task by hand; Tab completes the admissible commands.

    Args:
        env: Id of the environment.
        game: Id of a game or goal; by default one is drawn.
        seed: Decides the game that is drawn.
        env_arg: An argument of the environment, as KEY=VALUE; may be given several times.
        out: Save what you played as a rollout file, a group of one.
    """
    import gymnasium as gym

    arguments: dict[str, Any] = keyword_arguments(env_arg)
    check_arguments(env, arguments)
    if "expert" in (parameters(env) or ()):
        arguments = {"expert": True, **arguments}
    # No step limit by hand: the world itself has none.
    with contextlib.closing(gym.make(env, **arguments)) as made:
        table = _Game(made.unwrapped, game, seed)
        table.run(_reader(lambda: [*table.info["admissible_commands"], *_KEYS]))
    if out is not None and table.steps:
        write_groups(out, [table.group()])
        table.console.print(f"Written: {out}", highlight=False)
    return 0


class _Game:
    """One game at the terminal: the environment, and the steps so far with a snapshot before each."""

    def __init__(self, env: Any, game: str | None, seed: int | None) -> None:
        self.env = env
        self.console = Console()
        self.steps: list[Step] = []
        self.before: list[Any] = []
        options = None if game is None else {"game": game}
        self.observation, self.info = env.reset(seed=seed, options=options)
        self.ended = bool(self.info["won"])

    def run(self, lines: Iterable[str]) -> None:
        """Play until the task is solved or the lines end."""
        self._show()
        self.console.print(Text(f"\nTab completes. {'  '.join(_KEYS)}", style="dim"))
        for line in lines:
            if line == "/quit":
                return
            self._answer(line)
            if self.info["won"]:
                self.console.print(Text(f"Solved in {len(self.steps)} steps.", style="bold green"))
                return

    def _answer(self, line: str) -> None:
        match line:
            case "":
                return
            case "/commands":
                self.console.print(Text("\n".join(self.info["admissible_commands"])))
            case "/hint":
                self.console.print(Text(self._hint(), style="yellow"))
            case "/undo":
                self._undo(1)
            case "/restart":
                self._undo(len(self.steps))
            case _ if line.startswith("/"):
                self.console.print(Text("\n".join(f"{key:10} {text}" for key, text in _KEYS.items()), style="dim"))
            case _ if self.ended:
                self.console.print(Text("This episode is over: /undo, /restart or /quit.", style="dim"))
            case _:
                self._step(line)

    def _hint(self) -> str:
        if "expert_action" not in self.info:
            return f"This world has no expert. The task: {self.info['task']}"
        return self.info["expert_action"] or "The expert knows no way from here."

    def _step(self, action: str) -> None:
        self.before.append(self.env.snapshot())
        kept = {"admissible_commands": self.info["admissible_commands"]}
        observation, reward, terminated, truncated, info = self.env.step(action)
        kept |= {key: info[key] for key in ("valid_action", "invalid_reason")}
        self.steps.append(Step(self.observation, action, float(reward), kept))
        self.observation, self.info, self.ended = observation, info, terminated or truncated
        self._show()
        if info["invalid_reason"]:
            self.console.print(Text(info["invalid_reason"], style="dim"))
        if self.ended and not info["won"]:
            self.console.print(Text(f"{self._outcome(float(reward))} /undo takes it back.", style="bold red"))

    def _outcome(self, reward: float) -> str:
        parts = [f"{name} {self.info[name]:.2f}" for name in _PARTS if name in self.info]
        return f"The end, with a reward of {reward:.2f}" + (f" ({', '.join(parts)})." if parts else ".")

    def _undo(self, count: int) -> None:
        if not count or not self.steps:
            self.console.print(Text("There is nothing to undo.", style="dim"))
            return
        self.observation, self.info = self.env.restore(self.before[-count])
        del self.steps[-count:], self.before[-count:]
        self.ended = False
        self._show()

    def _show(self) -> None:
        """The observation, a page of WebShop one text a line."""
        self.console.print(Text(self.observation.replace(" [SEP] ", "\n")))

    def group(self) -> RolloutGroup:
        """What was played, as a group of one."""
        rollout = Rollout(self.steps, won=bool(self.info["won"]), final_observation=self.observation)
        return RolloutGroup(
            self.info["task_id"], [rollout], success_reward=self.env.success_reward, instruction=self.info["task"]
        )


def _reader(words: Callable[[], Iterable[str]]) -> Iterator[str]:
    """Lines from the terminal with completion, or plain lines where input is a pipe or a file."""
    if not sys.stdin.isatty():
        for line in sys.stdin:
            print(f"> {line.strip()}")
            yield line.strip()
        return
    session: PromptSession[str] = PromptSession(history=InMemoryHistory(), completer=_Words(words))
    while True:
        try:
            yield session.prompt("> ").strip()
        except (EOFError, KeyboardInterrupt):  # what was played is still saved
            return


class _Words(Completer):
    """Completes whole commands from any part of their beginning."""

    def __init__(self, words: Callable[[], Iterable[str]]) -> None:
        self._words = words

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Every command that begins with what has been typed."""
        typed = document.text_before_cursor.lstrip()
        for word in self._words():
            if word.startswith(typed):
                yield Completion(word, start_position=-len(typed))
