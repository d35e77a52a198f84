"""Plots of runs: learning curves, success by kind of task, credit, and where the time goes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from scpo_agents.runs import Setting, band, final_success
from scpo_envs.errors import MissingExtraError

SUFFIXES = (".png", ".svg", ".pdf")

# Okabe and Ito's palette, told apart by readers of any colour vision; without yellow, too pale for a line.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_STYLES = ("-", "--", ":", "-.")
_PHASES = {"act": "#0072B2", "env": "#009E73", "credit": "#D55E00", "update": "#E69F00", "other": "#999999"}
_LEGEND = 150
"""About how many characters fit side by side."""
_X = {"env_steps": "environment steps", "iteration": "iteration"}
_STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e5e5",
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "scpo",  # equal plots are equal files
}

Panel = Callable[[Any], None]
"""Draws into a pair of axes."""


def plot_runs(
    settings: Sequence[Setting],
    out: Path,
    *,
    x: Literal["env_steps", "iteration"] = "env_steps",
    smooth: int = 1,
) -> Path:
    """Draw settings side by side into one figure; what no run has measured has no panel.

    Args:
        settings: The settings, each a line, with a band from the lowest to the highest seed.
        out: The file to write; its suffix says whether PNG, SVG or PDF.
        x: What runs along the curves.
        smooth: Iterations that a point of a training curve is the mean of. Evaluations are shown as they are.

    Returns:
        The file.

    Raises:
        ValueError: The suffix is none of these.
        MissingExtraError: matplotlib is not installed.
    """
    if out.suffix not in SUFFIXES:
        raise ValueError(f"a plot is written as {', '.join(SUFFIXES)}, not as {out.name!r}")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("plots", "plot") from error
    with matplotlib.rc_context(_STYLE):
        panels = _panels(settings, x, smooth)
        rows = (len(panels) + 1) // 2
        columns = max(1, min(3, _LEGEND // (36 + max(len(setting.label) for setting in settings))))
        height = 2.9 * rows + 0.22 * (1 + len(settings) / columns)
        figure = Figure(figsize=(10, height), layout="constrained")
        axes = figure.subplots(rows, 2, squeeze=False).ravel()
        for panel, ax in zip(panels, axes, strict=False):
            panel(ax)
        for ax in axes[len(panels) :]:
            ax.set_axis_off()
        handles, labels = next(iter(figure.axes)).get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=columns)
        out.parent.mkdir(parents=True, exist_ok=True)
        metadata = {"Date": None} if out.suffix == ".svg" else None
        figure.savefig(out, dpi=150, metadata=metadata)
    return out


def _panels(settings: Sequence[Setting], x: str, smooth: int) -> list[Panel]:
    names = sorted({key for one in settings for run in one.runs for line in run.evaluations for key in line})
    splits = [key.split("/")[1] for key in names if key.startswith("eval/") and key.endswith("/success")]
    panels = [_curves(settings, "success", "success while training", x, smooth, share=True)]
    panels += [_curves(settings, f"eval/{split}/success", f"success in {split}", x, 1, share=True) for split in splits]
    if any(len(final_success(run)) > 1 for one in settings for run in one.runs):
        panels.append(_kinds(settings))
    panels.append(_curves(settings, "groups/mixed", "groups with both outcomes", x, smooth, share=True))
    measured = {key for one in settings for run in one.runs for line in run.iterations for key in line}
    if "credit/matched" in measured:
        title = "credited steps of failed rollouts beside a success"
        panels.append(_curves(settings, "credit/matched", title, x, smooth, share=True, top=None))
        title = "credit of such a rollout, all steps together"
        panels.append(_curves(settings, "credit/rollout", title, x, smooth, share=False))
    if "time/total" in measured:
        panels.append(_phases(settings))
    return panels


def _curves(
    settings: Sequence[Setting], name: str, title: str, x: str, smooth: int, *, share: bool, top: float | None = 1.0
) -> Panel:
    """A line for each setting, with its seeds' range; a share is in per cent, by default with all of 0 to 1 in view."""

    def draw(ax: Any) -> None:
        for index, setting in enumerate(settings):
            found = band(setting.runs, name, x=x, smooth=smooth)
            if found is None:
                continue
            colour, style = _look(index)
            marker = "o" if found.runs == 1 and len(found.x) < 25 else None  # between seeds, points are interpolated
            label = setting.label + ("" if found.runs == 1 else f" (mean and range of {found.runs} seeds)")
            ax.plot(found.x, found.mean, style, color=colour, marker=marker, markersize=3, label=label)
            if found.runs > 1:
                ax.fill_between(found.x, found.low, found.high, color=colour, alpha=0.18, linewidth=0)
        ax.set_title(title)
        ax.set_xlabel(_X[x] + ("" if smooth == 1 else f"; a point is the mean of {smooth} iterations"))
        ax.margins(y=0.1)
        ax.set_ylim(0, top if share else None)
        if share:
            ax.yaxis.set_major_formatter(_percent)
        ax.xaxis.set_major_formatter(_thousands)

    return draw


