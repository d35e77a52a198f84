"""What a run shows: live in a terminal, one line an iteration elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from scpo_agents.config import TrainConfig

_BARS = "▁▂▃▄▅▆▇█"
_CURVE = 60, 6
"""Columns and rows of the live curve."""

PHASE_NAMES: Mapping[str, str] = {
    "act": "acting",
    "env": "environments",
    "credit": "credit",
    "update": "updates",
    "other": "the trainer itself",
}
"""The phases of an iteration, as they are shown."""

_SHOWN = {
    "length": "steps an episode",
    "groups/mixed": "groups with both outcomes",
    "credit/rollout": "credit a failed rollout",
    "credit/matched": "failed steps credited",
    "update/entropy": "entropy",
    "update/shift": "KL a step",
    "update/clipped": "clipped",
}


class Display:
    """Shows how a run goes.

    Args:
        config: The run's settings.
        console: Where to; None shows nothing.
    """

    def __init__(self, config: TrainConfig, console: Console | None) -> None:
        self._config = config
        self._console = console or Console(quiet=True)
        self._live: Live | None = None
        self._busy = ""
        self._last: Mapping[str, float] = {}
        self._success: list[float] = []
        self._evaluated: dict[str, list[float]] = {}
        self._seconds = dict.fromkeys(PHASE_NAMES, 0.0)
        self._began = time.perf_counter()

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._live = Live(get_renderable=self._picture, console=self._console, refresh_per_second=4)
            self._live.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)
            self._live = None

    def note(self, text: str) -> None:
        """Print a sentence."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Say what takes its time."""
        self._busy = text
        try:
            yield
        finally:
            self._busy = ""

    def epoch(self, number: int, loss: float) -> None:
        """Show an epoch of cloning."""
        self.note(f"cloning, epoch {number + 1} of {self._config.clone.epochs}: {loss:.3f} nats a token")

    def iteration(self, measured: Mapping[str, float]) -> None:
        """Show what an iteration measured."""
        self._last = measured
        self._success.append(measured["success"])
        for phase in PHASE_NAMES:
            self._seconds[phase] += measured[f"time/{phase}"]
        if self._live is None:
            self.note(
                f"iteration {measured['iteration']:.0f} of {self._config.update.iterations}: "
                f"success {measured['success']:.2f} {level(measured['success'])} "
                f"{measured['env_steps']:,.0f} env steps, {measured['time/total']:.1f} s"
            )

    def evaluation(self, measured: Mapping[str, float]) -> None:
        """Show an evaluation."""
        for split in self._config.evaluate.splits:
            self._evaluated.setdefault(split, []).append(measured[f"eval/{split}/success"])
        shares = ", ".join(f"{split} {values[-1]:.3f}" for split, values in self._evaluated.items())
        self.note(f"evaluation after iteration {measured['iteration']:.0f}: success {shares}")

    def end(self) -> None:
        """Show where the time of all iterations went."""
        total = sum(self._seconds.values())
        if total:
            shares = ", ".join(f"{name} {self._seconds[phase] / total:.1%}" for phase, name in PHASE_NAMES.items())
            self.note(f"iterations took {total:.0f} s: {shares}")

    def _picture(self) -> Group:
        own, last = self._config, self._last
        done = int(last.get("iteration", 0))
        head = Text.assemble(
            (str(own.out), "bold"),
            f"  {own.agent.name}, {own.advantage.estimator}, {own.groups.tasks} x {own.groups.siblings}",
        )
        table = Table.grid(padding=(0, 1))
        width, height = _CURVE
        share = max(done / max(1, own.update.iterations), last.get("env_steps", 0) / (own.update.env_steps or math.inf))
        bar = ProgressBar(total=1, completed=share, width=width)
        minutes, seconds = divmod(int(time.perf_counter() - self._began), 60)
        table.add_row("iteration", bar, f"{done}/{own.update.iterations}  {minutes}:{seconds:02d}")
        curve = Text("\n".join(chart(self._success, min(width, round(share * width)), height)), style="green")
        table.add_row("success" + "\n" * (height - 1) + "0", curve, f"1\n\n\n{_latest(self._success)}")
        for split, values in self._evaluated.items():
            table.add_row(split, Text(sparkline(values), style="cyan"), _latest(values))
        numbers = "  ".join(f"{name} {last[key]:.3g}" for key, name in _SHOWN.items() if key in last)
        picture = Group(head, table, Text(numbers, style="dim"), Text(_pace(last), style="dim"))
        return Group(picture, Spinner("dots", self._busy)) if self._busy else picture


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Shares in [0, 1] as a row of bars, each the mean of its stretch."""
    return "".join(
        _BARS[min(len(_BARS) - 1, max(0, int(value * len(_BARS))))] for value in _means(values, min(len(values), width))
    )


def chart(values: Sequence[float], width: int, height: int) -> list[str]:
    """Shares in [0, 1] as bars of several rows, the top one first.

    Args:
        values: Shares in their order.
        width: Columns to spread them over.
        height: Rows that are 1 together.
    """
    columns = _means(values, width if values else 0)
    return ["".join(_part(value * height - row) for value in columns) for row in reversed(range(height))]


def level(value: float, width: int = 20) -> str:
    """A share in [0, 1] as a bar lying down, filled up with dots."""
    filled = round(min(1.0, max(0.0, value)) * width)
    return "█" * filled + "·" * (width - filled)


def _means(values: Sequence[float], count: int) -> list[float]:
    """As many numbers, each the mean of its stretch, or the same as its neighbour where there are fewer."""
    edges = [len(values) * index // count for index in range(count + 1)] if count else []
    stretches = [values[a : max(b, a + 1)] for a, b in pairwise(edges)]
    return [sum(stretch) / len(stretch) for stretch in stretches]


def _part(filled: float) -> str:
    return (" " + _BARS)[round(min(1.0, max(0.0, filled)) * len(_BARS))]


def _latest(values: Sequence[float]) -> str:
    return f"{values[-1]:.2f}" if values else ""


def _pace(last: Mapping[str, float]) -> str:
    if "time/total" not in last:
        return ""
    shares = ", ".join(
        f"{name} {last[f'time/{phase}'] / last['time/total']:.0%}" for phase, name in PHASE_NAMES.items()
    )
    return f"{last['env_steps']:,.0f} env steps, {last['time/steps_per_second']:,.0f} a second: {shares}"
