"""The examples of the documentation run as written."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def run(name: str, *libraries: str) -> str:
    """What an example prints; any warning of ours is an error."""
    for library in libraries:
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_every_example_is_run_here() -> None:
    source = Path(__file__).read_text()
    paths = [
        path for path in EXAMPLES.glob("*.py") if not path.name.startswith("own_")
    ]  # those run in tests/test_docs.py
    assert [path.name for path in paths if f'run("{path.name}"' not in source] == []


def test_pettingzoo_siblings() -> None:
    lines = run("pettingzoo_siblings.py", "pettingzoo").splitlines()
    credit = {line.split(":")[0]: float(line.split()[-1]) for line in lines if line.startswith("sibling_")}
    assert len(credit) == 8
    assert max(credit.values()) > 0
    assert all(credit[line.split(":")[0]] == 0 for line in lines if ": won" in line)


def test_sb3_ppo_learns_bundled_games() -> None:
    rates = [float(rate) for rate in re.findall(r"success rate (\S+),", run("sb3_ppo.py", "sb3_contrib"))]
    assert max(rates[:3]) < 0.15
    assert rates[-1] > 0.25


def test_verl_scpo() -> None:
    lines = [line for line in run("verl_scpo.py", "verl").splitlines() if line.startswith("sibling")]
    assert len(lines) == 8
    assert all(line.endswith("as credit gives them") for line in lines)
    assert {line.split()[2] for line in lines} == {"won", "lost"}


def test_trl_grpo() -> None:
    out = run("trl_grpo.py", "trl")
    assert out.count("'scpo/success_rate': 0.0") == 2
    assert "the last group: " in out and "[1, 1, 1, 1] steps" in out


def test_torchrl_advantages() -> None:
    out = run("torchrl_advantages.py", "torchrl")
    credited = re.search(r"(\d+) steps with credit, (\S+) in all", out)
    assert credited and int(credited[1]) > 0 and float(credited[2]) > 0
    assert "advantages of a batch: -" in out


def test_ray_rollouts() -> None:
    lines = run("ray_rollouts.py", "ray").splitlines()
    groups = [line for line in lines if " of 8 won, credit" in line]
    assert len(groups) == 8
    assert max(float(line.split("credit")[1].split(":")[0]) for line in groups) > 0
