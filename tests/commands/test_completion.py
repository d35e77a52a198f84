"""`scpo completion`: bash asks the script that it prints."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

# What bash does when Tab is pressed behind these words.
ASK = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*"
_tyro_scpo scpo "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def script(shell: str) -> str:
    command = [sys.executable, "-m", "scpo_envs.cli", "completion", shell]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    path = tmp_path_factory.mktemp("completion") / "scpo"
    path.write_text(script("bash"))
    return path


def offered(path: Path, *words: str) -> list[str]:
    done = subprocess.run(["bash", "-c", ASK, "-", path, *words], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_offers_every_command(bash_script: Path) -> None:
    assert {point.name for point in entry_points(group="scpo.commands")} <= set(offered(bash_script, "scpo", ""))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["scpo", "rol"], ["rollout"]),
        (["scpo", "rollout", "--po"], ["--policy", "--policy-arg"]),
        (["scpo", "games", "ver"], ["verify"]),
        (["scpo", "games", "list", "--sp"], ["--split"]),
        (["scpo", "shop", "serve", "--reward", ""], ["webshop", "exact"]),
        (["scpo", "nonsense", "--po"], []),
    ],
)
def test_bash_completes(bash_script: Path, words: list[str], expected: list[str]) -> None:
    assert offered(bash_script, *words) == expected


def test_bash_registers_it_with_file_names_behind(bash_script: Path) -> None:
    command = 'source "$1"; complete -p scpo'
    out = subprocess.run(["bash", "-c", command, "-", bash_script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "complete -o default -F _tyro_scpo scpo"


@pytest.mark.parametrize(("shell", "first"), [("zsh", "#compdef scpo"), ("fish", "# AUTOMATICALLY GENERATED")])
def test_other_shells_get_a_script_of_their_own(shell: str, first: str) -> None:
    text = script(shell)
    assert text.lstrip().startswith(first)
    assert "rollout" in text and "--group-size" in text


def test_fish_completes(tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("there is no fish here")
    (tmp_path / "scpo.fish").write_text(script("fish"))
    command = f"source {tmp_path / 'scpo.fish'}; complete -C 'scpo ro'"
    out = subprocess.run(["fish", "-c", command], capture_output=True, text=True, check=True).stdout
    assert out.startswith("rollout\t")


def test_an_unknown_shell_is_refused() -> None:
    command = [sys.executable, "-m", "scpo_envs.cli", "completion", "cmd.exe"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "bash" in done.stderr
