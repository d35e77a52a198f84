"""`scpo train` and `scpo clone` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scpo_envs.cli import main
from scpo_envs.policies import make_policy
from scpo_envs.rollouts import read_groups
from tests.scpo_agents.conftest import TOY

pytest.importorskip("torch", reason="training needs torch: pip install 'scpo-envs[train]'")
pytest.importorskip("yaml", reason="recipes are YAML: pip install 'scpo-envs[train]'")
pytest.importorskip("tensorboard", reason="training logs to TensorBoard: pip install 'scpo-envs[train]'")

RECIPE = f"""
env: {{id: {TOY}}}
agent: {{rows: 512, width: 8, hidden: 8}}
groups: {{tasks: 3, siblings: 2}}
update: {{iterations: 2}}
evaluate: {{splits: [all], games: 4}}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path / "recipe.yaml"


def test_a_run_its_continuation_and_its_policy(recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert main(["train", str(recipe), f"out={out}", "seed=3"]) == 0
    assert main(["train", str(recipe), f"out={out}", "seed=3", "update.iterations=3", "--resume"]) == 0
    iterations = [json.loads(line)["iteration"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert iterations == [0, 1, 2, 2, 3, 3]
    rollouts = tmp_path / "rollouts.jsonl"
    agent = ["--agent", f"checkpoint:{out / 'last'}", "--policy-arg", "greedy=true"]
    assert main(["rollout", TOY, *agent, "--groups", "2", "--group-size", "3", "--out", str(rollouts)]) == 0
    first, second = read_groups(rollouts)
    assert len({tuple(step.action for step in rollout.steps) for rollout in first.rollouts}) == 1
    assert len(second) == 3


def test_an_earlier_run_is_not_replaced_by_accident(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["train", str(recipe), f"out={tmp_path / 'run'}", "update.iterations=1"]
    assert main(arguments) == 0
    before = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    assert main(arguments) == 1
    assert "--resume" in capsys.readouterr().err
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == before
    assert main([*arguments, "--overwrite", "seed=7"]) == 0
    assert json.loads((tmp_path / "run" / "last" / "config.json").read_text())["seed"] == 7


@pytest.mark.parametrize(
    ("override", "word"),
    [
        ("groups.tasks=999", "groups.tasks=999"),
        ("start=nowhere", "nowhere is no checkpoint"),
        ("start={out}/last", "start="),
        ("start={out}/../run/best", "start="),
        ("clone.rollouts={out}/rollouts/000001.jsonl", "clone.rollouts="),
    ],
)
def test_a_run_that_cannot_begin_replaces_none(
    recipe: Path, tmp_path: Path, override: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    arguments = ["train", str(recipe), f"out={out}", "update.iterations=1", "rollouts=1"]
    assert main(arguments) == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert main([*arguments, "--overwrite", override.format(out=out)]) == 1
    assert word in capsys.readouterr().err
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["update.lrr=1"], "update.lrr"),
        (["--resume"], "no checkpoint"),
        (["env.num_game=3"], "did you mean 'num_games'"),
        (["groups.tasks=999"], "groups.tasks=999"),
        (["start=nowhere"], "nowhere"),
        (["clone.episodes=3", "clone.policy=clever"], "clever"),
        (["advantage.matcher=embedding", "advantage.matcher_options={modle: x}"], "modle"),
    ],
)
def test_a_wrong_call_is_one_line(
    recipe: Path, tmp_path: Path, arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    overrides = [one for one in arguments if "=" in one]
    flags = [one for one in arguments if "=" not in one]
    assert main(["train", str(recipe), f"out={tmp_path / 'run'}", *overrides, *flags]) == 1
    error = capsys.readouterr().err
    assert word in error and len(error.splitlines()) == 1


def test_a_clone_is_written_once(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["clone", str(recipe), f"out={tmp_path / 'run'}", "env.id=SCPO-ALFWorld-v0"]
    assert main(arguments) == 1
    assert "clone.episodes" in capsys.readouterr().err
    arguments += ["clone.episodes=4", "clone.epochs=2"]
    assert main(arguments) == 0
    assert make_policy(f"checkpoint:{tmp_path / 'run' / 'start'}")
    assert main(arguments) == 1
    assert "holds a checkpoint already" in capsys.readouterr().err
