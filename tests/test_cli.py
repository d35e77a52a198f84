"""The `scpo` command: finding subcommands, exit codes, messages."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated

import pytest
import tyro

import scpo_envs
from scpo_envs import cli
from scpo_envs.cli import main


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scpo_envs.cli", *arguments], input=stdin, capture_output=True, text=True, check=False
    )


def test_help_lists_every_command_with_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--help"]) == 0
    out = capsys.readouterr().out
    for point in entry_points(group="scpo.commands"):
        (line,) = {line for line in out.splitlines() if line.split()[:1] == [point.name]}
        assert len(line.split()) > 2


@pytest.mark.parametrize("command", [point.name for point in entry_points(group="scpo.commands")])
def test_every_command_explains_its_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main([command, "--help"])
    assert exit.value.code == 0
    assert "usage" in capsys.readouterr().out


def test_a_command_may_put_its_arguments_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[tuple[str, ...]] = []

    def greet(names: Annotated[tuple[str, ...], tyro.conf.Positional], *, loud: bool = False) -> None:
        got.append((*names, str(loud)))

    monkeypatch.setattr(cli, "entry_points", lambda group: [EntryPoint("greet", "x:y", group)])
    monkeypatch.setattr(EntryPoint, "load", lambda self: greet)
    monkeypatch.setattr(greet, "arrange", sorted, raising=False)
    assert main(["greet", "b", "--loud", "a"]) == 0
    assert got == [("a", "b", "True")]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"scpo-envs {scpo_envs.__version__}"


def test_an_unknown_command_lists_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rolout"]) == 2
    assert "rollout" in capsys.readouterr().err


def test_a_failure_is_one_line_not_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "show", "no-such-game"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("scpo games: the bundled set has no game 'no-such-game'")
    assert err.count("\n") == 1


def test_a_traceback_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCPO_TRACEBACK", "1")
    with pytest.raises(LookupError):
        main(["games", "show", "no-such-game"])


def test_the_module_runs_as_a_program_and_ends_with_the_exit_code() -> None:
    assert run("--version").returncode == 0
    assert run("nonsense").returncode == 2


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{sys.executable} -m scpo_envs.cli games list --ids | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("train/")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rollout", "NoSuch-v0"], "there is no environment 'NoSuch-v0'; there are SCPO-ALFWorld-v0"),
        (["rollout", "--env-arg", "splt=train"], "no argument 'splt' (did you mean 'split'?)"),
        (["rollout", "--policy", "nobody"], "unknown policy 'nobody'; there are"),
        (["play", "NoSuch-v0"], "there is no environment 'NoSuch-v0'"),
        (["play", "--seed", "-1"], "Seed must be greater or equal to zero"),
        (["plot", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_right(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
