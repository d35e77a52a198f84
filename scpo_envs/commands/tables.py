"""Tables for the terminal: the credit of one group step by step, and the outcome of many."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from scpo_envs.rollouts import Rollout, RolloutGroup, Step

_VERDICTS = {
    "below_threshold": "unlike",
    "behind_frontier": "no progress",
    "position_taken": "taken",
}


def group_table(group: RolloutGroup, *, all_steps: bool = False) -> Group:
    """One shaped group: its siblings' outcomes, then each failed sibling's steps with their credit.

    Args:
        group: A group that `scpo_envs.credit.shape` or `ScpoReward` has shaped.
        all_steps: Show every step; otherwise a run of steps without credit becomes one line.
    """
    explanation: Mapping[str, Any] = group.info.get("scpo", {})
    reference = explanation.get("reference")
    head = Text.assemble((group.instruction or group.task, "bold"), ("  " + group.task, "dim"))
    parts: list[Any] = [head, _outcomes(group, reference)]
    if reference is None:
        parts.append(Text("No credit: SCPO needs a success and a failure in the same group.", style="dim"))
        return Group(*parts)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column("step", justify="right", style="dim")
    table.add_column("failed sibling's step", overflow="fold", max_width=44)
    table.add_column("alike", justify="right")
    table.add_column(f"step of sibling {reference}", overflow="fold", max_width=48)
    table.add_column("credit", justify="right")
    table.add_column("reward", justify="right")
    table.add_column("shaped", justify="right")
    for match in explanation["matches"]:
        _add_sibling(table, group, group.rollouts[reference], match, all_steps)
    unit = explanation["alpha"] * group.success_reward
    table.caption = (
        f"credit: how far alike exceeds {explanation['lam']:g}, scaled to 1; shaped: reward + {unit:g} x credit"
    )
    table.caption_justify = "left"
    parts.append(table)
    return Group(*parts)


def summary_table(groups: Sequence[RolloutGroup]) -> Table:
    """Outcomes and credit by kind of task."""
    kinds: dict[str, list[RolloutGroup]] = defaultdict(list)
    for group in groups:
        kinds[group.info.get("task_type", "all")].append(group)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)  # fits 80 columns
    table.add_column("task type", no_wrap=True)
    # "mixed" groups have both outcomes; "failed" counts the steps of failed rollouts.
    for name in ("groups", "mixed", "won", "steps", "failed", "credited", "credit"):
        table.add_column(name, justify="right")
    for kind in sorted(kinds):
        _add_summary(table, kind, kinds[kind])
    if len(kinds) > 1:
        table.add_section()
        _add_summary(table, "all", groups)
    return table


def _add_summary(table: Table, name: str, groups: Sequence[RolloutGroup]) -> None:
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    failed = [step for rollout in rollouts if not rollout.won for step in rollout.steps]
    table.add_row(
        name,
        str(len(groups)),
        str(sum(bool(group.successes and group.failures) for group in groups)),
        f"{sum(rollout.won for rollout in rollouts) / max(1, len(rollouts)):.0%}",
        f"{sum(map(len, rollouts)):,}",
        f"{len(failed):,}",
        f"{sum(bool(step.credit) for step in failed):,}",
        f"{sum(step.credit or 0.0 for step in failed):.1f}",
    )


def _outcomes(group: RolloutGroup, reference: int | None) -> Text:
    line = Text("siblings ")
    for index, rollout in enumerate(group.rollouts):
        mark, style = ("✓", "green") if rollout.won else ("✗", "red")
        line.append(f"  {index} ", style="dim")
        line.append(f"{mark} {len(rollout)}", style=style + (" bold reverse" if index == reference else ""))
    if reference is not None:
        line.append(f"   reference: {reference}, the longest success", style="dim")
    return line


def _add_sibling(
    table: Table, group: RolloutGroup, reference: Rollout, match: Mapping[str, Any], all_steps: bool
) -> None:
    rollout = group.rollouts[match["rollout"]]
    credited = sum(match["claimed"])
    total = sum(step.credit or 0.0 for step in rollout.steps)
    table.add_section()
    table.add_row(
        "",
        Text(f"sibling {match['rollout']}: {len(rollout)} steps", style="bold red"),
        "",
        Text(f"{credited} credited", style="bold" if credited else "dim"),
        Text(f"{total:.2f}", style="bold green" if total else "dim"),
    )
    for claimed, run in groupby(range(len(rollout)), key=lambda step: all_steps or match["claimed"][step]):
        indices = list(run)
        if claimed or len(indices) == 1:
            for index in indices:
                table.add_row(*_step_row(index, rollout.steps[index], reference, match))
        else:
            table.add_row(*_folded_row(indices, match))


def _step_row(index: int, step: Step, reference: Rollout, match: Mapping[str, Any]) -> Iterator[Text]:
    position, credit = match["position"][index], step.credit or 0.0
    bright = "" if match["claimed"][index] else "dim"
    matched = Text(f"{position:>2} {reference.steps[position].action}", style=bright)
    if not match["claimed"][index]:
        matched.append(f"  {_VERDICTS[match['verdict'][index]]}", style="italic")
    yield Text(str(index), style="dim")
    yield Text(step.action, style=bright)
    yield Text(f"{match['score'][index]:.2f}", style=bright)
    yield matched
    yield Text(f"{credit:.2f}" if credit else "·", style="green" if credit else "dim")
    yield Text(f"{step.reward:.2f}", style=bright)
    shaped = step.reward if step.shaped_reward is None else step.shaped_reward
    yield Text(f"{shaped:.2f}", style="bold green" if shaped > step.reward else bright)


def _folded_row(indices: Sequence[int], match: Mapping[str, Any]) -> Iterator[Text]:
    reasons = Counter(_VERDICTS[match["verdict"][index]] for index in indices)
    yield Text(f"{indices[0]}–{indices[-1]}", style="dim")
    yield Text(f"… {len(indices)} uncredited", style="dim italic")
    yield Text("")
    yield Text(", ".join(f"{count} {reason}" for reason, count in reasons.most_common()), style="dim italic")
