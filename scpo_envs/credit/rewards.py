"""Other rewards than the environment's own to judge a group by."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from scpo_envs.rollouts import Rollout, RolloutGroup, Step

Reward = Literal["env", "success"]


def with_rewards(group: RolloutGroup, reward: Reward = "env", invalid_penalty: float = 0.0) -> RolloutGroup:
    """A group with the rewards that it is to be judged by; the group itself is left as it is.

    Args:
        group: The group.
        reward: "env" keeps the environment's rewards; "success" pays the group's success reward at the last step of a
            success, and nothing else.
        invalid_penalty: What each action that was not admissible (`info["valid_action"]`) costs, as a share of the
            success reward.

    Raises:
        ValueError: There is no such reward.
    """
    if reward not in get_args(Reward):
        raise ValueError(f"reward={reward!r} is unknown: use 'env' or 'success'")
    if reward == "env" and not invalid_penalty:
        return group
    success = group.success_reward
    fine = invalid_penalty * success
    rollouts = []
    for rollout in group.rollouts:
        paid = [step.reward for step in rollout.steps] if reward == "env" else _at_the_end(rollout, success)
        steps = [
            replace(step, reward=pay - (0.0 if _is_valid(step) else fine))
            for step, pay in zip(rollout.steps, paid, strict=True)
        ]
        rollouts.append(replace(rollout, steps=steps))
    return replace(group, rollouts=rollouts)


def _at_the_end(rollout: Rollout, success_reward: float) -> list[float]:
    """The success reward at the last step of a success, else nothing."""
    paid = [0.0] * len(rollout.steps)
    if paid and rollout.won:
        paid[-1] = success_reward
    return paid


def _is_valid(step: Step) -> bool:
    return bool(step.info.get("valid_action", True))
