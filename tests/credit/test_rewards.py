"""By what rewards a group is judged."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scpo_envs.credit import advantages, scpo, with_rewards
from scpo_envs.rollouts import RolloutGroup
from tests.credit.helpers import GROUPS, group, letter_matcher, rollout


def a_purchase() -> RolloutGroup:
    """Paid in part for a failure; the second action of the failure was not admissible."""
    siblings = group(
        rollout("ABC", True, rewards=[0, 0, 8]), rollout("AXC", False, rewards=[0, 0, 6]), success_reward=10.0
    )
    siblings.rollouts[1].steps[1].info["valid_action"] = False
    return siblings


def rewards(siblings: RolloutGroup) -> list[list[float]]:
    return [[step.reward for step in one.steps] for one in siblings.rollouts]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [[0, 0, 8], [0, 0, 6]]),
        ({"reward": "success"}, [[0, 0, 10], [0, 0, 0]]),
        ({"invalid_penalty": 0.25}, [[0, 0, 8], [0, -2.5, 6]]),
        ({"reward": "success", "invalid_penalty": 0.25}, [[0, 0, 10], [0, -2.5, 0]]),
    ],
)
def test_rewards_by_hand(arguments: Any, expected: list[list[float]]) -> None:
    siblings = a_purchase()
    assert rewards(with_rewards(siblings, **arguments)) == expected
    assert siblings == a_purchase()  # the given group is only read


@given(GROUPS, st.sampled_from(["env", "success"]), st.floats(0, 1))
def test_only_rewards_change_and_credit_does_not(siblings: RolloutGroup, reward: Any, penalty: float) -> None:
    before = copy.deepcopy(siblings)
    judged = with_rewards(siblings, reward, penalty)
    assert siblings == before
    for one, other in zip(siblings.rollouts, judged.rollouts, strict=True):
        paid = [replace(step, reward=old.reward) for step, old in zip(other.steps, one.steps, strict=True)]
        assert replace(other, steps=paid) == one
    own, others = scpo(siblings, letter_matcher), scpo(judged, letter_matcher)
    assert [a.tolist() for a in own.step_credit] == [b.tolist() for b in others.step_credit]


def test_success_alone_makes_all_failures_alike() -> None:
    episode = advantages([with_rewards(a_purchase(), "success")], "grpo", norm="none").episode[0]
    assert [values.tolist() for values in episode] == [[5.0] * 3, [-5.0] * 3]


def test_an_unknown_reward_is_named() -> None:
    with pytest.raises(ValueError, match="reward='score' is unknown: use 'env' or 'success'"):
        with_rewards(a_purchase(), "score")  # type: ignore[arg-type]
