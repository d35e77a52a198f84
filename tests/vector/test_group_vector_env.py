from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from scpo_envs.errors import SiblingMismatchError
from scpo_envs.vector import GroupVectorEnv
from tests.toy import STEP_LIMIT, ToyEnv, make_perilous, make_toy
from tests.vector.play import Players, make_expert_toy, play_out, transcript


def winning(venv: GroupVectorEnv, info: dict[str, Any]) -> list[Any]:
    return list(info["expert_action"])


# Groups


def test_siblings_share_task_and_start(venv: GroupVectorEnv) -> None:
    observations, info = venv.reset(seed=5)
    for group in range(3):
        siblings = slice(4 * group, 4 * group + 4)
        assert len(set(observations[siblings])) == 1
        assert len(set(info["task_id"][siblings])) == 1
    assert info["group"].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("seed", [0, 7, 2**40])
def test_group_g_begins_with_the_game_of_seed_plus_g(venv: GroupVectorEnv, seed: int) -> None:
    observations, info = venv.reset(seed=seed)
    env = make_toy()
    for group in range(3):
        observation, single = env.reset(seed=seed + group)
        assert observations[4 * group] == observation
        assert info["game"][4 * group] == single["game"]


def test_an_episode_depends_on_seed_group_and_number_alone(venv: GroupVectorEnv) -> None:
    def games(order: list[list[int]]) -> dict[tuple[int, int], str]:
        """The game of (group, number), for groups that are reset in this order."""
        _, info = venv.reset(seed=3)
        seen = {(group, 0): info["game"][4 * group] for group in range(3)}
        for groups in order:
            mask = np.isin(info["group"], groups)
            _, info = venv.reset(options={"reset_mask": mask})
            for group in groups:
                seen[group, max(number for g, number in seen if g == group) + 1] = info["game"][4 * group]
        return seen

    together = games([[0, 1, 2]] * 4)
    apart = games([[2], [2], [1, 2], [0], [0, 1], [0, 2], [0, 1], [1]])
    assert together == apart
    assert len({together[1, number] for number in range(5)}) > 1


def test_the_same_seed_gives_the_same_transcript_and_another_a_different_one(venv: GroupVectorEnv) -> None:
    first = transcript(venv, seed=11)
    assert transcript(venv, seed=11) == first
    assert transcript(venv, seed=12) != first


def test_an_unseeded_reset_draws_a_seed_once_and_then_goes_on(venv: GroupVectorEnv) -> None:
    venv.np_random = np.random.default_rng(1)
    one = [venv.reset()[1]["game"].tolist() for _ in range(4)]
    other = GroupVectorEnv(make_expert_toy, num_envs=12, group_size=4)
    other.np_random = np.random.default_rng(1)
    assert [other.reset()[1]["game"].tolist() for _ in range(4)] == one
    assert len({tuple(games) for games in one}) > 1


def test_named_games_set_the_tasks_and_none_leaves_one_to_the_seed(venv: GroupVectorEnv) -> None:
    by_seed = venv.reset(seed=1)[1]["game"][4]
    _, info = venv.reset(seed=1, options={"games": ["toy/jade/03", None, "toy/brass/08"]})
    assert info["game"][::4].tolist() == ["toy/jade/03", by_seed, "toy/brass/08"]


def test_other_options_go_to_every_environment(venv: GroupVectorEnv) -> None:
    for seed in range(4):
        assert set(venv.reset(seed=seed, options={"task_type": "jade"})[1]["task_type"]) == {"jade"}


def test_siblings_that_start_differently_are_an_error_that_names_the_game() -> None:
    count = iter(range(100))

    class Uneven(ToyEnv):
        def __init__(self) -> None:
            super().__init__()
            self.number = next(count)

        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Any]:
            observation, info = super().reset(seed=seed, options=options)
            return f"{observation} Draught {self.number}.", info

    venv = GroupVectorEnv(Uneven, num_envs=2, group_size=2)
    with pytest.raises(SiblingMismatchError, match=r"toy/jade/01.*Draught 0.*Draught 1"):
        venv.reset(options={"games": ["toy/jade/01"]})


# Steps and ends


