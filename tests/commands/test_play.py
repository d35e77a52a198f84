"""`scpo play` in both worlds, fed through a pipe and at a terminal."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

import scpo_envs  # noqa: F401  (registers the ids)
from scpo_envs.alfworld.games import open_games
from scpo_envs.commands.play import _Words
from scpo_envs.rollouts import read_groups


def play(lines: list[str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "scpo_envs.cli", "play", *arguments],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_walkthrough_solves_the_game_and_is_saved(tmp_path: Path) -> None:
    games = open_games()
    id = games.ids[0]
    commands = list(games.load(id).walkthrough or ())
    out = play(commands, "--game", id, "--out", str(tmp_path / "mine.jsonl"))
    assert f"Solved in {len(commands)} steps." in out
    (group,) = read_groups(tmp_path / "mine.jsonl")
    assert group.task == id
    assert group.rollouts[0].won
    assert [step.action for step in group.rollouts[0].steps] == commands


def test_undo_hint_restart_and_nonsense() -> None:
    lines = ["/hint", "/undo", "inventory", "xyzzy", "/undo", "/undo", "/commands", "/what", "", "/restart", "/quit"]
    out = play(lines, "--seed", "1")
    assert "nothing to undo" in out
    assert "You are not carrying anything." in out
    assert "'xyzzy' is not an admissible command" in out
    assert out.count("Welcome to TextWorld") == 2
    assert "take the last action back" in out


def test_completion_offers_whole_commands() -> None:
    words = _Words(lambda: ["go to desk 1", "go to desk 2", "look"])
    found = words.get_completions(Document("go to d"), CompleteEvent())
    assert [(completion.text, completion.start_position) for completion in found] == [
        ("go to desk 1", -7),
        ("go to desk 2", -7),
    ]


SHOP = ("SCPO-WebShop-v0", "--seed", "1")


def test_the_shop_is_played_by_hand_and_a_poor_purchase_can_be_taken_back(tmp_path: Path) -> None:
    env = gym.make("SCPO-WebShop-v0")
    _, info = env.reset(seed=1)
    search = next(command for command in info["admissible_commands"] if command.startswith("search["))
    *_, info = env.step(search)
    products = [command for command in info["admissible_commands"] if re.fullmatch(r"click\[\w{10}\]", command)]
    product = products[-1]
    lines = ["/hint", search, product, "click[buy now]", "look", "/undo", "click[buy now]", "/quit"]
    out = play(lines, *SHOP, "--out", str(tmp_path / "mine.jsonl"))
    assert f"This world has no expert. The task: {info['task']}" in " ".join(out.split())
    assert "[SEP]" not in out
    assert out.count("The end, with a reward of ") == 2
    assert "r_type" in out
    assert "This episode is over" in out
    (group,) = read_groups(tmp_path / "mine.jsonl")
    assert [step.action for step in group.rollouts[0].steps] == [search, product, "click[buy now]"]
    assert not group.rollouts[0].won
    assert 0 <= group.rollouts[0].total_reward < 1
    assert " [SEP] " in group.rollouts[0].final_observation  # the file holds what an agent sees


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no pseudo-terminals here")
def test_at_a_terminal_tab_completes_and_ctrl_c_saves(tmp_path: Path) -> None:
    import pty

    out = tmp_path / "mine.jsonl"
    process, terminal = pty.fork()
    if process == 0:  # pragma: no cover
        os.environ |= {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        os.execv(sys.executable, [sys.executable, "-m", "scpo_envs.cli", "play", "--seed", "1", "--out", str(out)])
    shown = ""

    def wait_for(text: str) -> None:
        nonlocal shown
        while text not in shown:
            readable, _, _ = select.select([terminal], [], [], 60)
            assert readable, f"{text!r} did not come, only {shown!r}"
            shown += os.read(terminal, 65536).decode(errors="replace")
        shown = shown.partition(text)[2]

    wait_for("/quit")
    wait_for(">")
    os.write(terminal, b"invent")
    wait_for("inventory")  # in the menu
    os.write(terminal, b"\t")
    wait_for("ory")  # on the line
    os.write(terminal, b"\r")
    wait_for("You are not carrying anything.")
    wait_for(">")
    os.write(terminal, b"\x03")
    wait_for("Written")
    os.waitpid(process, 0)
    (group,) = read_groups(out)
    assert [step.action for step in group.rollouts[0].steps] == ["inventory"]
