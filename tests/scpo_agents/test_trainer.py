"""The trainer: it learns, it does so the same way twice, and what is stopped goes on as if it had not been."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scpo_agents.config import TrainConfig
from scpo_envs.credit import advantages
from scpo_envs.rollouts import Rollout, RolloutGroup, Step
from tests.scpo_agents.conftest import small_config

torch = pytest.importorskip("torch", reason="training needs torch: pip install 'scpo-envs[train]'")
pytest.importorskip("tensorboard", reason="training logs to TensorBoard: pip install 'scpo-envs[train]'")

from scpo_agents.checkpoint import load_agent  # noqa: E402
from scpo_agents.display import Display  # noqa: E402
from scpo_agents.logs import METRICS, read_metrics  # noqa: E402
from scpo_agents.metrics import Tally  # noqa: E402
from scpo_agents.processes import Processes  # noqa: E402
from scpo_agents.trainer import Played, Trainer  # noqa: E402


def trainer(config: TrainConfig) -> Trainer:
    return Trainer(config, Processes(), Display(config, None))


def measured(out: Path) -> list[dict[str, float]]:
    """What a run has measured, without times."""
    return [
        {name: value for name, value in line.items() if not name.startswith("time/")}
        for line in read_metrics(out / METRICS)
    ]


def weights(folder: Path) -> Any:
    return torch.cat([parameter.detach().reshape(-1) for parameter in load_agent(folder).module.parameters()])


def test_it_learns_the_toy_world(tmp_path: Path) -> None:
    config = small_config(
        tmp_path,
        agent={"rows": 4096, "width": 16, "hidden": 16},
        groups={"tasks": 8, "siblings": 6},
        update={"iterations": 30, "lr": 0.02},
        evaluate={"every": 30, "games": None},
    )
    assert trainer(config).run()
    lines = measured(tmp_path)
    first, last = (line["eval/all/success"] for line in lines if "eval/all/success" in line)
    assert first < 0.4 and last > 0.8
    assert lines[-2]["success"] > 0.7 > 0.5 > lines[1]["success"]


def test_equal_seeds_train_alike_and_others_do_not(tmp_path: Path) -> None:
    runs = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        trainer(small_config(tmp_path / name, seed=seed)).run()
        runs.append((measured(tmp_path / name), weights(tmp_path / name / "last")))
    assert runs[0][0] == runs[1][0] and torch.equal(runs[0][1], runs[1][1])
    assert runs[0][0] != runs[2][0]


@pytest.mark.parametrize("stop", [1, 2])
def test_a_resumed_run_goes_on_exactly(tmp_path: Path, stop: int) -> None:
    """Also with a reference model, several epochs, and checkpoints between evaluations."""
    update = {"iterations": 4, "minibatch": 32, "epochs": 2, "kl": 0.1}
    trainer(small_config(tmp_path / "whole", update=update)).run()
    part = tmp_path / "part"
    trainer(small_config(part, update={**update, "iterations": stop}, evaluate={"every": 0})).run()
    trainer(small_config(part, update=update)).run(resume=True)
    whole = measured(tmp_path / "whole")
    after = [line for line in whole if line["iteration"] > stop]
    assert [line for line in measured(part) if line["iteration"] > stop] == after
    assert torch.equal(weights(tmp_path / "whole" / "last"), weights(part / "last"))


def test_what_a_killed_run_wrote_after_its_last_checkpoint_is_replaced(tmp_path: Path) -> None:
    trainer(small_config(tmp_path, update={"iterations": 2})).run()
    before = measured(tmp_path)
    with open(tmp_path / METRICS, "a") as file:
        file.write(json.dumps({"iteration": 3, "env_steps": 1, "success": 7.0}) + '\n{"iteration": 4, "succ')
    trainer(small_config(tmp_path, update={"iterations": 3})).run(resume=True)
    lines = measured(tmp_path)
    assert lines[: len(before)] == before
    assert [line["iteration"] for line in lines[len(before) :]] == [3, 3]
    assert all(line.get("success") != 7.0 for line in lines)


def test_ctrl_c_finishes_the_iteration_saves_and_stops(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    config = small_config(tmp_path, update={"iterations": 50}, save_every=0)
    run = trainer(config)
    run.display.iteration = lambda measured: os.kill(os.getpid(), signal.SIGINT)  # type: ignore[method-assign]
    assert run.run() is False
    again = trainer(small_config(tmp_path, update={"iterations": 2}))
    assert again.run(resume=True)
    assert [line["iteration"] for line in measured(tmp_path) if "success" in line] == [1, 2]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_twice_stops_at_once(tmp_path: Path) -> None:
    run = trainer(small_config(tmp_path))

    def impatient(measured: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    run.display.iteration = impatient  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        run.run()
    assert run._venv.closed


def test_advantages_reach_the_steps_they_are_of(tmp_path: Path) -> None:
    """One decision is judged well, one ill: the probability of the first rises, of the second falls."""
    run = trainer(small_config(tmp_path, update={"entropy": 0.0, "lr": 0.001, "minibatch": 100}))
    played = run._play(Tally())
    judged = advantages(played.groups, "grpo")
    for group in judged.total:
        for rollout in group:
            rollout[:] = 0.0
    judged.total[1][2][1], judged.total[2][0][0] = 1.0, -1.0
    good, bad = played.decisions[1][2][1], played.decisions[2][0][0]
    run._update(played, judged, Tally())
    change = run.agent.score([good, bad]).log_probs.detach().numpy() - np.concatenate([good.log_probs, bad.log_probs])
    assert change[0] > 0 > change[1]


def test_every_step_of_every_sibling_has_its_decision_and_its_credit(tmp_path: Path) -> None:
    run = trainer(small_config(tmp_path, advantage={"estimator": "scpo", "omega": 0.5}))
    played = run._play(Tally())
    judged = run._judge(played.groups)
    again = advantages(played.groups, "scpo", omega=0.5)
    for group, decisions, ours, theirs in zip(played.groups, played.decisions, judged.total, again.total, strict=True):
        for rollout, own, one, two in zip(group.rollouts, decisions, ours, theirs, strict=True):
            assert len(rollout) == len(own) == len(one)
            assert one.tolist() == two.tolist()
            for step, decision in zip(rollout.steps, own, strict=True):
                assert step.info["admissible_commands"][decision.chosen] == step.action


def test_success_alone_can_be_judged(tmp_path: Path) -> None:
    run = trainer(small_config(tmp_path, advantage={"estimator": "grpo", "norm": "none", "reward": "success"}))
    steps = [[Step("x", "y", 0.25), Step("x", "z", paid)] for paid in (0.75, 0.5)]
    group = RolloutGroup("a", [Rollout(steps[0], True), Rollout(steps[1], False)], success_reward=2.0)
    assert [own.tolist() for own in run._judge([group]).total[0]] == [[1.0, 1.0], [-1.0, -1.0]]
    assert [step.reward for step in steps[1]] == [0.25, 0.5]


def test_actions_that_are_not_admissible_can_cost_a_share_of_the_success_reward(tmp_path: Path) -> None:
    """One invalid step in a failure: by hand, with the group's mean as GRPO's baseline."""
    run = trainer(small_config(tmp_path, advantage={"estimator": "grpo", "norm": "none", "invalid_penalty": 0.1}))
    steps = [[Step("a", "b", 0.0, {"valid_action": True}), Step("a", "b", 10.0, {})]]
    steps += [[Step("a", "b", 0.0, {"valid_action": False}), Step("a", "b", 0.0, {"valid_action": True})]]
    group = RolloutGroup("t", [Rollout(steps[0], True), Rollout(steps[1], False)], success_reward=10.0)
    assert [own.tolist() for own in run._judge([group]).total[0]] == [[5.5, 5.5], [-5.5, -5.5]]
    assert [step.reward for step in steps[1]] == [0.0, 0.0]


def test_an_update_moves_the_weights_by_the_gradient_of_the_loss(tmp_path: Path) -> None:
    """One minibatch in parts of five decisions, against the loss of all of them at once."""
    sections: dict[str, Any] = {"minibatch": 10_000, "max_grad_norm": 1e9, "average": "rollout"}
    grads = []
    for part in (5, 10_000):
        run = trainer(small_config(tmp_path, update={**sections, "micro_batch": part}))
        played = run._play(Tally())
        run.optimiser.step = lambda: None
        run._update(played, run._judge(played.groups), Tally())
        grads.append([parameter.grad.clone() for parameter in run.parameters])
    for one, two in zip(*grads, strict=True):
        torch.testing.assert_close(one, two, atol=1e-7, rtol=1e-4)


@pytest.mark.parametrize("kind", ["drop", "resample"])
def test_groups_with_one_outcome_can_be_left_out_and_every_step_is_counted(tmp_path: Path, kind: str) -> None:
    config = small_config(tmp_path, groups={"tasks": 6, "siblings": 2, "one_outcome": kind, "resample_rounds": 5})
    tally, run = Tally(), trainer(config)
    played = run._play(tally)
    assert all(0 < len(group.successes) < len(group) for group in played.groups)
    kept = sum(len(rollout) for group in played.groups for rollout in group.rollouts)
    length, count = tally.sums()["length"]
    assert played.steps == length > kept
    assert len(played.groups) == len(played.decisions) <= 6
    assert (count > 12) == (kind == "resample")


def test_an_iteration_without_anything_to_learn_from_goes_by(tmp_path: Path) -> None:
    run = trainer(small_config(tmp_path, groups={"one_outcome": "drop"}))
    run._play = lambda tally: Played(steps=7)  # type: ignore[method-assign]
    before = torch.cat([parameter.detach().reshape(-1).clone() for parameter in run.parameters])
    assert run._iterate()["env_steps"] == 7
    assert torch.equal(before, torch.cat([parameter.detach().reshape(-1) for parameter in run.parameters]))


def test_games_differ_within_an_iteration_and_kinds_can_be_balanced(tmp_path: Path) -> None:
    config = small_config(
        tmp_path, env={"id": "SCPO-ALFWorld-v0"}, groups={"tasks": 12, "siblings": 1, "balanced": True}
    )
    run = trainer(config)
    drawn = [run._draw_games(iteration, 0) for iteration in range(3)]
    assert drawn[0] == run._draw_games(0, 0) != drawn[1]
    for games in drawn:
        kinds = [run._games[game] for game in games]
        assert len(set(games)) == 12 and {kinds.count(kind) for kind in kinds} == {2}
    run._venv.close()


def test_more_tasks_than_games_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"groups\.tasks=99 is more than the 16 games"):
        trainer(small_config(tmp_path, groups={"tasks": 99}))


def test_the_best_checkpoint_is_that_of_the_best_evaluation(tmp_path: Path) -> None:
    run = trainer(small_config(tmp_path, update={"iterations": 4}, evaluate={"every": 1}))
    run.run()
    shares = {
        int(line["iteration"]): line["eval/all/success"] for line in measured(tmp_path) if "eval/all/success" in line
    }
    assert list(shares) == [0, 1, 2, 3, 4]
    assert run.progress.best == max(shares.values()) == shares[run.progress.best_iteration]
    assert load_agent(tmp_path / "best").config == run.agent.config


def test_training_stops_when_enough_steps_were_played(tmp_path: Path) -> None:
    run = trainer(small_config(tmp_path, update={"iterations": 50, "env_steps": 200}))
    assert run.run()
    steps = [line["env_steps"] for line in measured(tmp_path) if "success" in line]
    assert steps[-2] < 200 <= steps[-1] if len(steps) > 1 else steps[-1] >= 200


def test_start_takes_the_weights_of_a_checkpoint(tmp_path: Path) -> None:
    trainer(small_config(tmp_path / "first", seed=4, update={"iterations": 1})).run()
    trainer(small_config(tmp_path / "second", start=str(tmp_path / "first" / "last"), update={"iterations": 0})).run()
    assert torch.equal(weights(tmp_path / "first" / "last"), weights(tmp_path / "second" / "start"))


def test_tensorboard_has_every_number(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    trainer(small_config(tmp_path)).run()
    board = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    tags = set(board.Tags()["scalars"])
    assert {
        "play/success", "play/return", "play/length", "success/brass", "groups/mixed", "credit/matched",
        "update/entropy", "update/shift", "update/clipped", "update/policy", "update/grad_norm", "eval/all/success",
        "credit/rollout", "time/act", "time/env", "time/credit", "time/update", "time/other", "time/steps_per_second",
    } <= tags  # fmt: skip
    assert [event.step for event in board.Scalars("play/success")] == [1, 2, 3]


def test_an_estimator_that_compares_groups_sees_those_of_every_process(tmp_path: Path) -> None:
    run = trainer(small_config(tmp_path, advantage={"estimator": "reinforce_pp"}))
    mine = [RolloutGroup("a", [Rollout([Step("x", "y", 1.0, {"long": "info"})], True)])]
    other = [RolloutGroup("b", [Rollout([Step("x", "y", 0.0), Step("x", "y", 0.0)], False)])]

    class Second:
        rank, count = 1, 2

        def gather(self, value: list[RolloutGroup]) -> list[list[RolloutGroup]]:
            assert value[0].rollouts[0].steps[0].info == {}
            return [other, value]

    run.processes = Second()  # type: ignore[assignment]
    judged = run._judge(mine)
    assert judged.total[0][0].tolist() == advantages([*other, *mine], "reinforce_pp").total[1][0].tolist()
    assert len(judged.total) == 1