def test_a_finished_sibling_idles_until_its_group_is_done(venv: GroupVectorEnv) -> None:
    observations, info = venv.reset(seed=0)
    observations, _, terminated, truncated, info = venv.step(["open vault"] * 4 + ["look"] * 8)
    assert terminated.tolist() == [True] * 4 + [False] * 8
    last = observations[0]
    players = Players(12)
    while venv.running.any():
        actions: list[Any] = players(venv, observations, info)
        actions[:4] = [None, 5, "open vault", b"\xff"]  # whatever stands there is not looked at
        observations, rewards, terminated, truncated, info = venv.step(actions)
        assert observations[0] == last
        assert not rewards[:4].any() and not terminated[:4].any() and not truncated[:4].any()
        assert not info["active"][:4].any()
        assert not info["_admissible_commands"][:4].any()
        assert info["admissible_commands"][0] is None


def test_flags_are_true_on_the_final_step_only_and_each_rollout_ends_once(venv: GroupVectorEnv) -> None:
    observations, info = venv.reset(seed=2)
    ends = np.zeros(12, int)
    players = Players(12)
    while venv.running.any():
        running = venv.running
        observations, _, terminated, truncated, info = venv.step(players(venv, observations, info))
        assert not (terminated & truncated).any()
        assert not ((terminated | truncated) & ~running).any()
        assert (info["active"] == running).all()
        ends += terminated | truncated
    assert (ends == 1).all()


def test_the_step_limit_truncates(venv: GroupVectorEnv) -> None:
    venv.reset(seed=0)
    for _ in range(STEP_LIMIT - 1):
        _, _, _, truncated, info = venv.step(["look"] * 12)
        assert not truncated.any() and not info["group_done"].any()
    _, _, terminated, truncated, info = venv.step(["look"] * 12)
    assert truncated.all() and not terminated.any() and info["group_done"].all()
    assert all(rollout.truncated and not rollout.won for rollout in info["rollouts"][0].rollouts)


def test_a_win_on_the_last_step_allowed_is_terminated_only() -> None:
    venv = GroupVectorEnv(lambda: make_toy(expert=True, max_episode_steps=4), num_envs=2, group_size=2)
    _, info = venv.reset(seed=0)
    for _ in range(4):  # go, take, go back, open
        _, rewards, terminated, truncated, info = venv.step(winning(venv, info))
    assert terminated.all() and not truncated.any() and (rewards == 1).all()
    assert all(rollout.won and not rollout.truncated for rollout in info["rollouts"][0].rollouts)


def test_stepping_when_nobody_is_running_is_an_idle_step(venv: GroupVectorEnv) -> None:
    venv.reset(seed=0)
    before = venv.step(["open vault"] * 12)[0]
    observations, rewards, terminated, truncated, info = venv.step([None] * 12)  # type: ignore[list-item]
    assert observations == before
    assert not (rewards.any() or terminated.any() or truncated.any() or info["active"].any())
    assert not info["group_done"].any() and not info["_rollouts"].any()


# Rollouts


def test_a_group_that_ends_hands_out_its_rollouts_at_its_first_sibling(venv: GroupVectorEnv) -> None:
    observations, info = venv.reset(seed=4)
    tasks, instructions = info["task_id"][::4].tolist(), info["task"][::4].tolist()
    first = observations[::4]
    groups = play_out(venv, observations, info)
    assert sorted(group.task for group in groups) == sorted(tasks)
    for group in groups:
        index = tasks.index(group.task)
        assert group.instruction == instructions[index]
        assert group.info == {
            "game": tasks[index],
            "task_type": tasks[index].split("/")[1],
            "dialect": "toy",
            "seed": 4 + index,
            "episode": 0,
        }
        assert len(group.rollouts) == 4
        assert {rollout.steps[0].observation for rollout in group.rollouts} == {first[index]}


