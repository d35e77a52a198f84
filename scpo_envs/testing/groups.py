"""Checks of an environment in groups: what `GroupVectorEnv` makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scpo_envs.rollouts import RolloutGroup
from scpo_envs.testing.single import MakeEnv, random_action, require
from scpo_envs.vector import GroupVectorEnv

_GROUPS, _SIZE = 3, 2


def check_group_conformance(make_env: MakeEnv) -> None:
    """Run every check of groups.

    Args:
        make_env: Makes the environment as users get it, usually `functools.partial(gymnasium.make, id)`.

    Raises:
        AssertionError: A part of the contract is not kept; the message says which.
    """
    for check in GROUP_CHECKS:
        check(make_env)


def check_group_starts(make_env: MakeEnv) -> None:
    """Siblings share task and start, and group g begins as `env.reset(seed=s + g)` does."""
    env = make_env()
    with closing(_groups(make_env)) as venv:
        for seed in (0, 11):
            observations, info = venv.reset(seed=seed)
            for group in range(_GROUPS):
                single, single_info = env.reset(seed=seed + group)
                for sibling in range(group * _SIZE, (group + 1) * _SIZE):
                    require(
                        observations[sibling] == single, f"group {group} must begin as env.reset(seed={seed + group})"
                    )
                    require(info["task_id"][sibling] == single_info["task_id"], "siblings must share their task_id")
    env.close()


def check_episodes(make_env: MakeEnv) -> None:
    """The k-th episode of a group depends on seed, group and k alone, in whatever order groups are reset."""
    with closing(_groups(make_env)) as venv:
        group = np.repeat(np.arange(_GROUPS), _SIZE)

        def games(order: Sequence[Sequence[int]]) -> dict[int, list[str]]:
            _, info = venv.reset(seed=5)
            played = {g: [info["game"][g * _SIZE]] for g in range(_GROUPS)}
            for groups in order:
                venv.step(["look"] * venv.num_envs)
                _, info = venv.reset(options={"reset_mask": np.isin(group, groups)})
                for g in groups:
                    played[g].append(info["game"][g * _SIZE])
            return played

        together, apart = games([[0, 1, 2]] * 2), games([[2], [0], [2], [1], [0, 1]])
        require(together == apart, f"episodes must not depend on the order of resets: {together} and {apart}")


def check_rollouts(make_env: MakeEnv) -> None:
    """Finished siblings idle, every rollout records what happened, and its file gives it back."""
    with closing(_groups(make_env)) as venv:
        before, info = venv.reset(seed=2)
        steps: list[list[Any]] = [[] for _ in range(venv.num_envs)]
        ends = np.zeros(venv.num_envs, np.int64)
        groups: dict[int, RolloutGroup] = {}
        generator = np.random.default_rng(2)
        while venv.running.any():
            running = venv.running
            actions = _actions(generator, running, info)
            commands = info["admissible_commands"]
            observations, rewards, terminated, truncated, info = venv.step(actions)
            require((info["active"] == running).all(), "a step must use the actions of running siblings only")
            for sibling in range(venv.num_envs):
                if running[sibling]:
                    steps[sibling].append((before[sibling], actions[sibling], rewards[sibling], commands[sibling]))
                else:
                    require(observations[sibling] == before[sibling], "an idle sibling must keep its last observation")
            require(not rewards[~running].any(), "an idle sibling must have reward 0")
            ends += terminated.astype(np.int64) + truncated
            groups |= {int(info["group"][at]): info["rollouts"][at] for at in np.flatnonzero(info["_rollouts"])}
            before = observations
        require((ends == 1).all(), "each sibling must have exactly one end flag, on its final step")
        require(sorted(groups) == list(range(_GROUPS)), "each group must hand out its rollouts once")
        for sibling, seen in enumerate(steps):
            rollout = groups[sibling // _SIZE].rollouts[sibling % _SIZE]
            kept = [(s.observation, s.action, s.reward, s.info["admissible_commands"]) for s in rollout.steps]
            require(kept == seen, f"the rollout of sibling {sibling} must record what the agent saw, did and got")
            require(rollout.final_observation == before[sibling], "a rollout must keep its final observation")
        for group in groups.values():
            line = group.to_json()
            require(RolloutGroup.from_json(line).to_json() == line, "a group must survive its file")


def check_cover(make_env: MakeEnv) -> None:
    """`sampler="cover"` walks through `env.unwrapped.game_ids`."""
    env: Any = make_env()
    ids = list(env.unwrapped.game_ids)[: 3 * _GROUPS]
    env.close()
    with closing(_groups(make_env, sampler="cover")) as venv:
        visited: list[str] = []
        for round_ in range(-(-len(ids) // _GROUPS)):
            _, info = venv.reset(seed=1) if round_ == 0 else venv.reset()
            visited += info["game"][info["_game"]][::_SIZE].tolist()
        require(visited == ids, f"cover must visit the games in their order: {ids}, not {visited}")


def check_workers(make_env: MakeEnv, workers: Sequence[Literal["process", "ray"]] = ("process",)) -> None:
    """Other workers give what serial ones do, to the letter."""
    expected = _transcript(make_env, workers="serial")
    for other in workers:
        require(_transcript(make_env, workers=other) == expected, f"workers={other!r} must give what serial ones do")


GROUP_CHECKS: tuple[Callable[[MakeEnv], None], ...] = (
    check_group_starts,
    check_episodes,
    check_rollouts,
    check_cover,
    check_workers,
)
"""Every check of groups."""


def _groups(make_env: MakeEnv, **kwargs: Any) -> GroupVectorEnv:
    return GroupVectorEnv(make_env, _GROUPS * _SIZE, _SIZE, **kwargs)


def _actions(generator: np.random.Generator, running: NDArray[np.bool_], info: dict[str, Any]) -> list[Any]:
    """A random action for each running sibling, None for the idle."""
    commands = info["admissible_commands"]
    return [random_action(generator, commands[at]) if awaited else None for at, awaited in enumerate(running)]


def _transcript(make_env: MakeEnv, **kwargs: Any) -> list[Any]:
    with closing(_groups(make_env, **kwargs)) as venv:
        generator = np.random.default_rng(3)
        observations, info = venv.reset(seed=3)
        lines: list[Any] = [(observations, _plain(info))]
        while venv.running.any():
            observations, rewards, terminated, truncated, info = venv.step(_actions(generator, venv.running, info))
            ends = (rewards.tolist(), terminated.tolist(), truncated.tolist())
            lines.append((observations, *ends, _plain(info)))
        return lines


def _plain(info: dict[str, Any]) -> dict[str, Any]:
    return {key: (str(column.dtype), column.tolist()) for key, column in info.items()}
