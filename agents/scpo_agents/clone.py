"""Cloning: an agent learns to do what another policy did, by maximum likelihood of its actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from scpo_agents.agent import Agent
from scpo_agents.batches import derived_seed, minibatches, rollout_numbers
from scpo_agents.config import TrainConfig
from scpo_agents.display import Display
from scpo_agents.environments import arguments_for, games_of
from scpo_agents.processes import Processes
from scpo_envs.policies import collect, make_policy
from scpo_envs.rollouts import Rollout, RolloutGroup, read_groups


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """What is cloned.

    Attributes:
        groups: Rollouts that solved their task, this process's share.
        played: Episodes looked at for them, over all processes.
        kept: How many of these solved their task.
    """

    groups: list[RolloutGroup]
    played: int
    kept: int


def learn_from_demonstrations(agent: Agent[Any], config: TrainConfig, processes: Processes, display: Display) -> None:
    """Collect demonstrations and clone them, showing how it goes.

    Raises:
        ValueError: There is nothing to clone.
    """
    own = config.clone
    if not own.episodes and own.rollouts is None:
        raise ValueError("nothing to clone: set clone.episodes, or clone.rollouts to a file of rollouts")
    with display.busy(f"collecting demonstrations of {own.rollouts or own.policy}"):
        found = demonstrations(config, processes)
    display.note(f"cloning {found.kept} of {found.played} demonstrations, those that solved their task")
    clone(agent, config, found.groups, processes, display.epoch)


def demonstrations(config: TrainConfig, processes: Processes) -> Demonstrations:
    """Collect demonstrations as `config.clone` says, played or from a file.

    Raises:
        ValueError: There is none that solved its task.
    """
    own = config.clone
    if own.rollouts is not None:
        every = [
            RolloutGroup(group.task, [rollout], group.success_reward, group.instruction, group.info)
            for group in read_groups(own.rollouts)
            for rollout in group.rollouts
        ]
        every = every[: own.episodes or None]
        groups = [every[index] for index in processes.share(len(every))]
    else:
        groups = _play(config, processes)
    solved = [_only_won(group) for group in groups if group.successes]
    counts = processes.gather((len(groups), len(solved)))
    played, kept = (sum(column) for column in zip(*counts, strict=True))
    if not kept:
        raise ValueError(f"nothing to clone: none of {played} episodes of {own.rollouts or own.policy} solved its task")
    return Demonstrations(solved, played, kept)


def clone(
    agent: Agent[Any],
    config: TrainConfig,
    groups: Sequence[RolloutGroup],
    processes: Processes,
    on_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
) -> None:
    """Train an agent on demonstrations: every token of every decision counts once.

    Args:
        agent: Who learns.
        config: Its section `clone` says how.
        groups: This process's share of the demonstrations.
        processes: Those that share them.
        on_epoch: Called after each epoch with its number and the mean negative log-likelihood of a token.
    """
    own = config.clone
    demonstrated = [rollout for group in agent.demonstrated(groups) for rollout in group]
    decisions = [one for rollout in demonstrated for one in rollout]
    rollouts = rollout_numbers(demonstrated) if own.shuffle == "rollouts" else None
    weights = np.array([len(one.log_probs) for one in decisions], dtype=np.float64)
    parameters = [one for one in agent.module.parameters() if one.requires_grad]
    optimiser = torch.optim.Adam(parameters, lr=own.lr)
    for epoch in range(own.epochs):
        for group in optimiser.param_groups:
            group["lr"] = own.lr * (1 - 0.99 * epoch / max(1, own.epochs - 1))
        losses = []
        seed = derived_seed(config.seed, 1, epoch)
        for members, shares in minibatches(weights, own.batch, seed=seed, processes=processes, rollouts=rollouts):
            optimiser.zero_grad()
            losses.append(_backward(agent, [decisions[index] for index in members], shares, config.update.micro_batch))
            processes.add_gradients(parameters)
            optimiser.step()
        on_epoch(epoch, sum(map(sum, processes.gather(losses))) / len(losses))


def _backward(agent: Agent[Any], decisions: Sequence[Any], shares: np.ndarray[Any, Any], size: int) -> float:
    """Add the gradient of the weighted negative log-likelihood, and give its value."""
    total = 0.0
    for start in range(0, len(decisions), size):
        scores = agent.score(decisions[start : start + size])
        weights = torch.as_tensor(shares[start : start + size], dtype=torch.float32, device=scores.log_probs.device)
        tokens = torch.bincount(scores.owner, minlength=len(weights)).clamp(min=1)
        loss = -((weights / tokens)[scores.owner] * scores.log_probs).sum()
        loss.backward()
        total += float(loss.detach())
    return total


def _play(config: TrainConfig, processes: Processes) -> list[RolloutGroup]:
    """Episodes of the policy to clone, in games drawn without repetition as long as there are enough."""
    env = config.env
    ids = tuple(games_of(env.id, env.split, env.arguments))
    order = np.random.default_rng(derived_seed(config.seed, 0)).permutation(len(ids))
    games = [ids[order[index % len(ids)]] for index in processes.share(config.clone.episodes)]
    if not games:
        return []
    venv = gym.make_vec(
        env.id,
        num_envs=min(32, len(games)),
        group_size=1,
        sampler=games,
        **arguments_for(env.id, env.split, env.arguments),
    )
    with closing(venv):
        policy = make_policy(config.clone.policy, seed=derived_seed(config.seed, 0, processes.rank))
        return list(collect(venv, policy, seed=0))


def _only_won(group: RolloutGroup) -> RolloutGroup:
    won: list[Rollout] = [group.rollouts[index] for index in group.successes]
    return RolloutGroup(group.task, won, group.success_reward, group.instruction, group.info)