def test_rollouts_hold_what_the_agent_saw_and_did(venv: GroupVectorEnv) -> None:
    observations, info = venv.reset(seed=6)
    players = Players(12)
    seen: list[list[Any]] = [[] for _ in range(12)]
    groups = {}
    while venv.running.any():
        actions = players(venv, observations, info)
        before, commands, experts = observations, info["admissible_commands"], info["expert_action"]
        observations, rewards, _, _, info = venv.step(actions)
        for sibling in np.flatnonzero(info["active"]):
            kept = {"admissible_commands": commands[sibling], "expert_action": experts[sibling]}
            kept["valid_action"] = info["valid_action"][sibling]
            if info["invalid_reason"][sibling] is not None:
                kept["invalid_reason"] = info["invalid_reason"][sibling]
            seen[sibling].append((before[sibling], actions[sibling], rewards[sibling], kept))
        groups |= {int(info["group"][at]): info["rollouts"][at] for at in np.flatnonzero(info["_rollouts"])}
    for sibling, steps in enumerate(seen):
        rollout = groups[sibling // 4].rollouts[sibling % 4]
        assert [(step.observation, step.action, step.reward, step.info) for step in rollout.steps] == steps
        assert rollout.final_observation == observations[sibling]
    assert any(
        step.info["valid_action"] is False for group in groups.values() for r in group.rollouts for step in r.steps
    )


def test_rollouts_share_the_texts_of_the_environment(venv: GroupVectorEnv) -> None:
    observations, info = venv.reset(seed=6)
    commands = info["admissible_commands"][0]
    _, _, _, _, info = venv.step(["open vault"] * 12)
    step = info["rollouts"][0].rollouts[0].steps[0]
    assert step.observation is observations[0]
    assert step.info["admissible_commands"] is commands


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_the_success_reward_is_what_the_environment_pays(scale: float) -> None:
    venv = GroupVectorEnv(lambda: make_toy(expert=True, reward_scale=scale), num_envs=1)
    _, info = venv.reset(seed=0)
    while venv.running.any():
        _, _, _, _, info = venv.step(winning(venv, info))
    assert info["rollouts"][0].success_reward == scale == info["rollouts"][0].rollouts[0].total_reward


# Actions


@pytest.mark.parametrize(
    ("actions", "error", "message"),
    [
        (["look"] * 11, ValueError, "expected 12 actions.* got 11"),
        ("look at this", TypeError, "got one str"),
        (["look"] * 11 + [3], TypeError, "sibling 11 must be a str, not 3"),
        ([None] * 12, TypeError, "sibling 0"),
        ([b"look"] * 12, TypeError, "bytes"),
        (7, TypeError, "int"),
    ],
)
def test_bad_actions_are_refused_before_anything_steps(
    venv: GroupVectorEnv, actions: Any, error: type[Exception], message: str
) -> None:
    venv.reset(seed=0)
    with pytest.raises(error, match=message):
        venv.step(actions)
    _, _, _, _, info = venv.step(["open vault"] * 12)
    assert len(info["rollouts"][0].rollouts[0]) == 1


@pytest.mark.parametrize("kind", [tuple, list, np.array, lambda actions: np.array(actions, object), iter])
def test_any_sequence_of_strings_is_an_action(venv: GroupVectorEnv, kind: Any) -> None:
    venv.reset(seed=0)
    _, _, _, _, info = venv.step(kind(["open vault"] * 12))
    assert type(info["rollouts"][0].rollouts[0].steps[0].action) is str


@pytest.mark.parametrize("action", ["", "x" * 100_000, "\x00\x1b[2J\r\n", "\ud800", "前へ", "اذهب", "🗝️" * 40])
def test_hostile_text_comes_through_whole(venv: GroupVectorEnv, action: str) -> None:
    venv.reset(seed=0)
    observations, _, _, _, info = venv.step([action] * 12)
    assert not info["valid_action"].any()
    assert observations in venv.observation_space
    _, _, _, _, info = venv.step(["open vault"] * 12)
    assert info["rollouts"][0].rollouts[0].steps[0].action == action


# Infos, spaces, modes


def test_every_info_value_has_one_entry_per_sibling_and_a_mask(venv: GroupVectorEnv) -> None:
    observations, info = venv.reset(seed=9)
    players = Players(12)
    while True:
        for key in [key for key in info if not key.startswith("_")]:
            mask = info[f"_{key}"]
            assert info[key].shape == mask.shape == (12,) and mask.dtype == np.bool_
            assert info[key].flags.writeable
        if not venv.running.any():
            break
        observations, _, _, _, info = venv.step(players(venv, observations, info))
    assert len({len(commands) for commands in venv.reset(seed=1)[1]["admissible_commands"]}) > 1  # ragged


def test_spaces_hold_what_comes_and_goes(venv: GroupVectorEnv) -> None:
    observations, _ = venv.reset(seed=0)
    assert observations in venv.observation_space
    assert venv.single_observation_space.contains(observations[0])
    actions = venv.action_space.sample()
    assert actions in venv.action_space
    assert venv.step(actions)[0] in venv.observation_space


def test_the_metadata_tell_the_autoreset_mode(venv: GroupVectorEnv) -> None:
    assert venv.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    assert venv.metadata["render_modes"] == ["ansi"]
    assert "autoreset_mode" not in ToyEnv.metadata


def test_same_step_autoreset_keeps_the_true_last_observation() -> None:
    venv = GroupVectorEnv(make_expert_toy, num_envs=3, autoreset_mode=AutoresetMode.SAME_STEP)
    assert venv.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    venv.reset(seed=0)
    observations, _, terminated, _, info = venv.step(["open vault", "look", "look"])
    assert terminated.tolist() == [True, False, False]
    assert info["final_obs"].tolist() == ["An alarm goes off.", None, None]
    assert info["_final_obs"].tolist() == info["_final_info"].tolist() == [True, False, False]
    assert info["final_info"]["admissible_commands"][0] == () and info["final_info"]["_won"].tolist() == [
        True,
        False,
        False,
    ]
    assert observations[0].startswith("Open the vault")
    assert info["admissible_commands"][0] != () and info["active"].all() and venv.running.all()
    assert info["rollouts"][0].rollouts[0].final_observation == "An alarm goes off."
    other = GroupVectorEnv(make_expert_toy, num_envs=3)
    other.reset(seed=0)
    assert other.reset()[0][0] == observations[0]  # the same next episode as with resets by hand
    _, _, _, _, info = venv.step(["look"] * 3)
    assert "final_obs" not in info and not info["_rollouts"].any()


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, "SameStep", AutoresetMode.NEXT_STEP, "never"])
def test_groups_allow_no_other_autoreset(mode: Any) -> None:
    with pytest.raises(ValueError):
        GroupVectorEnv(make_toy, num_envs=4, group_size=2, autoreset_mode=mode)


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_envs": 7, "group_size": 2},
        {"num_envs": 0},
        {"group_size": 0},
        {"workers": "threads"},
        {"sampler": "all"},
        {"on_worker_loss": "ignore"},
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must be"):
        GroupVectorEnv(make_toy, **{"num_envs": 4, **wrong})


