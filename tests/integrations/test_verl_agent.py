from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scpo_envs.credit import advantages
from scpo_envs.integrations.chat import opening, told
from scpo_envs.integrations.verl_agent import EnvironmentManager
from scpo_envs.vector import GroupVectorEnv
from scpo_envs.wrappers import ScpoReward
from tests.toy import make_toy, noisy_expert
from tests.vector.play import make_expert_toy


def manager(**kwargs: Any) -> EnvironmentManager:
    """Two groups of four."""
    return EnvironmentManager(GroupVectorEnv(make_expert_toy, 8, 4), **kwargs)


def play(envs: EnvironmentManager, kwargs: Any = None) -> list[tuple[Any, ...]]:
    """What a verl-agent loop does: step all rows until the last is done, and OR the ends."""
    players = [noisy_expert(row, 0.2 + 0.15 * (row % 4)) for row in range(8)]
    texts, infos = envs.reset(kwargs=kwargs)
    done = np.zeros(8, bool)
    steps: list[tuple[Any, ...]] = [(texts, infos)]
    while not done.all():
        replies = [
            "I am done."
            if done[row]
            else f"<think>hm</think><action>{players[row](texts['anchor'][row], infos[row])}</action>"
            for row in range(8)
        ]
        texts, rewards, ends, infos = envs.step(replies)
        steps.append((texts, rewards, ends, infos, done.copy()))
        done |= ends
    return steps


def test_texts_go_in_and_out_and_siblings_share_rows_and_start() -> None:
    steps = play(manager())
    texts, infos = steps[0]
    assert texts["image"] is None
    assert len(set(texts["anchor"][:4])) == len(set(texts["anchor"][4:])) == 1
    assert texts["text"][0] == f"{texts['anchor'][0]}\n\nCommands:\n" + "\n".join(infos[0]["admissible_commands"])
    for _, rewards, ends, infos, done in steps[1:]:
        assert not rewards[done].any() and not ends[done].any()
        assert [bool(info["active"]) for info in infos] == (~done).tolist()
        for info, idle in zip(infos, done, strict=True):
            assert idle or bool(info["is_action_valid"]) == info["valid_action"]


def test_groups_advantages_and_success_are_known_in_the_end() -> None:
    envs = manager()
    envs.reset()
    with pytest.raises(ValueError, match=r"groups \[0, 1\] are not complete"):
        envs.step_advantages()
    steps = play(envs)
    groups = [group for group in envs.groups if group is not None]
    assert [len(group) for group in groups] == [4, 4]
    lengths = [int(sum(~step[4][row] for step in steps[1:])) for row in range(8)]
    found = envs.step_advantages("scpo", omega=0.5)
    assert [len(values) for values in found] == lengths
    expected = [values for group in advantages(groups, "scpo", omega=0.5).total for values in group]
    assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))
    rates = envs.success_evaluator(total_infos=[], total_batch_list=[])
    assert rates["success_rate"].tolist() == [float(r.won) for group in groups for r in group.rollouts]
    by_kind = [rates[f"{kind}_success_rate"] for kind in {group.info["task_type"] for group in groups}]
    assert sum(map(len, by_kind)) == 8
    envs.close()


def test_a_shaped_vector_env_hands_over_shaped_groups() -> None:
    envs = EnvironmentManager(ScpoReward(GroupVectorEnv(make_expert_toy, 8, 4)))
    play(envs)
    assert all(step.credit is not None for group in envs.groups if group for r in group.rollouts for step in r.steps)


def test_rows_choose_their_games_and_siblings_must_agree() -> None:
    envs = manager()
    rows = [{"game": "toy/jade/03"}] * 4 + [{"game": "toy/brass/02"}] * 4
    _, infos = envs.reset(kwargs=rows)
    assert [info["game"] for info in infos] == [row["game"] for row in rows]
    _, infos = envs.reset(kwargs=[{"seed": 5}] + [{}] * 7)
    assert infos[0]["game"] == make_toy().reset(seed=5)[1]["game"]
    with pytest.raises(ValueError, match="rows 0 to 3 are siblings, but name"):
        envs.reset(kwargs=rows[1:] + rows[:1])
    with pytest.raises(ValueError, match="env_kwargs of 8 rows, got 3"):
        envs.reset(kwargs=rows[:3])


def test_prompts_and_projections_can_be_others() -> None:
    envs = manager(prompt=lambda observation, info: info["task"], project=lambda reply: reply.split(":")[1])
    texts, infos = envs.reset()
    assert texts["text"] == [info["task"] for info in infos]
    assert all(info["valid_action"] for info in envs.step(["do:look"] * 8)[3])


def test_a_conversation_opens_with_what_is_seen() -> None:
    assert told("You see.", {"admissible_commands": ["look"]}, commands=False) == "You see."
    chat = opening([], "You see.")
    assert [message["role"] for message in chat] == ["system", "user"]
    given = [{"role": "user", "content": "Play."}]
    assert opening(given, "You see.") == [{"role": "user", "content": "Play.\n\nYou see."}]
    assert given == [{"role": "user", "content": "Play."}]
