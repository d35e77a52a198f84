"""Collects groups of sibling rollouts and shows the credit that SCPO finds in them."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from scpo_envs.commands.arguments import keyword_arguments
from scpo_envs.rollouts import RolloutGroup, write_groups


def rollout(
    env: Annotated[str, tyro.conf.Positional] = "SCPO-ALFWorld-v0",
    *,
    policy: Annotated[str, tyro.conf.arg(aliases=("--agent",))] = "noisy-expert",
    groups: int = 8,
    group_size: int = 8,
    seed: int = 0,
    out: Path = Path("runs/rollouts.jsonl"),
    env_arg: tyro.conf.UseAppendAction[tuple[str, ...]] = (),
    policy_arg: tyro.conf.UseAppendAction[tuple[str, ...]] = (),
    parallel: int = 8,
    workers: Literal["serial", "process", "ray"] = "serial",
    alpha: float = 0.5,
    lam: float | None = None,
    show: int = 3,
    all_steps: bool = False,
) -> int:
    """Roll out groups of siblings, shape them with SCPO, show the credit, and write a JSON Lines file.

    Args:
        env: Id of the environment.
        policy: Who acts: random, expert, noisy-expert, checkpoint:FOLDER, openai:URL, or another package's.
        groups: How many groups to collect.
        group_size: Siblings in a group.
        seed: Decides the games and the policy's choices.
        out: The file to write; an existing one is replaced.
        env_arg: An argument of the environment, as KEY=VALUE; may be given several times.
        policy_arg: An option of the policy, as KEY=VALUE; may be given several times.
        parallel: Groups played at once.
        workers: Where the environments run; "ray" joins the cluster of RAY_ADDRESS, or starts one here.
        alpha: Weight of the credit, as a share of the success reward.
        lam: Threshold of the similarity; by default the matcher's own.
        show: How many groups to show step by step, those with credit first.
        all_steps: Show every step instead of folding those without credit.
    """
    import gymnasium as gym

    from scpo_envs.commands.tables import group_table, summary_table
    from scpo_envs.policies import collect, make_policy
    from scpo_envs.registration import check_arguments
    from scpo_envs.vector.entry_points import VECTOR_ARGUMENTS
    from scpo_envs.wrappers import ScpoReward

    if groups < 1:
        raise ValueError(f"--groups must be at least 1, not {groups}")
    arguments = keyword_arguments(env_arg)
    check_arguments(env, arguments.keys() - VECTOR_ARGUMENTS)
    console = Console()
    venv = gym.make_vec(
        env,
        num_envs=min(parallel, groups) * group_size,
        group_size=group_size,
        workers=workers,
        **arguments,
    )
    shaped = ScpoReward(venv, alpha=alpha, lam=lam)
    actor = make_policy(policy, seed=seed, **keyword_arguments(policy_arg))
    progress = _Progress(console, groups)
    kept: list[RolloutGroup] = []
    with contextlib.closing(shaped), progress.live:
        collected = collect(shaped, actor, groups=groups, seed=seed, on_step=progress.step)
        write_groups(out, progress.watch(_keep(collected, kept)))
    for group in _most_telling(kept, show):
        console.print(group_table(group, all_steps=all_steps))
        console.print()
    console.print(summary_table(kept))
    console.print(progress.summary(out), highlight=False)
    return 0


@dataclass
class _Progress:
    """Counts what is collected, and shows it while it happens."""

    console: Console
    groups: int
    steps: int = 0
    rollouts: int = 0
    won: int = 0
    mixed: int = 0
    credited: int = 0
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self._bar = Progress(
            TextColumn("groups"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
            console=self.console,
        )
        self._task = self._bar.add_task("groups", total=self.groups, text="")
        self.live = Live(self._bar, console=self.console, transient=True, refresh_per_second=8)

    def step(self, used: int) -> None:
        self.steps += used

    def watch(self, groups: Iterable[RolloutGroup]) -> Iterator[RolloutGroup]:
        for group in groups:
            self.rollouts += len(group)
            self.won += len(group.successes)
            self.mixed += bool(group.successes and group.failures)
            self.credited += sum(bool(step.credit) for rollout in group.rollouts for step in rollout.steps)
            self._bar.update(self._task, advance=1, text=f"{self.won}/{self.rollouts} won, {self.steps:,} steps")
            yield group

    def summary(self, out: Path) -> str:
        seconds = time.perf_counter() - self.started
        return (
            f"{self.groups} groups, {self.rollouts} rollouts, {self.won} won; {self.mixed} groups with both outcomes, "
            f"{self.credited} failed steps credited. {self.steps:,} env steps in {seconds:.1f} s. Written: {out}"
        )


def _keep(groups: Iterable[RolloutGroup], kept: list[RolloutGroup]) -> Iterator[RolloutGroup]:
    for group in groups:
        kept.append(group)
        yield group


def _most_telling(groups: list[RolloutGroup], count: int) -> list[RolloutGroup]:
    """Groups with much credit, of different kinds of task where possible, in the order they were played."""

    def credit(group: RolloutGroup) -> float:
        return sum(step.credit or 0.0 for rollout in group.rollouts for step in rollout.steps)

    seen: Counter[str] = Counter()
    ranks = []
    for index in sorted(range(len(groups)), key=lambda index: -credit(groups[index])):
        kind = groups[index].info.get("task_type", "")
        ranks.append((seen[kind], -credit(groups[index]), index))
        seen[kind] += 1
    return [groups[index] for index in sorted(index for _, _, index in sorted(ranks)[:count])]
