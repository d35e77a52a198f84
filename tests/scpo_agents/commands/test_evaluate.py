"""`scpo evaluate`: the table, the files, and going on where it was broken off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scpo_agents.commands import evaluate as command
from scpo_envs.cli import main
from tests.scpo_agents.conftest import TOY


def run(out: Path, *more: str, policy: str = "random") -> int:
    return main(["evaluate", TOY, "--policy", policy, "--out", str(out), *more])


def test_each_game_once_in_table_results_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "results.jsonl"
    assert run(out, "--parallel", "3") == 0
    header, *results = map(json.loads, out.read_text().splitlines())
    assert (header["schema"], header["policy"], header["seed"]) == ("scpo-evaluation/1", "random", 0)
    assert len({result["game"] for result in results}) == len(results) == 16
    summary = json.loads((tmp_path / "new" / "results.summary.json").read_text())["summary"]
    assert summary["all"]["games"] == 16 and list(summary) == ["brass", "jade", "all"]
    assert "95 % interval" in " ".join(capsys.readouterr().out.split())


def test_what_was_broken_off_goes_on_and_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the last line was cut short. (The expert's play depends on the game alone.)"""
    options = ["--policy", "expert", "--split", "valid_seen", "--games", "6", "--parallel", "1"]
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    assert main(["evaluate", *options, "--out", str(whole)]) == 0
    lines = whole.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:3]) + lines[3][:20])
    played: list[int] = []
    original = command.play_games

    def counted(policy: Any, env: str, games: Any, **more: Any) -> Any:
        played.append(len(games))
        return original(policy, env, games, **more)

    monkeypatch.setattr(command, "play_games", counted)
    assert main(["evaluate", *options, "--out", str(part)]) == 0
    assert played == [4]
    assert part.read_bytes() == whole.read_bytes()
    assert main(["evaluate", *options, "--out", str(part)]) == 0
    assert played == [4, 0]


def test_results_of_another_evaluation_are_kept_and_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results.jsonl"
    assert run(out, "--games", "4") == 0
    before = out.read_bytes()
    for more, word in ((["--games", "5"], "games=4, not 5"), (["--games", "4", "--seed", "1"], "seed=0, not 1")):
        assert run(out, *more) == 1
        assert word in capsys.readouterr().err
    assert out.read_bytes() == before


@pytest.mark.parametrize("text", ["[1]\n", '{"schema": "other/1"}\n', "not json\n", "[" * 200_000 + "\n"])
def test_a_file_that_is_none_of_ours_is_refused_and_kept(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results.jsonl"
    out.write_text(text)
    assert run(out) == 1
    assert "results.jsonl" in capsys.readouterr().err
    assert out.read_text() == text


def test_a_damaged_line_is_told_by_its_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results.jsonl"
    assert run(out, "--games", "3") == 0
    lines = out.read_text().splitlines()
    lines[2] = '{"game": "x"}'
    out.write_text("\n".join(lines) + "\n")
    assert run(out, "--games", "3") == 1
    assert "line 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["random", "--games", "0"], "--games"),
        (["random", "Nowhere-v0"], "Nowhere"),
        (["clever"], "unknown policy"),
        (["checkpoint:nowhere"], "nowhere"),
        (["openai:ftp://x"], "http(s) URL"),
        (["random", "--split", "valid_unsen"], "valid_unseen"),
    ],
)
def test_a_wrong_call_is_one_line(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    if arguments[0].startswith("checkpoint"):
        pytest.importorskip("torch", reason="checkpoints need torch: pip install 'scpo-envs[train]'")
    assert main(["evaluate", "--policy", *arguments]) == 1
    assert word in capsys.readouterr().err


def test_agent_is_another_name_of_the_policy_option(tmp_path: Path) -> None:
    assert main(["evaluate", TOY, "--agent", "random", "--games", "2"]) == 0