def _kinds(settings: Sequence[Setting]) -> Panel:
    """Bars by kind of task, with a dot for each seed."""

    def draw(ax: Any) -> None:
        results = [[final_success(run) for run in setting.runs] for setting in settings]
        kinds = [kind for kind in sorted({kind for runs in results for run in runs for kind in run}) if kind != "all"]
        rows = np.arange(len(kinds) + 1)
        height = 0.8 / len(settings)
        for index, runs in enumerate(results):
            where = rows + (index - (len(settings) - 1) / 2) * height
            seeds = np.array([[run.get(kind, np.nan) for kind in (*kinds, "all")] for run in runs])
            ax.barh(where, seeds.mean(0), height * 0.9, color=_look(index)[0])
            if len(runs) > 1:
                for seed in seeds:
                    ax.plot(seed, where, "o", color="black", markersize=2.5, clip_on=False)
        evaluated = all(run.evaluations for setting in settings for run in setting.runs)
        ax.set_title("success at the end, " + ("last evaluation, all splits" if evaluated else "last iterations"))
        ax.set_yticks(rows, [kind.removesuffix("_in_recep") for kind in (*kinds, "all")])
        ax.invert_yaxis()
        ax.grid(visible=False, axis="y")
        ax.set_xlim(0, 1)
        ax.xaxis.set_major_formatter(_percent)
        if any(len(runs) > 1 for runs in results):
            ax.set_xlabel("mean; a dot is a seed")

    return draw


def _phases(settings: Sequence[Setting]) -> Panel:
    """Mean seconds of an iteration, phase by phase."""

    def draw(ax: Any) -> None:
        lines = [[line for run in setting.runs for line in run.iterations] for setting in settings]
        left, few = np.zeros(len(settings)), len(settings) < 6
        for phase, colour in _PHASES.items():
            seconds = np.array(
                [np.mean([line.get(f"time/{phase}", 0.0) for line in own]) if own else 0.0 for own in lines]
            )
            ax.barh(range(len(settings)), seconds, 0.6, left=left, color=colour, label=phase)
            left += seconds
        ax.set_title("time of an iteration, by phase")
        ax.set_xlabel("seconds, mean over iterations and seeds")
        ax.set_yticks(range(len(settings)), [_shortened(one.label, 2 if few else 1) for one in settings])
        ax.tick_params("y", labelsize=9 if few else 6)
        ax.set_ylim(len(settings) + (len(settings) == 1) - 0.5, -0.5 - (len(settings) == 1))  # the first on top
        ax.grid(visible=False, axis="y")
        ax.legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.2), columnspacing=1, handlelength=1)

    return draw


def _look(index: int) -> tuple[str, str]:
    """Colour and line style; beyond the palette, other line styles tell settings apart."""
    return _COLOURS[index % len(_COLOURS)], _STYLES[index // len(_COLOURS) % len(_STYLES)]


def _percent(value: float, _position: int) -> str:
    return f"{value:.0%}"


def _thousands(value: float, _position: int) -> str:
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"


def _shortened(label: str, lines: int) -> str:
    """The first lines of a label."""
    return "\n".join(textwrap.wrap(label, 30, max_lines=lines, placeholder=" ..."))
