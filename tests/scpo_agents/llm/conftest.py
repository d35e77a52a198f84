"""A tiny language model over the toy world's words, and decisions that it made."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from scpo_envs.policies import Turn, collect
from scpo_envs.rollouts import RolloutGroup
from tests.scpo_agents.conftest import TOY

SIZE: dict[str, Any] = {
    "model": "scratch",
    "words": (TOY,),
    "width": 16,
    "heads": 2,
    "layers": 2,
    "max_context": 512,
    "max_tokens": 10,
}


def make_agent(*, seed: int = 3, **settings: Any) -> Any:
    """An agent of some thousand weights."""
    pytest.importorskip("torch", reason="the language-model agent needs torch: pip install 'scpo-envs[llm]'")
    pytest.importorskip("transformers", reason="the agent needs transformers: pip install 'scpo-envs[llm]'")
    from scpo_agents.llm.agent import LLMAgent
    from scpo_agents.llm.config import LLMConfig

    return LLMAgent(LLMConfig(**{**SIZE, **settings}), seed=seed)


def played(agent: Any, groups: int = 3, *, siblings: int = 2, **options: Any) -> tuple[list[RolloutGroup], Any]:
    """One episode a sibling in the toy world."""
    venv = gym.make_vec(TOY, num_envs=groups * siblings, group_size=siblings)
    player = agent.player(seed=5, **options)
    return list(collect(venv, player, groups=groups, seed=0)), player


def decisions_of(player: Any) -> list[Any]:
    return [one for sibling in sorted(player.decisions) for one in player.decisions[sibling]]


def turn(sibling: int, *commands: str, first: bool = True, task: str = "find the mug.", saw: str = "a room") -> Turn:
    return Turn(sibling, first, saw, {"task": task, "task_id": task, "admissible_commands": list(commands)})
