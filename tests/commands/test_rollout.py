"""`scpo rollout`: the file it writes and the tables it shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from scpo_envs.cli import main
from scpo_envs.commands.tables import group_table, summary_table
from scpo_envs.credit import scpo, shape
from scpo_envs.rollouts import Rollout, RolloutGroup, Step, read_groups


def shown(renderable: object, width: int = 140) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w"))
    console.print(renderable)
    console.file.close()
    return console.export_text()


@pytest.fixture
def group() -> RolloutGroup:
    """One success of three steps, and a failure that repeats two of them and strays once."""
    steps = [("the hall", "go to fridge 1"), ("a fridge", "open fridge 1"), ("cold air", "take apple 1 from fridge 1")]
    won = Rollout([Step(o, a, float(i == 2)) for i, (o, a) in enumerate(steps)], won=True)
    lost = Rollout([Step(o, a, 0.0) for o, a in [*steps[:2], ("cold air", "inventory")]], won=False, truncated=True)
    group = RolloutGroup("game-7", [lost, won], instruction="take the apple.", info={"task_type": "take"})
    return shape(group, scpo(group))


def test_a_run_writes_shaped_groups_and_shows_their_credit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "new" / "rollouts.jsonl"
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["rollout", "--groups", "3", "--group-size", "4", "--seed", "1", "--out", str(out)]) == 0
    groups = list(read_groups(out))
    assert [len(group) for group in groups] == [4, 4, 4]
    steps = [step for group in groups for rollout in group.rollouts for step in rollout.steps]
    assert all(step.credit is not None and step.shaped_reward is not None for step in steps)
    assert any(step.credit for step in steps)
    text = capsys.readouterr().out
    assert "3 groups, 12 rollouts" in text
    assert groups[0].instruction is not None


def test_equal_seeds_write_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        main(["rollout", "--groups", "2", "--group-size", "3", "--out", str(tmp_path / name)])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_table_shows_match_similarity_credit_and_shaped_reward(group: RolloutGroup) -> None:
    text = shown(group_table(group, all_steps=True))
    assert "take the apple." in text
    row = next(line for line in text.splitlines() if "go to fridge 1" in line)
    step = group.rollouts[0].steps[0]
    assert row.split()[-3:] == [f"{step.credit:.2f}", "0.00", f"{step.shaped_reward:.2f}"]
    assert "0 go to fridge 1" in row.split("1.00", 1)[1]


def test_steps_without_credit_are_folded_unless_all_are_asked_for() -> None:
    won = Rollout([Step("a", "open the blue door", 1.0)], won=True)
    lost = Rollout([Step("zzz", f"wander {index}", 0.0) for index in range(5)], won=False)
    group = RolloutGroup("t", [won, lost])
    group = shape(group, scpo(group))
    assert "5 uncredited" in shown(group_table(group))
    assert "wander 3" in shown(group_table(group, all_steps=True))


def test_a_group_with_one_outcome_says_that_there_is_no_credit() -> None:
    group = RolloutGroup("t", [Rollout([Step("a", "b", 0.0)], won=False)] * 2)
    assert "No credit" in shown(group_table(shape(group, scpo(group))))


def test_hostile_texts_are_shown_not_obeyed(group: RolloutGroup) -> None:
    group.instruction = "[bold red]x[/] \x1b[31m"
    assert "[bold red]x[/]" in shown(group_table(group))


def test_the_summary_has_a_row_for_each_kind_and_one_for_all(group: RolloutGroup) -> None:
    other = RolloutGroup("u", group.rollouts, info={"task_type": "put"})
    text = shown(summary_table([group, other]))
    assert [line.split()[0] for line in text.splitlines() if line.strip()[:3] in ("put", "tak", "all")] == [
        "put",
        "take",
        "all",
    ]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--groups", "0"], "at least 1"),
        (["--policy", "clever"], "noisy-expert"),
        (["--env-arg", "split=none"], "valid_seen"),
        (["--env-arg", "split"], "KEY=VALUE"),
    ],
)
def test_wrong_arguments_are_one_line(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", *arguments]) == 1
    assert word in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["process", "ray"])
def test_workers_of_each_kind_write_the_same_file(workers: str, tmp_path: Path) -> None:
    if workers == "ray":
        pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    files = [tmp_path / "serial.jsonl", tmp_path / "other.jsonl"]
    for file, kind in zip(files, ("serial", workers), strict=True):
        # a program of its own: a cluster outlives what started it
        command = [sys.executable, "-m", "scpo_envs.cli", "rollout", "--groups", "2", "--group-size", "4"]
        subprocess.run([*command, "--workers", kind, "--out", str(file)], check=True, capture_output=True, timeout=300)
    assert files[0].read_bytes() == files[1].read_bytes()