def test_gymnasium_s_vector_wrappers_work_on_it(venv: GroupVectorEnv) -> None:
    wrapped = DictInfoToList(RecordEpisodeStatistics(venv))
    wrapped.reset(seed=0)
    infos: Any = wrapped.step(["open vault"] * 4 + ["look"] * 8)[4]
    assert infos[0]["episode"]["l"] == 1 and "episode" not in infos[4]
    assert infos[0]["rollouts"].task and "rollouts" not in infos[1]


def test_attributes_and_methods_of_each_environment_can_be_reached(venv: GroupVectorEnv) -> None:
    venv.reset(seed=0)
    assert venv.get_attr("success_reward") == (1.0,) * 12
    snapshots = venv.call("snapshot")
    assert snapshots[0] == snapshots[3] != snapshots[4]
    venv.set_attr("success_reward", 5.0)
    venv.set_attr("tag", list(range(12)))
    assert venv.get_attr("success_reward") == (5.0,) * 12
    assert venv.get_attr("tag") == tuple(range(12))
    with pytest.raises(ValueError, match="each of 12"):
        venv.set_attr("tag", [1, 2])


def test_render_gives_one_frame_each() -> None:
    venv = GroupVectorEnv(lambda: make_toy(render_mode="ansi"), num_envs=2)
    venv.reset(seed=0)
    assert venv.render_mode == "ansi"
    assert venv.render() == ("[hall] holding None",) * 2


def test_a_closed_env_says_so(venv: GroupVectorEnv) -> None:
    venv.close()
    venv.close()
    for use in (venv.reset, lambda: venv.step(["look"] * 12), lambda: venv.call("snapshot")):
        with pytest.raises(ClosedEnvironmentError):
            use()


def test_an_error_of_an_environment_names_the_game_and_asks_for_a_reset() -> None:
    venv = GroupVectorEnv(make_perilous, num_envs=4, group_size=2)
    venv.reset(options={"games": ["toy/jade/05", "toy/brass/06"]})
    with pytest.raises(Exception, match="floor gave way") as caught:
        venv.step(["look", "look", "look", "raise"])
    assert caught.value.__notes__ == [
        "raised in game 'toy/brass/06' by sibling 3 (group 1), stepping with action 'raise'"
    ]
    with pytest.raises(ResetNeeded):
        venv.step(["look"] * 4)
    venv.reset()
    assert venv.step(["look"] * 4)[4]["active"].all()


@pytest.mark.parametrize("key", ["task", "task_id", "won"])
def test_an_info_that_lacks_what_groups_need_is_refused_by_name(key: str) -> None:
    class Lacking(ToyEnv):
        def _info(self, valid: bool, reason: str | None) -> dict[str, Any]:
            info = super()._info(valid, reason)
            del info[key]
            return info

    venv = GroupVectorEnv(Lacking, num_envs=1)
    with pytest.raises(ValueError, match=f"'{key}'"):
        venv.reset(seed=0)
        venv.step(["open vault"])
