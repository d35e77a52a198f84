"""Minibatches: each decision once, and the same ones however many processes share them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scpo_agents.batches import derived_seed, minibatches, rollout_numbers


class Fellow:
    """One of several processes, whose gathering is prepared."""

    def __init__(self, rank: int, parts: list[Any]) -> None:
        self.rank, self.count, self.parts = rank, len(parts), parts

    def gather(self, value: Any) -> list[Any]:
        return self.parts


@given(
    st.lists(st.lists(st.floats(0.1, 9), max_size=20), min_size=1, max_size=4).filter(any),
    st.integers(1, 12),
    st.integers(0, 2**32),
)
def test_processes_deal_as_one_would(parts: list[list[float]], size: int, seed: int) -> None:
    arrays = [np.array(part, dtype=np.float64) for part in parts]
    whole = np.concatenate(arrays)
    alone = list(minibatches(whole, size, seed=seed, processes=Fellow(0, [whole])))  # type: ignore[arg-type]
    assert sorted(np.concatenate([members for members, _ in alone]).tolist()) == list(range(len(whole)))
    for members, shares in alone:
        assert len(members) <= size and np.isclose(shares.sum(), 1)
    before, dealt = 0, [([], []) for _ in alone]  # type: ignore[var-annotated]
    for rank, part in enumerate(arrays):
        own = list(minibatches(part, size, seed=seed, processes=Fellow(rank, arrays)))  # type: ignore[arg-type]
        assert len(own) == len(alone)
        for batch, (members, shares) in enumerate(own):
            dealt[batch][0].extend((members + before).tolist())
            dealt[batch][1].extend(shares.tolist())
        before += len(part)
    for (members, shares), (every, scaled) in zip(alone, dealt, strict=True):
        order = np.argsort(every)
        assert sorted(every) == sorted(members.tolist())
        np.testing.assert_allclose(np.array(scaled)[order], shares[np.argsort(members)])


def test_seeds_for_different_purposes_differ() -> None:
    seeds = {derived_seed(seed, purpose, step) for seed in range(3) for purpose in range(6) for step in range(50)}
    assert len(seeds) == 900


class Sharer(Fellow):
    """One of several processes that gather weights and numbers of rollouts."""

    def gather(self, value: Any) -> list[Any]:
        return [part[value.dtype.kind == "i"] for part in self.parts]


@given(
    st.lists(st.lists(st.integers(1, 6), max_size=6), min_size=1, max_size=3).filter(any),
    st.integers(1, 12),
    st.integers(0, 2**32),
)
def test_rollouts_that_are_shuffled_whole_stay_together(lengths: list[list[int]], size: int, seed: int) -> None:
    numbers = [rollout_numbers([range(length) for length in own]) for own in lengths]
    parts = [(np.ones(len(own)), own) for own in numbers]
    through = rollout_numbers([range(length) for own in lengths for length in own])
    dealt: list[list[int]] = []
    before = 0
    for rank, (weights, own) in enumerate(parts):
        batches = minibatches(weights, size, seed=seed, processes=Sharer(rank, parts), rollouts=own)  # type: ignore[arg-type]
        for index, (members, _) in enumerate(batches):
            if rank == 0:
                dealt.append([])
            dealt[index].extend((members + before).tolist())
        before += len(own)
    assert sorted(one for batch in dealt for one in batch) == list(range(len(through)))
    assert all(len(batch) == size for batch in dealt[:-1])
    # a rollout is cut only where a minibatch is full: at most one goes on from each to the next
    for batch, following in pairwise(dealt):
        assert len({through[one] for one in batch} & {through[one] for one in following}) <= 1


def test_decisions_know_their_rollout() -> None:
    assert rollout_numbers([["a", "b"], [], ["c"]]).tolist() == [0, 0, 2]
