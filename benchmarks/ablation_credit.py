"""Whether SCPO's credit goes to steps that help, and what GiGPO leaves of it: the two halves of its ablation explained.

    python benchmarks/ablation_credit.py --policy checkpoint:runs/ablation/warm-start/start
    python benchmarks/ablation_credit.py --world webshop --policy checkpoint:runs/ablation/webshop/gigpo/seed-0/last

Groups are played in training games as in `benchmarks/ablation.py`. On ALFWorld a planner that knows everything then
says of every step of a failed rollout whether it brought the game nearer to its goal, in commands still needed.
(Looking for an object where it is not counts as no help, though an agent that does not know better has to look.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import gymnasium as gym
import numpy as np
import tyro
from ablation import METHODS, World  # beside this file
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from scpo_envs.alfworld.engine import State
from scpo_envs.alfworld.games import open_games
from scpo_envs.alfworld.planner import plan
from scpo_envs.credit import StepTable, advantages, with_rewards
from scpo_envs.credit.estimators.anchors import anchor_ids
from scpo_envs.policies import collect, make_policy
from scpo_envs.rollouts import RolloutGroup

Floats = NDArray[np.float64]
CREDITING = [name for name in METHODS if name.startswith("scpo")]
ENVS: Mapping[World, dict[str, Any]] = {
    "alfworld": {"id": "SCPO-ALFWorld-v0", "max_episode_steps": 30},
    "webshop": {"id": "SCPO-WebShop-v0"},
}
"""What is played in each world: as the ablation trains."""

LOST = 10**6
"""Commands still needed where a goal cannot be reached any more."""


def main(
    policy: str = "checkpoint:runs/ablation/warm-start/start",
    world: World = "alfworld",
    groups: int = 96,
    seed: int = 500,
    gammas: tuple[float, ...] = (0.9, 0.95, 0.99),
    alphas: tuple[float, ...] = (0.1, 0.5),
) -> None:
    """Play, and print what became of the credit.

    Args:
        policy: Who plays.
        world: Where.
        groups: Groups of 8 siblings.
        seed: Decides the games and the policy's choices.
        gammas: Discounts to try.
        alphas: Weights of the credit to try.
    """
    venv = gym.make_vec(**ENVS[world], num_envs=128, group_size=8, split="train")
    with closing(venv):
        played = list(collect(venv, make_policy(policy, seed=seed), groups=groups, seed=seed))
    mixed = [with_rewards(group, "success") for group in played if group.successes and group.failures]
    if not mixed:
        raise SystemExit(f"none of {len(played)} groups has both outcomes: let another policy play than {policy}")
    console = Console(width=200)
    failed = sum(len(group.failures) for group in mixed)
    console.print(f"{len(played)} groups, {len(mixed)} with both outcomes, in these {failed} failed rollouts\n")
    if world == "alfworld":
        console.print(whom(mixed))
        console.print()
    console.print(where(mixed))
    console.print(effect(mixed, gammas, alphas))


def gains(group: RolloutGroup, distance: Callable[[State], int]) -> Floats:
    """How much nearer each step brought a game to its goal, rollout after rollout, shape (steps of the group,)."""
    start, result = open_games().load(group.task).start, []
    for rollout in group.rollouts:
        state = start
        before = distance(state)
        for step in rollout.steps:
            state = state.step(step.action)[1]
            after = distance(state)
            result.append(before - after)
            before = after
    return np.array(result, dtype=np.float64)


def remembering() -> Callable[[State], int]:
    """Commands that a state still needs; each state is planned once."""
    known: dict[State, int] = {}

    def distance(state: State) -> int:
        if state not in known:
            commands = plan(state)
            known[state] = LOST if commands is None else len(commands)
        return known[state]

    return distance


def whom(groups: Sequence[RolloutGroup]) -> Table:
    """Which failed steps are credited, by rule, beside what successes and failures did on the whole."""
    distance = remembering()
    gain = np.concatenate([gains(group, distance) for group in groups])
    won = _won(groups)
    printed = _table("credit to", "failed steps", "a failed rollout", "nearer", "no nearer", "farther")
    printed.add_row("(all steps of successes)", "", "", *_shares(won.astype(np.float64), gain))
    printed.add_row("(all failed steps)", "", "", *_shares((~won).astype(np.float64), gain))
    failures = sum(len(group.failures) for group in groups)
    for name in CREDITING:
        credit = _credit(groups, METHODS[name])
        covered, amount = (credit > 0).sum() / (~won).sum(), credit.sum() / failures
        printed.add_row(name, f"{covered:.1%}", f"{amount:.2f}", *_shares(credit, gain))
    return printed


def where(groups: Sequence[RolloutGroup]) -> str:
    """In which anchor groups the credit lies, and how much of it siblings that did the same take from each other."""
    table = StepTable.of(groups)
    anchors, credit, won = anchor_ids(table), _credit(groups, METHODS["scpo"]), _won(groups)
    alone = np.bincount(anchors)[anchors] == 1
    beside = np.bincount(anchors, weights=won)[anchors] > 0
    actions = [step.action for group in groups for rollout in group.rollouts for step in rollout.steps]
    choices: dict[tuple[int, str], int] = {}
    choice = [choices.setdefault(key, len(choices)) for key in zip(anchors.tolist(), actions, strict=True)]
    shaped, raw = (table.flatten(advantages(groups, name).step) for name in ("scpo", "gigpo"))
    net = np.abs(np.bincount(choice, weights=shaped - raw)).sum() / np.abs(shaped - raw).sum()
    return (
        f"Of scpo's credit, {credit[alone].sum() / credit.sum():.1%} lies on steps that share their observation "
        f"with none, {credit[beside].sum() / credit.sum():.1%} on those that share it with a step of a success.\n"
        f"Of all failed steps, {(beside & ~won).sum() / (~won).sum():.1%} share it with a step of a success.\n"
        f"Added up over siblings that did the same where they saw the same, {net:.1%} of the changes in A^S remain.\n"
    )


def effect(groups: Sequence[RolloutGroup], gammas: Sequence[float], alphas: Sequence[float]) -> Table:
    """What GiGPO makes of the credit."""
    table = StepTable.of(groups)
    anchors, credit, won = anchor_ids(table), _credit(groups, METHODS["scpo"]), _won(groups)
    printed = _table("gamma", "alpha", "A^S of successes", "of credited steps", "credited above a success")
    for gamma in gammas:
        for alpha in (0.0, *alphas):
            step = table.flatten(advantages(groups, "scpo", gamma=gamma, alpha=alpha).step)
            best = np.full(anchors.max() + 1, -np.inf)
            np.maximum.at(best, anchors[won], step[won])
            beside = (credit > 0) & np.isfinite(best[anchors])
            printed.add_row(
                f"{gamma:g}",
                f"{alpha:g}",
                f"{step[won].mean():+.3f}",
                f"{np.average(step, weights=credit):+.3f}",
                f"{(step > best[anchors])[beside].mean():.1%}",
            )
    return printed


def _won(groups: Sequence[RolloutGroup]) -> NDArray[np.bool_]:
    """Whether each step is one of a success, shape (N,)."""
    return np.array([rollout.won for group in groups for rollout in group.rollouts for _ in rollout.steps])


def _shares(weights: Floats, gain: Floats) -> Iterator[str]:
    for chosen in (gain > 0, gain == 0, gain < 0):
        yield f"{weights[chosen].sum() / weights.sum():.1%}"


def _credit(groups: Sequence[RolloutGroup], settings: Mapping[str, Any]) -> Floats:
    """The credit of each step under a method's settings, shape (N,)."""
    credit = advantages(groups, **settings).credit
    if credit is None:
        raise ValueError(f"{settings['estimator']!r} gives no credit")
    return StepTable.of(groups).flatten(credit)


def _table(*columns: str) -> Table:
    table = Table(box=box.MARKDOWN)
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    return table


if __name__ == "__main__":
    tyro.cli(main)
