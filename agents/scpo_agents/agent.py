"""What the trainer needs of an agent: a player that acts, and a model that scores what was decided.

An agent's decision is made of *tokens*, each sampled with a probability: the one choice of a command scorer, or the
reply of a language model. The trainer sees no more of a decision than the log-probabilities of its tokens: those
under which it was sampled, kept in the decision, and those of the model as it is now, from `Agent.score`.
Hence token in, token out: what is trained is exactly what was sampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from scpo_envs.policies import Turn
from scpo_envs.rollouts import RolloutGroup

if TYPE_CHECKING:
    import torch


class Decision(Protocol):
    """One step's choice, with all that is needed to score it again.

    Attributes:
        log_probs: Log-probability of each of its tokens when it was sampled, shape (n_tokens,); zeros in a
            demonstration.
    """

    log_probs: NDArray[np.float32]


D = TypeVar("D", bound=Decision)


class Scores(NamedTuple):
    """What a model says of some decisions, token by token; gradients flow back from here.

    Attributes:
        log_probs: Log-probability of each token, shape (T,).
        entropy: Entropy of the distribution that each token was drawn from, shape (T,).
        owner: Which of the decisions each token belongs to, ascending, shape (T,).
    """

    log_probs: torch.Tensor
    entropy: torch.Tensor
    owner: torch.Tensor


class Player(Protocol[D]):
    """A `scpo_envs.policies.Policy` that remembers its decisions.

    Attributes:
        decisions: Those of each sibling's present episode, in order.
        measures: Sum and count of what it measures of itself, by name.
    """

    decisions: dict[int, list[D]]
    measures: dict[str, tuple[float, float]]

    def act(self, turns: Sequence[Turn]) -> list[str]:
        """One action for each turn, in order."""


class Agent(Protocol[D]):
    """A model that acts in text environments and can be trained.

    Attributes:
        config: Its settings, a dataclass.
        module: Its parameters; those that require a gradient are trained.
    """

    config: Any
    module: torch.nn.Module

    @classmethod
    def restore(cls, config: Any, folder: Path, *, seed: int) -> Agent[D]:
        """The agent that a checkpoint's folder holds, vocabulary and all."""

    def player(self, *, seed: int, greedy: bool = False) -> Player[D]:
        """A player with the weights as they are. Equal seeds make equal choices.

        What it draws in an episode depends on the seed, the task and how many episodes of this task the player has
        begun before; on neither the other episodes nor their number.
        """

    def demonstrated(self, groups: Sequence[RolloutGroup]) -> list[list[list[D]]]:
        """The decisions that rollouts of anyone amount to, `[group][rollout][step]`.

        Raises:
            ValueError: A rollout lacks what the agent reads, or has an action that it cannot choose.
        """

    def score(self, decisions: Sequence[D]) -> Scores:
        """What the model says now of decisions of one player, or of one call of `demonstrated`."""

    def reference(self) -> Agent[D]:
        """A frozen copy with the weights as they are, for the KL penalty."""

    def save(self, folder: Path) -> None:
        """Write the weights into a folder that exists."""

    def load(self, folder: Path) -> None:
        """Read what `save` wrote."""


@dataclass(frozen=True, slots=True)
class AgentKind:
    """Where an agent lives: a module of this package, its settings and its class."""

    module: str
    config: str
    agent: str

    def config_type(self) -> type[Any]:
        """The dataclass of its settings; importing it loads no model library."""
        kind: type[Any] = getattr(import_module(f"scpo_agents.{self.module}.config"), self.config)
        return kind

    def make(self, config: Any, *, seed: int) -> Agent[Any]:
        """A new agent. The seed decides its initial weights, where they are random."""
        agent: Agent[Any] = getattr(import_module(f"scpo_agents.{self.module}.agent"), self.agent)(config, seed=seed)
        return agent

    def restore(self, config: Any, folder: Path, *, seed: int) -> Agent[Any]:
        """The agent that a checkpoint holds, whatever its weights were before."""
        kind = getattr(import_module(f"scpo_agents.{self.module}.agent"), self.agent)
        agent: Agent[Any] = kind.restore(config, folder, seed=seed)
        return agent


AGENTS: Mapping[str, AgentKind] = {
    "llm": AgentKind("llm", "LLMConfig", "LLMAgent"),
    "scorer": AgentKind("scorer", "ScorerConfig", "ScorerAgent"),
}
"""All agents by name."""


def agent_kind(name: str) -> AgentKind:
    """The agent of this name.

    Raises:
        ValueError: There is none.
    """
    if name not in AGENTS:
        raise ValueError(f"agent.name={name!r} is unknown: use one of {', '.join(map(repr, AGENTS))}")
    return AGENTS[name]
