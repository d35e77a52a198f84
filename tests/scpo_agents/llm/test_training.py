"""The language model in the trainer: it clones, learns, resumes exactly, and in a folder of its own is evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from scpo_agents.config import TrainConfig
from scpo_agents.recipe import parse_config, plain
from scpo_envs.policies import make_policy
from scpo_envs.rollouts import Rollout, RolloutGroup, Step, write_groups
from tests.scpo_agents.conftest import TOY, small_config
from tests.scpo_agents.llm.conftest import SIZE, turn

torch = pytest.importorskip("torch", reason="the language-model agent needs torch: pip install 'scpo-envs[llm]'")
for name in ("transformers", "tensorboard"):
    pytest.importorskip(name, reason=f"training it needs {name}: pip install 'scpo-envs[llm]'")

from scpo_agents.logs import METRICS, read_metrics  # noqa: E402
from scpo_agents.metrics import Tally  # noqa: E402
from tests.scpo_agents.test_trainer import measured, trainer  # noqa: E402

pytestmark = pytest.mark.slow
MODES = [("think", "window"), ("choose", "transcript"), ("score", "transcript")]


def config(
    out: Path, *, iterations: int = 2, reply: str = "choose", context: str = "transcript", **sections: Any
) -> TrainConfig:
    """A run of seconds, with a tiny model."""
    update = {"iterations": iterations, "micro_batch": 16, "shuffle": "rollouts", **sections.pop("update", {})}
    tree = plain(small_config(out, update=update, **sections))
    agent = {**SIZE, "name": "llm", "words": [TOY], "reply": reply, "context": context}
    return parse_config({**tree, "agent": agent})


@pytest.mark.parametrize(("reply", "context"), MODES)
def test_a_run_that_is_resumed_writes_what_it_would_have_written(tmp_path: Path, reply: str, context: str) -> None:
    kl = {"kl": 0.1, "epochs": 2}
    whole, parts = (
        config(tmp_path / name, iterations=3, reply=reply, context=context, update=kl) for name in ("whole", "parts")
    )
    assert trainer(whole).run()
    assert trainer(config(tmp_path / "parts", iterations=1, reply=reply, context=context, update=kl)).run()
    assert trainer(parts).run(resume=True)
    one, two = (
        {line["iteration"]: line for line in measured(path) if "success" in line}
        for path in (tmp_path / "whole", tmp_path / "parts")
    )
    assert one == two and set(one) == {1, 2, 3}
    assert all(np.isfinite(value) for line in one.values() for value in line.values())
    assert any(line["update/grad_norm"] > 0 for line in one.values())


def test_cloning_teaches_it_and_its_checkpoint_is_a_policy(tmp_path: Path) -> None:
    """Demonstrations of a player who knows the toy world: success goes from nothing to more than half."""
    demonstrate(tmp_path / "toy.jsonl")
    clone = {"rollouts": str(tmp_path / "toy.jsonl"), "epochs": 15, "batch": 8, "shuffle": "rollouts", "lr": 0.01}
    run = trainer(config(tmp_path, iterations=0, clone=clone, evaluate={"games": 16, "greedy": True}))
    losses: list[float] = []
    run.display.epoch = lambda epoch, loss: losses.append(loss)  # type: ignore[method-assign]
    run.run()
    assert losses[-1] < losses[0] / 3
    assert run.progress.best is not None and run.progress.best > 0.5
    policy = make_policy(f"checkpoint:{tmp_path / 'start'}", seed=1)
    (action,) = policy.act([turn(0, "look", "wait")])
    assert action in ("look", "wait")


def demonstrate(path: Path) -> None:
    """Write a rollout of each toy game, as the world's own expert plays it."""
    env = gym.make(TOY, expert=True)
    groups = []
    for game in env.unwrapped.game_ids:  # type: ignore[attr-defined]
        observation, info = env.reset(options={"game": game})
        steps, over = [], False
        while not over:
            action = info["expert_action"]
            step = Step(observation, action, 0.0, {"admissible_commands": list(info["admissible_commands"])})
            observation, step.reward, terminated, truncated, info = env.step(action)
            steps.append(step)
            over = terminated or truncated
        groups.append(RolloutGroup(game, [Rollout(steps, info["won"])], instruction=info["task"]))
    write_groups(path, groups)


def test_what_it_measures_of_itself_is_logged(tmp_path: Path) -> None:
    trainer(config(tmp_path, reply="think", context="window", iterations=1)).run()
    (line,) = (line for line in read_metrics(tmp_path / METRICS) if "success" in line)
    assert 0 < line["act/tokens"] <= 10 and 0 <= line["act/cut"] <= 1 and line["act/forgotten"] == 0


def test_an_update_moves_each_decision_along_its_advantage(tmp_path: Path) -> None:
    update = {"lr": 0.001, "minibatch": 10_000, "entropy": 0.0}
    sections: dict[str, Any] = {"groups": {"tasks": 4, "siblings": 8}, "advantage": {"estimator": "grpo"}}
    run = trainer(config(tmp_path, update=update, **sections))
    played = run._play(Tally())
    for group in played.groups:  # outcomes are dealt out, so that there is something to learn in each group
        for index, rollout in enumerate(group.rollouts):
            rollout.won = index % 2 == 0
            for step in rollout.steps:
                step.reward = 0.0
            rollout.steps[-1].reward = float(rollout.won)
    judged = run._judge(played.groups)
    before = likelihoods(run.agent, played)
    run._update(played, judged, Tally())
    moved = likelihoods(run.agent, played) - before
    gains = np.array([gain for group in judged.total for rollout in group for gain in rollout])
    assert (moved * gains).sum() > 0 and (gains > 0).any() and (gains < 0).any()


def likelihoods(agent: Any, played: Any) -> np.ndarray[Any, Any]:
    """The mean log-probability of each decision's tokens."""
    with torch.no_grad():
        return np.array(
            [
                float(agent.score([decision]).log_probs.sum()) / max(1, len(decision.log_probs))
                for group in played.decisions
                for rollout in group
                for decision in rollout
            ]
        )


def test_success_rises_by_reinforcement_alone(tmp_path: Path) -> None:
    """From random weights, in the toy world, with SCPO."""
    update = {"lr": 0.005, "minibatch": 256, "micro_batch": 256, "entropy": 0.0}
    sections: dict[str, Any] = {"groups": {"tasks": 8, "siblings": 8}, "evaluate": {"every": 0}}
    trainer(config(tmp_path, iterations=25, update=update, **sections)).run()
    success = [line["success"] for line in read_metrics(tmp_path / METRICS)]
    assert np.mean(success[-5:]) > np.mean(success[:2]) + 0.1, success
