"""Who acts: the narrow interface between agents and the loop that collects groups of rollouts.

A policy chooses the actions of all siblings that await one, in one call, so that a language model can
batch them; siblings that have ended are never asked for. Policies are found by name in the
entry-point group `scpo.policies`, where any package can add its own: an entry point names a callable
that takes a seed and the policy's own options as keyword arguments.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from scpo_envs.rollouts import RolloutGroup
from scpo_envs.vector import GroupVectorEnv

GROUP = "scpo.policies"


@dataclass(frozen=True, slots=True)
class Turn:
    """One sibling that awaits an action.

    Attributes:
        sibling: Its index in the vector env.
        first: Whether its episode has just begun: what a policy remembers of it is out of date.
        observation: The text to answer.
        info: The sibling's own info, such as `info["admissible_commands"]`.
    """

    sibling: int
    first: bool
    observation: str
    info: Mapping[str, Any]


class Policy(Protocol):
    """Chooses actions; keeps what it remembers by `Turn.sibling`."""

    def act(self, turns: Sequence[Turn]) -> Sequence[str]:
        """One action for each turn, in order."""


class RandomPolicy:
    """Takes an admissible command at random; each sibling's choices depend on the seed alone."""

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed
        self._episodes: dict[int, int] = {}
        self._rngs: dict[int, random.Random] = {}

    def act(self, turns: Sequence[Turn]) -> list[str]:
        """One action for each turn, in order."""
        return [self._rng(turn).choice(turn.info["admissible_commands"]) for turn in turns]

    def _rng(self, turn: Turn) -> random.Random:
        if turn.first:
            episode = self._episodes[turn.sibling] = self._episodes.get(turn.sibling, -1) + 1
            self._rngs[turn.sibling] = random.Random(f"{self._seed}/{turn.sibling}/{episode}")
        return self._rngs[turn.sibling]


def make_policy(name: str, *, seed: int = 0, **options: Any) -> Policy:
    """Make a policy by name.

    Args:
        name: An entry point, or an entry point and what it is to work with, such as `checkpoint:runs/demo/best`:
            what follows the colon becomes the option `target`.
        seed: Decides its choices.
        **options: The policy's own.

    Raises:
        ValueError: There is no policy of this name; the message lists them.
    """
    policies = {point.name: point for point in entry_points(group=GROUP)}
    kind, colon, target = name.partition(":")
    if kind not in policies:
        raise ValueError(f"unknown policy {kind!r}; there are {', '.join(sorted(policies))}")
    if colon:
        options["target"] = target
    policy: Policy = policies[kind].load()(seed=seed, **options)
    return policy


def collect(
    venv: VectorEnv[Any, Any, Any],
    policy: Policy,
    *,
    groups: int | None = None,
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
    on_step: Callable[[int], None] | None = None,
) -> Iterator[RolloutGroup]:
    """Let a policy play, and give each group of rollouts once it is complete.

    Which episodes are played is settled beforehand: `groups` of them, dealt out to the groups of the
    vector env in turn. Neither their choice nor their order depends on which group is quick. A group
    that was dropped because its worker was lost is left out.

    Args:
        venv: A `GroupVectorEnv`, or a wrapper around one, such as `ScpoReward`.
        policy: Who acts.
        groups: How many groups to collect, at least as many as the vector env plays at once; None goes
            on until a "cover" sampler has no game left.
        seed: Seed of the first reset.
        options: Options of the first reset, such as `{"games": [...]}`.
        on_step: Called after each step of the vector env with the number of actions it used.

    Raises:
        TypeError: The vector env is no `GroupVectorEnv`.
        ValueError: Fewer groups are asked for than are played at once, or the vector env resets them itself.
    """
    base = venv.unwrapped
    if not isinstance(base, GroupVectorEnv):
        raise TypeError(f"collect needs a GroupVectorEnv, as gym.make_vec gives, not {base}")
    if base.metadata["autoreset_mode"] is not AutoresetMode.DISABLED:
        raise ValueError("collect resets groups itself: make the vector env with autoreset_mode=AutoresetMode.DISABLED")
    count, size = base.num_groups, base.group_size
    if groups is not None and groups < count:
        raise ValueError(f"the vector env plays {count} groups at once; collect at least as many, not {groups}")

    observations, infos = venv.reset(seed=seed, options=None if options is None else dict(options))
    pending = _turns(base, observations, infos, first=base.running)
    episode = [0] * count
    complete: dict[int, RolloutGroup | None] = {}
    given = 0
    while pending:
        actions = [""] * base.num_envs
        for turn, action in zip(pending, policy.act(pending), strict=True):
            actions[turn.sibling] = action
        used = len(pending)
        observations, _, _, _, infos = venv.step(actions)
        if on_step is not None:
            on_step(used)
        pending = _turns(base, observations, infos, first=infos.get("restarted"))
        again = np.zeros(base.num_envs, np.bool_)
        for group in (np.flatnonzero(infos["group_done"][::size])).tolist():
            complete[episode[group] * count + group] = infos["rollouts"][group * size]
            episode[group] += 1
            if groups is None or episode[group] * count + group < groups:
                again[group * size : (group + 1) * size] = True
        while given in complete:
            finished = complete.pop(given)
            given += 1
            if finished is not None:
                yield finished
        if again.any():
            observations, infos = venv.reset(options={"reset_mask": again})
            pending += _turns(base, observations, infos, first=again, only=again)


def _turns(
    base: GroupVectorEnv,
    observations: Sequence[str],
    infos: Mapping[str, Any],
    *,
    first: NDArray[np.bool_] | None,
    only: NDArray[np.bool_] | None = None,
) -> list[Turn]:
    """The siblings that await an action, with what they need to know."""
    awaiting = base.running if only is None else base.running & only
    # as lists, of which single entries are taken several times as fast
    columns = [
        (key, values.tolist(), infos[f"_{key}"].tolist()) for key, values in infos.items() if not key.startswith("_")
    ]
    turns = []
    for sibling in np.flatnonzero(awaiting).tolist():
        info = {key: values[sibling] for key, values, has in columns if has[sibling]}
        turns.append(Turn(sibling, first is not None and bool(first[sibling]), observations[sibling], info))
    return turns
