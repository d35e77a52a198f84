"""`scpo plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro


def plot(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    /,
    *,
    out: Path = Path("plot.png"),
    x: Literal["env_steps", "iteration"] = "env_steps",
    smooth: int = 1,
) -> int:
    """Draw training runs: learning curves, success by kind of task, credit, seconds by phase.

    Runs that differ in their seed alone become one line, the mean, with a band from the lowest to the highest. A line
    is named by a few settings that tell it from the others; all that differ are printed.

    Args:
        runs: Folders of runs, or folders that hold some at any depth.
        out: The file to write: .png, .svg or .pdf.
        x: What runs along the curves.
        smooth: Iterations that a point of a training curve is the mean of; evaluations stay as they are.
    """
    from scpo_agents.plots import plot_runs
    from scpo_agents.runs import differences, find_runs, group_runs

    if not runs:
        raise ValueError("name at least one run, such as runs/alfworld-scorer-scpo")
    found = find_runs(runs)
    settings = group_runs(found)
    for label, values in differences(settings).items():
        if values:
            print(f"{label}: {', '.join(f'{key}={value}' for key, value in values.items())}")
    print(f"Written: {plot_runs(settings, out, x=x, smooth=smooth)} (runs: {len(found)}, settings: {len(settings)})")
    return 0
