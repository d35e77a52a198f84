"""Minibatches over all processes: which of a process's decisions each one holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scpo_agents.processes import Processes


def derived_seed(seed: int, *path: int) -> int:
    """A seed for one purpose, a stable hash of the run's seed and a path of numbers."""
    return int(np.random.SeedSequence([seed, *path]).generate_state(1)[0])


def rollout_numbers(rollouts: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    """The number of the rollout that each of their decisions belongs to, end to end."""
    return np.repeat(np.arange(len(rollouts)), [len(rollout) for rollout in rollouts])


def minibatches(
    weights: NDArray[np.float64],
    size: int,
    *,
    seed: int,
    processes: Processes,
    rollouts: NDArray[np.int64] | None = None,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Deal all processes' decisions out into minibatches, each decision once.

    How they are dealt depends on their whole number and the seed, not on how many processes share them: one process
    and many make the same minibatches, of decisions counted through process after process.

    Args:
        weights: Weights of this process's decisions, shape (n,).
        size: Decisions a minibatch, over all processes; the last is smaller.
        seed: Decides the order.
        processes: Those that share the decisions.
        rollouts: The rollout of each of this process's decisions, ascending from 0, shape (n,): whole rollouts are
            shuffled, their decisions staying together, cut only where a minibatch is full. None shuffles decisions.

    Yields:
        The indices of this process's decisions in the next minibatch, and their weights, scaled so that those of the
        whole minibatch add up to 1. Every process gets as many minibatches, some of them perhaps empty.
    """
    parts: Sequence[NDArray[np.float64]] = processes.gather(weights)
    every = np.concatenate(parts)
    before = sum(len(part) for part in parts[: processes.rank])
    rng = np.random.default_rng(seed)
    if rollouts is None:
        order = rng.permutation(len(every))
    else:
        numbers = _numbered_through(processes.gather(rollouts))
        order = np.argsort(rng.permutation(int(numbers.max(initial=-1)) + 1)[numbers], kind="stable")
    for start in range(0, len(order), size):
        members = order[start : start + size]
        own = members[(members >= before) & (members < before + len(weights))]
        yield own - before, every[own] / every[members].sum()


def _numbered_through(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Numbers that begin anew in each part, as numbers that go on."""
    before, through = 0, []
    for part in parts:
        through.append(part + before)
        before += int(part.max(initial=-1)) + 1
    return np.concatenate(through)
