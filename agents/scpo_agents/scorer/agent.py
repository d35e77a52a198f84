"""The command scorer as an agent."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from scpo_agents.agent import Scores
from scpo_agents.scorer.bags import Bags
from scpo_agents.scorer.config import ScorerConfig
from scpo_agents.scorer.features import Featurizer, Memory
from scpo_agents.scorer.network import Batch, CommandScorer, ScorerDecision
from scpo_agents.scorer.reading import Task
from scpo_envs.policies import Turn
from scpo_envs.rollouts import Rollout, RolloutGroup

_WEIGHTS = "scorer.pt"


class ScorerAgent:
    """Reads text, scores each admissible command, draws one. Runs on the CPU.

    Args:
        config: Its size.
        seed: Decides the initial weights.
    """

    def __init__(self, config: ScorerConfig, *, seed: int = 0) -> None:
        self.config = config
        with torch.random.fork_rng(devices=[]):  # layers draw weights of their own from the global generator
            self.module = CommandScorer(config.rows, config.width, config.hidden)
        self.module.initialise(seed)

    @classmethod
    def restore(cls, config: ScorerConfig, folder: Path, *, seed: int = 0) -> ScorerAgent:
        """The agent that a checkpoint's folder holds."""
        agent = cls(config, seed=seed)
        agent.load(folder)
        return agent

    def player(self, *, seed: int, greedy: bool = False) -> ScorerPlayer:
        """A player with the weights as they are."""
        return ScorerPlayer(self, seed=seed, greedy=greedy)

    def demonstrated(self, groups: Sequence[RolloutGroup]) -> list[list[list[ScorerDecision]]]:
        """The decisions of rollouts whose steps hold `info["admissible_commands"]`.

        Raises:
            ValueError: The commands are missing, or the action is none of them.
        """
        featurizer = self.featurizer()
        return [[_replay(featurizer, group, rollout) for rollout in group.rollouts] for group in groups]

    def score(self, decisions: Sequence[ScorerDecision]) -> Scores:
        """Log-probability and entropy of each choice: one token a decision."""
        bags = decisions[0].bags
        if any(decision.bags is not bags for decision in decisions):
            raise ValueError("decisions of different players cannot be scored in one batch: their bags differ")
        state = np.stack([decision.state for decision in decisions])
        table = self.module(Batch.of(bags, state, [decision.commands for decision in decisions]))
        owner = torch.arange(len(decisions))
        chosen = torch.tensor([decision.chosen for decision in decisions])
        entropy = -(table.exp() * table.clamp(min=-1e9)).sum(1)  # 0 * -inf would be NaN
        return Scores(table[owner, chosen], entropy, owner)

    def reference(self) -> ScorerAgent:
        """A frozen copy."""
        frozen = copy.deepcopy(self)
        frozen.module.requires_grad_(False)
        return frozen

    def save(self, folder: Path) -> None:
        """Write the weights into a folder that exists."""
        torch.save(self.module.state_dict(), folder / _WEIGHTS)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote."""
        self.module.load_state_dict(torch.load(folder / _WEIGHTS, weights_only=True, map_location="cpu"))

    def featurizer(self) -> Featurizer:
        """A featurizer with bags of its own."""
        return Featurizer(Bags(self.config.rows), self.config.observation_words)


class ScorerPlayer:
    """Plays with a scorer, and keeps what it decided.

    Args:
        agent: Whose weights to use.
        seed: Decides the draws, see `Agent.player`.
        greedy: Take the likeliest command, the first of equals, instead of drawing one.
    """

    def __init__(self, agent: ScorerAgent, *, seed: int, greedy: bool = False) -> None:
        self.decisions: dict[int, list[ScorerDecision]] = {}
        self.measures: dict[str, tuple[float, float]] = {}
        self._agent = agent
        self._seed = seed
        self._greedy = greedy
        self._featurizer = agent.featurizer()
        self._memories: dict[int, Memory] = {}
        self._rngs: dict[int, random.Random] = {}
        self._begun: Counter[str] = Counter()

    @torch.inference_mode()
    def act(self, turns: Sequence[Turn]) -> list[str]:
        """One admissible command for each turn, in order."""
        menus = [tuple(turn.info["admissible_commands"]) for turn in turns]
        read = [self._read(turn, menu) for turn, menu in zip(turns, menus, strict=True)]
        batch = Batch.of(self._featurizer.bags, np.array([state for state, _ in read]), [own for _, own in read])
        table = self._agent.module(batch).numpy()
        chosen = table.argmax(1) if self._greedy else self._draw(turns, table)
        actions = []
        for row, (turn, menu, (state, commands)) in enumerate(zip(turns, menus, read, strict=True)):
            choice = int(chosen[row])
            decision = ScorerDecision(
                self._featurizer.bags, np.array(state), commands, choice, table[row, choice : choice + 1].copy()
            )
            self.decisions[turn.sibling].append(decision)
            self._memories[turn.sibling].act(menu[choice])
            actions.append(menu[choice])
        return actions

    def _read(self, turn: Turn, menu: tuple[str, ...]) -> tuple[list[int], NDArray[np.int64]]:
        if turn.first:
            self._begin(turn)
        memory = self._memories[turn.sibling]
        memory.observe(turn.observation)
        return (
            self._featurizer.state(memory, turn.observation, menu),
            np.array(self._featurizer.commands(memory, turn.observation, menu), dtype=np.int64),
        )

    def _begin(self, turn: Turn) -> None:
        task = turn.info["task_id"]
        self._rngs[turn.sibling] = random.Random(f"{self._seed}/{task}/{self._begun[task]}")
        self._begun[task] += 1
        self._memories[turn.sibling] = Memory(Task(turn.info["task"]))
        self.decisions[turn.sibling] = []

    def _draw(self, turns: Sequence[Turn], table: NDArray[np.float32]) -> NDArray[np.int64]:
        """The command at which the cumulated probability passes a number drawn for the sibling."""
        cumulated = np.exp(table, dtype=np.float64).cumsum(axis=1)
        drawn = np.array([self._rngs[turn.sibling].random() for turn in turns])
        # scaled by the last entry, so that rounding never passes the end
        chosen: NDArray[np.int64] = (cumulated <= drawn[:, None] * cumulated[:, -1:]).sum(axis=1)
        return chosen


def _replay(featurizer: Featurizer, group: RolloutGroup, rollout: Rollout) -> list[ScorerDecision]:
    if group.instruction is None:
        raise ValueError(f"the group of task {group.task!r} has no instruction, which the scorer reads")
    memory = Memory(Task(group.instruction))
    decisions = []
    for index, step in enumerate(rollout.steps):
        menu = tuple(step.info.get("admissible_commands", ()))
        if step.action not in menu:
            raise ValueError(
                f"step {index} of a rollout of {group.task!r}: the action {step.action!r:.80} is none of the "
                f"{len(menu)} commands in info['admissible_commands']"
            )
        memory.observe(step.observation)
        decisions.append(
            ScorerDecision(
                featurizer.bags,
                np.array(featurizer.state(memory, step.observation, menu)),
                np.array(featurizer.commands(memory, step.observation, menu), dtype=np.int64),
                menu.index(step.action),
                np.zeros(1, np.float32),
            )
        )
        memory.act(step.action)
    return decisions
