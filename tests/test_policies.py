"""Collecting groups: which episodes are played, in which order, and what a policy sees."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.vector import AutoresetMode

import scpo_envs  # noqa: F401  (registers the ids)
from scpo_envs import policies
from scpo_envs.policies import Turn, collect, make_policy


def venv(groups: int = 3, size: int = 2, **arguments: Any) -> Any:
    return gym.make_vec("SCPO-ALFWorld-v0", num_envs=groups * size, group_size=size, max_episode_steps=6, **arguments)


class Scripted:
    """Says `look`, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Sequence[Turn]] = []

    def act(self, turns: Sequence[Turn]) -> list[str]:
        self.asked.append(turns)
        return ["look"] * len(turns)


def test_as_many_groups_as_asked_in_the_order_of_their_episodes() -> None:
    groups = list(collect(venv(), make_policy("random"), groups=7, seed=4))
    assert [group.info["episode"] for group in groups] == [0, 0, 0, 1, 1, 1, 2]
    assert all(len(group) == 2 and all(len(rollout) <= 6 for rollout in group.rollouts) for group in groups)


def test_equal_seeds_give_equal_groups_whatever_runs_them() -> None:
    serial = [group.to_json() for group in collect(venv(), make_policy("random", seed=1), groups=5, seed=0)]
    process = venv(workers="process", num_workers=2)
    assert [group.to_json() for group in collect(process, make_policy("random", seed=1), groups=5, seed=0)] == serial
    process.close()


def test_a_policy_sees_observation_info_and_where_episodes_begin() -> None:
    policy = Scripted()
    groups = list(collect(venv(groups=1), policy, groups=2, seed=0))
    begins = [turn.sibling for turns in policy.asked for turn in turns if turn.first]
    assert begins == [0, 1, 0, 1]
    for turns in policy.asked:
        for turn in turns:
            assert "look" in turn.info["admissible_commands"]
            assert not any(key.startswith("_") for key in turn.info)
    assert policy.asked[0][0].observation == groups[0].rollouts[0].steps[0].observation
    assert policy.asked[6][0].observation == groups[1].rollouts[0].steps[0].observation


def test_steps_are_counted() -> None:
    counted: list[int] = []
    groups = list(collect(venv(), make_policy("random"), groups=4, seed=0, on_step=counted.append))
    assert sum(counted) == sum(len(rollout) for group in groups for rollout in group.rollouts)


def test_cover_plays_each_game_once() -> None:
    env = venv(groups=4, size=1, sampler="cover", split="valid_seen")
    (ids,) = {env.get_attr("game_ids")[0]}
    tasks = [group.task for group in collect(env, Scripted(), seed=0)]
    assert tasks == list(ids)


def test_options_of_the_first_reset_name_games() -> None:
    env = venv(groups=2, size=1)
    ids = env.get_attr("game_ids")[0][5:7]
    assert [group.task for group in collect(env, Scripted(), groups=2, seed=0, options={"games": ids})] == list(ids)


def test_a_policy_that_forgets_a_turn_is_an_error() -> None:
    class Forgetful:
        def act(self, turns: Sequence[Turn]) -> list[str]:
            return ["look"] * (len(turns) - 1)

    with pytest.raises(ValueError, match="zip"):
        list(collect(venv(), Forgetful(), groups=3, seed=0))


def test_too_few_groups_and_other_vector_envs_are_refused() -> None:
    with pytest.raises(ValueError, match="3 groups at once"):
        list(collect(venv(), Scripted(), groups=2))
    with pytest.raises(ValueError, match=r"collect resets groups itself: .*autoreset_mode=AutoresetMode.DISABLED"):
        list(collect(venv(size=1, autoreset_mode=AutoresetMode.SAME_STEP), Scripted(), groups=3))
    with pytest.raises(TypeError, match="GroupVectorEnv"):
        list(collect(gym.make_vec("CartPole-v1", num_envs=2), Scripted()))


def test_an_unknown_policy_lists_those_there_are() -> None:
    with pytest.raises(ValueError, match="random"):
        make_policy("clever")


def test_what_follows_a_colon_is_the_policy_s_target(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    point = EntryPoint("parrot", "tests.test_policies:Scripted", policies.GROUP)
    monkeypatch.setattr(policies, "entry_points", lambda group: [point])
    monkeypatch.setattr(EntryPoint, "load", lambda self: lambda **options: made.append(options))
    make_policy("parrot:a:b", seed=3, loud=True)
    assert made == [{"seed": 3, "loud": True, "target": "a:b"}]
