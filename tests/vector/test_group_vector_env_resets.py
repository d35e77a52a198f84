"""Resets of whole groups, and what is refused."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from scpo_envs.errors import UnknownGameError
from scpo_envs.vector import GroupVectorEnv
from tests.vector.play import play_out


def test_a_mask_resets_whole_groups_and_leaves_the_others_alone(venv: GroupVectorEnv) -> None:
    venv.reset(seed=0)
    observations, _, _, _, info = venv.step(["open vault"] * 4 + ["look"] * 8)
    options = {"reset_mask": info["group_done"], "task_type": "jade"}
    kept = dict(options)
    after, fresh = venv.reset(options=options)
    assert options == kept  # never mutated
    assert after[4:] == observations[4:] and after[0] != observations[0]
    assert set(fresh["task_type"][:4]) == {"jade"}
    assert fresh["admissible_commands"][5] == info["admissible_commands"][5]
    assert fresh["active"].all() and venv.running.all()
    _, _, _, _, info = venv.step(["look"] * 12)
    assert info["active"].all()


def test_a_reset_in_mid_episode_forgets_the_unfinished_rollouts(venv: GroupVectorEnv) -> None:
    venv.reset(seed=0)
    venv.step(["look"] * 12)
    venv.reset()
    _, _, _, _, info = venv.step(["open vault"] * 12)
    assert [len(rollout) for group in info["rollouts"][::4] for rollout in group.rollouts] == [1] * 12


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (np.arange(12) < 5, ValueError, r"cuts groups \[1\]"),
        (np.zeros(12, bool), ValueError, "selects no group"),
        (np.ones(11, bool), ValueError, r"shape \(12,\)"),
        (np.ones((3, 4), bool), ValueError, r"shape \(12,\)"),
        (np.ones(12, int), TypeError, "booleans, not int64"),
        ("all", TypeError, "booleans"),
    ],
)
def test_a_bad_mask_is_refused_and_changes_nothing(
    venv: GroupVectorEnv, mask: Any, error: type[Exception], message: str
) -> None:
    observations, info = venv.reset(seed=0)
    with pytest.raises(error, match=message):
        venv.reset(options={"reset_mask": mask})
    assert len(play_out(venv, observations, info)) == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"games": ["toy/jade/01"]}, ValueError, "each of 3 groups, not 1"),
        ({"games": "abc"}, TypeError, "not the str 'abc'"),
        ({"games": [None] * 3, "game": "toy/jade/01"}, ValueError, "both 'games'"),
        ({"games": [None, "nowhere", None]}, UnknownGameError, "nowhere"),
    ],
)
def test_bad_games_are_refused(venv: GroupVectorEnv, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        venv.reset(seed=0, options=options)


def test_a_reset_that_fails_costs_only_its_own_groups_their_episode(venv: GroupVectorEnv) -> None:
    venv.reset(seed=0)
    venv.step(["look"] * 12)
    mask = np.arange(12) < 4
    with pytest.raises(UnknownGameError) as caught:
        venv.reset(options={"reset_mask": mask, "games": ["nowhere", None, None]})
    assert caught.value.__notes__ == [
        "raised in game 'nowhere' by sibling 0 (group 0), resetting with seed "
        f"{int(np.random.SeedSequence(0, spawn_key=(0, 1)).generate_state(1)[0])}"
    ]
    with pytest.raises(ResetNeeded, match=r"groups \[0\]"):
        venv.step(["look"] * 12)
    venv.reset(options={"reset_mask": mask})
    _, _, _, _, info = venv.step(["open vault"] * 12)
    assert [[len(rollout) for rollout in group.rollouts] for group in info["rollouts"][::4]] == [
        [1] * 4,
        [2] * 4,
        [2] * 4,
    ]
    assert info["rollouts"][0].info["episode"] == 1  # the failed reset was not counted


def test_a_step_before_the_first_reset_or_a_masked_first_reset_needs_a_reset(venv: GroupVectorEnv) -> None:
    with pytest.raises(ResetNeeded):
        venv.step(["look"] * 12)
    with pytest.raises(ResetNeeded, match="leave out"):
        venv.reset(options={"reset_mask": np.arange(12) < 4})


@pytest.mark.parametrize("seed", [-1, "7", 1.5])
def test_a_bad_seed_is_refused(venv: GroupVectorEnv, seed: Any) -> None:
    with pytest.raises((TypeError, gym.error.Error)):
        venv.reset(seed=seed)
