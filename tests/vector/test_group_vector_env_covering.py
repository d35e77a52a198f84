"""Samplers that cover every game."""

from __future__ import annotations

import numpy as np
import pytest

from scpo_envs.vector import GroupVectorEnv
from tests.toy import ToyEnv, make_toy
from tests.vector.play import Players


@pytest.mark.parametrize(("games", "groups"), [(16, 4), (10, 4), (3, 5), (1, 1)])
def test_cover_visits_each_game_exactly_once(games: int, groups: int) -> None:
    venv = GroupVectorEnv(
        lambda: make_toy(expert=True, num_games=games), num_envs=2 * groups, group_size=2, sampler="cover"
    )
    observations, info = venv.reset(seed=1)
    players, visited = Players(2 * groups), []
    while venv.running.any():
        observations, _, _, _, info = venv.step(players(venv, observations, info))
        visited += [(int(info["group"][at]), info["rollouts"][at]) for at in np.flatnonzero(info["_rollouts"])]
        if info["group_done"].any():
            observations, info = venv.reset(options={"reset_mask": info["group_done"]})
            assert not (info["exhausted"] & info["active"]).any()
    assert info["exhausted"].all()
    ids = make_toy(num_games=games).unwrapped.game_ids  # type: ignore[attr-defined]
    assert sorted(group.task for _, group in visited) == sorted(ids)
    for group, rollouts in visited:  # whatever the pace of the groups
        assert rollouts.task == ids[rollouts.info["episode"] * groups + group]


def test_cover_begins_anew_with_a_seed_and_refuses_named_games() -> None:
    venv = GroupVectorEnv(lambda: make_toy(num_games=3), num_envs=2, sampler="cover")
    assert venv.reset(seed=0)[1]["game"].tolist() == ["toy/brass/00", "toy/jade/01"]
    _, info = venv.reset()
    assert info["game"].tolist() == ["toy/brass/02", None] and info["exhausted"].tolist() == [False, True]
    _, info = venv.reset()
    assert info["exhausted"].all() and not venv.running.any()
    assert "game" not in info
    assert venv.reset(seed=0)[1]["game"].tolist() == ["toy/brass/00", "toy/jade/01"]
    for options in ({"games": [None, None]}, {"game": "toy/brass/00"}):
        with pytest.raises(ValueError, match="cover"):
            venv.reset(options=options)


def test_a_sampler_of_ids_covers_these_games_in_their_order() -> None:
    ids = ("toy/brass/02", "toy/brass/00", "toy/jade/01", "toy/brass/02")
    venv = GroupVectorEnv(lambda: make_toy(num_games=4), num_envs=3, sampler=ids)
    assert venv.reset(seed=0)[1]["game"].tolist() == list(ids[:3])
    _, info = venv.reset()
    assert info["game"].tolist() == [ids[3], None, None] and info["exhausted"].tolist() == [False, True, True]
    with pytest.raises(ValueError, match="no games"):
        GroupVectorEnv(make_toy, num_envs=1, sampler=())


def test_cover_ends_by_itself_with_same_step_autoreset() -> None:
    venv = GroupVectorEnv(lambda: make_toy(num_games=5), num_envs=2, sampler="cover", autoreset_mode="SameStep")
    venv.reset(seed=0)
    tasks = []
    while venv.running.any():
        _, _, _, _, info = venv.step(["open vault"] * 2)
        tasks += [group.task for group in info["rollouts"][info["_rollouts"]]]
    assert tasks == [f"toy/{'brass' if index % 2 == 0 else 'jade'}/{index:02d}" for index in range(5)]
    assert info["exhausted"].all()


def test_cover_needs_an_environment_that_names_its_games() -> None:
    class Nameless(ToyEnv):
        def __init__(self) -> None:
            super().__init__()
            self.game_ids = ()

    with pytest.raises(ValueError, match="game_ids"):
        GroupVectorEnv(Nameless, num_envs=1, sampler="cover")
