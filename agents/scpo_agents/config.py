"""The settings of a training run: dataclasses, filled from a recipe (YAML) and `key=value` overrides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from scpo_envs.credit.rewards import Reward

REST = {"rest": True}
"""Marks the field of a section that takes the keys which the section itself does not name."""


def at_least(least: float, default: Any) -> Any:
    """A field whose numbers must not be smaller."""
    return field(default=default, metadata={"least": least})


@dataclass(frozen=True)
class EnvConfig:
    """The environment. Keys that are not named here are its own arguments, such as `data` or `dialect`."""

    id: str = "SCPO-ALFWorld-v0"
    """Id of a registered environment of text and sibling groups."""

    split: str = "train"
    """The games that are trained on."""

    workers: Literal["serial", "process", "ray"] = "serial"
    """Where the environments run; they are quick enough for "serial" but beside a model on a GPU."""

    arguments: Mapping[str, Any] = field(default_factory=dict, metadata=REST)
    """The environment's own arguments."""


@dataclass(frozen=True)
class AgentConfig:
    """Who acts and learns. Keys that are not named here are the agent's own settings."""

    name: str = "scorer"
    """A name in `scpo_agents.agent.AGENTS`."""

    settings: Mapping[str, Any] = field(default_factory=dict, metadata=REST)
    """The agent's own settings."""


@dataclass(frozen=True)
class CloneConfig:
    """The warm start: cloning another policy's rollouts."""

    policy: str = "expert"
    """Who is cloned, a name in the entry-point group `scpo.policies`."""

    rollouts: Path | None = None
    """A file of rollouts to clone in place of playing `policy`, as `scpo rollout` writes it."""

    episodes: int = at_least(0, 0)
    """Episodes to clone; 0 is no warm start. Those that fail are left out."""

    epochs: int = at_least(1, 5)
    """Passes over them."""

    batch: int = at_least(1, 64)
    """Decisions an optimiser step; many small ones learn best."""

    shuffle: Literal["decisions", "rollouts"] = "decisions"
    """What minibatches are dealt of: decisions, or whole rollouts, which an agent that keeps one transcript an episode
    reads in one pass."""

    lr: float = at_least(0, 4e-3)
    """Learning rate at the start; it falls linearly to a hundredth."""


@dataclass(frozen=True)
class GroupsConfig:
    """What is played in an iteration."""

    tasks: int = at_least(1, 16)
    """Groups, each of one task, over all processes."""

    siblings: int = at_least(1, 8)
    """Rollouts a group."""

    max_steps: int | None = at_least(1, None)
    """Steps after which an episode is cut while training; None is the environment's own limit."""

    balanced: bool = False
    """Draw as many games of each kind of task, where the environment tells kinds apart."""

    one_outcome: Literal["keep", "drop", "resample"] = "keep"
    """What to do with groups that all won or all lost: keep them, leave them out of the update, or play up to
    `resample_rounds` further rounds until there are `tasks` groups with both outcomes. All steps are counted."""

    resample_rounds: int = at_least(0, 3)
    """Further rounds that "resample" may play."""


@dataclass(frozen=True)
class AdvantageConfig:
    """How steps are judged. Keys that are not named here are the estimator's own options, such as `order`."""

    estimator: str = "scpo"
    """A name in `scpo_envs.credit.ESTIMATORS`."""

    reward: Reward = "env"
    """What is judged: the environment's rewards, or the success reward for a success and nothing else, as
    where a shop pays for purchases that are partly right."""

    omega: float = 1.0
    """Weight of the step level."""

    gamma: float = 0.95
    """Discount a step."""

    alpha: float = 0.5
    """Weight of SCPO's credit, as a share of the success reward."""

    invalid_penalty: float = at_least(0, 0.0)
    """Taken off the reward of each action that was not admissible, as a share of the success reward, before anything
    is judged. The published GiGPO runs take 0.1 off beside a success reward of 10, which is 0.01 here."""

    matcher: Literal["lexical", "embedding", "cross-encoder", "onnx"] = "lexical"
    """How SCPO compares steps; all but "lexical" need the extra `models`."""

    matcher_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the matcher's class in `scpo_envs.credit`, such as `model`."""

    options: Mapping[str, Any] = field(default_factory=dict, metadata=REST)
    """The estimator's own options."""


@dataclass(frozen=True)
class UpdateConfig:
    """How the model follows the advantages: PPO's clipped objective."""

    iterations: int = at_least(0, 100)
    """Iterations, each of `groups.tasks` groups."""

    env_steps: int | None = at_least(1, None)
    """Stop, too, after the iteration in which this many environment steps have been played."""

    lr: float = at_least(0, 1e-3)
    """Adam's learning rate."""

    epochs: int = at_least(1, 1)
    """Passes over an iteration's decisions."""

    minibatch: int = at_least(1, 512)
    """Decisions an optimiser step, over all processes."""

    micro_batch: int = at_least(1, 512)
    """Decisions scored at once, a process; gradients add up to those of the minibatch."""

    shuffle: Literal["decisions", "rollouts"] = "decisions"
    """As in `clone`."""

    clip: float = at_least(0, 0.2)
    """The ratio of probabilities is clipped below 1 - clip."""

    clip_high: float = at_least(0, 0.2)
    """And above 1 + clip_high."""

    entropy: float = at_least(0, 0.01)
    """Weight of the entropy bonus."""

    kl: float = at_least(0, 0.0)
    """Weight of the KL penalty towards the model that training began with; 0 keeps no such model."""

    max_grad_norm: float = 1.0
    """Longer gradients are scaled down to this norm."""

    average: Literal["step", "token", "rollout"] = "step"
    """What counts once in the loss: each decision, each token, or each rollout, however long it is."""


@dataclass(frozen=True)
class EvaluateConfig:
    """Evaluation while training."""

    every: int = at_least(0, 10)
    """Iterations between evaluations; the start and the end are evaluated too. 0 never evaluates."""

    splits: tuple[str, ...] = ("valid_seen", "valid_unseen")
    """The splits; the mean success over them decides which checkpoint is the best."""

    games: int | None = at_least(1, None)
    """Games a split, spread evenly over its sorted ids; None plays all."""

    greedy: bool = False
    """Take the likeliest action instead of drawing one."""


@dataclass(frozen=True)
class TrainConfig:
    """A training run."""

    out: Path = Path("runs/train")
    """Folder of the run: checkpoints, metrics, logs."""

    seed: int = at_least(0, 0)
    """Decides weights, games and draws."""

    threads: int = at_least(1, 1)
    """Threads of PyTorch on the CPU, a process; small models are quickest with one."""

    save_every: int = at_least(0, 10)
    """Iterations between checkpoints to go on from; the end and Ctrl-C make one too. 0 leaves it at these."""

    rollouts: int = at_least(0, 0)
    """Iterations between those whose groups are kept in `rollouts/`, with credit and advantages, for `scpo inspect`; 0
    keeps none. Sixteen groups of eight long episodes are some 5 MB."""

    start: Path | None = None
    """A checkpoint to start from, instead of new weights or cloning."""

    env: EnvConfig = EnvConfig()
    agent: AgentConfig = AgentConfig()
    clone: CloneConfig = CloneConfig()
    groups: GroupsConfig = GroupsConfig()
    advantage: AdvantageConfig = AdvantageConfig()
    update: UpdateConfig = UpdateConfig()
    evaluate: EvaluateConfig = EvaluateConfig()
