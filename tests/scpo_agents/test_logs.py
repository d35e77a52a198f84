"""What a run leaves to read beside its measurements: the groups of some iterations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scpo_envs.credit import advantages
from scpo_envs.inspect.matchers import offers
from scpo_envs.inspect.recompute import Options, Recomputer
from scpo_envs.rollouts import read_groups
from tests.scpo_agents.conftest import small_config

pytest.importorskip("torch", reason="training needs torch: pip install 'scpo-envs[train]'")
pytest.importorskip("tensorboard", reason="training logs to TensorBoard: pip install 'scpo-envs[train]'")

from scpo_agents.checkpoint import clear_run
from scpo_agents.display import Display
from scpo_agents.processes import Processes
from scpo_agents.trainer import Trainer


def train(
    out: Path,
    *,
    resume: bool = False,
    iterations: int = 5,
    every: int = 2,
    estimator: str = "scpo",
    **judged: Any,
) -> None:
    config = small_config(
        out,
        rollouts=every,
        update={"iterations": iterations},
        advantage={"estimator": estimator, **judged},
        evaluate={"every": 0},
    )
    Trainer(config, Processes(), Display(config, None)).run(resume=resume)


def kept(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((out / "rollouts").glob("*"))}


def test_groups_of_every_nth_iteration_are_kept_as_they_were_judged(tmp_path: Path) -> None:
    train(tmp_path)
    assert list(kept(tmp_path)) == ["000002.jsonl", "000004.jsonl"]
    groups = list(read_groups(tmp_path / "rollouts" / "000002.jsonl"))
    assert len(groups) == 4 and any(group.successes for group in groups)
    judged = advantages(groups, "scpo")
    for group, total in zip(groups, judged.total, strict=True):
        for rollout, gains in zip(group.rollouts, total, strict=True):
            assert [step.info["advantage"] for step in rollout.steps] == pytest.approx(gains.tolist())
            assert all(step.credit is not None for step in rollout.steps)


def test_the_inspector_finds_the_advantages_that_training_followed(tmp_path: Path) -> None:
    judged = {"reward": "success", "invalid_penalty": 0.25}
    train(tmp_path, iterations=2, **judged)
    groups = list(read_groups(tmp_path / "rollouts" / "000002.jsonl"))
    recompute, options = Recomputer(offers()), Options().defaults_of(judged)
    for group in groups:
        found = recompute(group, options)["advantages"]["scpo"]["total"]
        for rollout, gains in zip(group.rollouts, found, strict=True):
            assert [step.info["advantage"] for step in rollout.steps] == pytest.approx(gains)


def test_a_resumed_run_keeps_what_it_would_have_kept(tmp_path: Path) -> None:
    train(tmp_path / "whole")
    train(tmp_path / "part", iterations=3)
    train(tmp_path / "part", resume=True)
    assert kept(tmp_path / "part") == kept(tmp_path / "whole")


def test_estimators_without_credit_keep_advantages_alone(tmp_path: Path) -> None:
    train(tmp_path, iterations=2, estimator="grpo")
    [step, *_] = next(read_groups(tmp_path / "rollouts" / "000002.jsonl")).rollouts[0].steps
    assert step.credit is None and isinstance(step.info["advantage"], float)


def test_by_default_none_are_kept_and_clearing_a_run_removes_them(tmp_path: Path) -> None:
    train(tmp_path, iterations=2, every=0)
    assert not (tmp_path / "rollouts").exists()
    train(tmp_path, iterations=2)
    clear_run(tmp_path)
    assert list(tmp_path.iterdir()) == []
