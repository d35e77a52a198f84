"""What the laptop benchmark makes of runs, and its floor in the shop."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs the extra train")

from scpo_agents.evaluate import play_games
from scpo_envs.policies import Turn
from tests.benchmarks import benchmark

laptop = benchmark("laptop")


def turn(*menu: str) -> Turn:
    return Turn(0, False, "a page", {"admissible_commands": menu})


@pytest.mark.parametrize(
    ("menu", "action"),
    [
        (("search[red shoes]", "search[shoes]"), "search[red shoes]"),
        (("click[back to search]", "click[next >]", "click[b01]", "click[b02]"), "click[b01]"),
        (("click[back to search]", "click[< prev]", "click[buy now]", "click[red]"), "click[buy now]"),
        (("click[back to search]",), "click[back to search]"),
    ],
)
def test_the_floor_buys_the_first_hit(menu: tuple[str, ...], action: str) -> None:
    assert laptop.FirstHit().act([turn(*menu)]) == [action]


def test_the_floor_ends_its_episodes_with_a_purchase() -> None:
    games = list(laptop.games_of("SCPO-WebShop-v0", "test", {}))[:8]
    results = list(play_games(laptop.FirstHit(), "SCPO-WebShop-v0", games, split="test"))
    assert [result.game for result in results] == games
    assert {result.steps for result in results} == {3}
    assert any(result.score for result in results)


def test_shares_of_time_are_over_all_iterations_and_leave_evaluations_out() -> None:
    phases = {"time/act": 1.0, "time/env": 1.0, "time/credit": 0.5, "time/update": 2.0, "time/other": 0.5}
    lines = [
        {"iteration": 1, **phases, "time/total": 5.0},
        {"iteration": 1, "eval/test/success": 0.5},
        {"iteration": 2, **dict.fromkeys(phases, 1.0), "time/total": 5.0},
    ]
    assert laptop.time_shares(lines) == (
        "acting 20.0%, environments 20.0%, credit 15.0%, updates 30.0%, the trainer itself 15.0%"
    )
