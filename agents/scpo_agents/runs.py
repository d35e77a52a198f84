"""Runs to compare: their folders read, and those that differ in nothing but the seed put together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scpo_agents.logs import METRICS, read_metrics
from scpo_agents.recipe import flat
from scpo_envs.errors import ScpoError

_APART = ("seed", "out", "threads", "save_every", "env.workers")
"""Settings that make no other experiment of a run."""

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Where and what: two arrays of one length."""


class RunError(ScpoError, ValueError):
    """Raised when a folder holds no run, or one that has measured nothing yet."""


@dataclass(frozen=True)
class Run:
    """What a run has measured.

    Attributes:
        folder: Its folder.
        settings: Its settings as `section.key`, without those that make no other experiment; empty where the
            run's folder has no checkpoint to read them from.
        iterations: The lines of the iterations.
        evaluations: The lines of the evaluations.
    """

    folder: Path
    settings: Mapping[str, Any]
    iterations: Sequence[Mapping[str, float]]
    evaluations: Sequence[Mapping[str, float]]

    def curve(self, name: str, x: str) -> Curve:
        """A measurement over `x`, the lines that lack it left out."""
        lines = [line for line in (*self.iterations, *self.evaluations) if name in line]
        return np.array([line[x] for line in lines], float), np.array([line[name] for line in lines], float)


@dataclass
class Setting:
    """Runs that differ in their seed alone.

    Attributes:
        label: What tells it from the other settings.
        values: Its settings as texts, by `section.key`.
        runs: The runs.
    """

    label: str
    values: Mapping[str, str] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)


@dataclass(frozen=True)
class Band:
    """A measurement over several seeds.

    Attributes:
        x: Where, shape (n,).
        mean: Mean over the runs, shape (n,).
        low: Their smallest value, shape (n,).
        high: Their largest value, shape (n,).
        runs: How many runs have the measurement.
    """

    x: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    runs: int


def find_runs(paths: Iterable[Path]) -> list[Run]:
    """Read run folders, or all run folders below a folder, each once, in the order given.

    Below a folder, runs that have measured nothing yet are left out.

    Raises:
        FileNotFoundError: A path does not exist.
        RunError: There is no run in it, or one without measurements.
    """
    found: dict[Path, Run] = {}
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no folder {path}; a run's folder is its recipe's `out`")
        files = [path / METRICS]
        if not files[0].exists():
            files = [file for file in sorted(path.rglob(METRICS)) if file.stat().st_size]
        if not files:
            raise RunError(f"{path} holds no run: there is no {METRICS} with measurements in it or below it")
        for file in files:
            found.setdefault(file.parent.resolve(), _read(file.parent))
    return list(found.values())


def group_runs(runs: Sequence[Run]) -> list[Setting]:
    """Put together the runs that differ in their seed alone, and name each setting by what sets it apart."""
    keys = sorted({key for run in runs for key in run.settings})
    settings: dict[str, Setting] = {}
    for run in runs:
        known = {key: _text(run.settings.get(key)) for key in keys}
        # without settings nothing is known of a run but its name
        identity = json.dumps(known) if run.settings else str(run.folder)
        settings.setdefault(identity, Setting(run.folder.name, known if run.settings else {})).runs.append(run)
    found = list(settings.values())
    naming = _telling([one.values for one in found if one.values])
    for one in found:
        if one.values and naming:
            one.label = ", ".join(f"{key.rpartition('.')[2]}={one.values[key]}" for key in naming)
    return found


def differences(settings: Sequence[Setting]) -> dict[str, dict[str, str]]:
    """By label, the values of all settings that differ between any two."""
    keys = sorted({key for one in settings for key in one.values})
    differing = [key for key in keys if len({one.values.get(key) for one in settings}) > 1]
    return {one.label: {key: one.values[key] for key in differing if key in one.values} for one in settings}


def _telling(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Few keys whose values together tell all rows apart, the most telling first."""
    chosen: list[str] = []
    keys = sorted(rows[0]) if rows else []
    apart = 1
    while keys and apart < len(rows):
        counts = {key: len({tuple(row[one] for one in (*chosen, key)) for row in rows}) for key in keys}
        best = max(keys, key=lambda key: (counts[key], -keys.index(key)))
        if counts[best] == apart:
            break
        apart = counts[best]
        chosen.append(best)
        keys.remove(best)
    return chosen


def band(runs: Sequence[Run], name: str, *, x: str = "env_steps", smooth: int = 1) -> Band | None:
    """A measurement over the runs of a setting, None where no run has it.

    Seeds reach other numbers of steps in an iteration, so curves are interpolated linearly, over the range that
    all of them cover.

    Args:
        runs: The runs.
        name: The measurement, such as "success" or "eval/valid_unseen/success".
        x: "env_steps" or "iteration".
        smooth: Points that a value is the mean of: itself and those before it.
    """
    curves = [run.curve(name, x) for run in runs]
    curves = [(where, running_mean(values, smooth)) for where, values in curves if len(where)]
    if not curves:
        return None
    start, end = max(where[0] for where, _ in curves), min(where[-1] for where, _ in curves)
    points = np.unique(np.concatenate([where for where, _ in curves]))
    points = points[(points >= start) & (points <= end)]
    if not len(points):  # the runs have no range in common
        return None
    values = np.stack([np.interp(points, where, measured) for where, measured in curves])
    return Band(points, values.mean(0), values.min(0), values.max(0), len(curves))


def running_mean(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The mean of each value and the `count - 1` before it, of fewer at the beginning; same shape."""
    if count < 1:
        raise ValueError(f"a mean is of at least 1 value, not {count}")
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - count)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))


def final_success(run: Run, last: int = 10) -> dict[str, float]:
    """Success by kind of task at the end of a run, sorted by kind, "all" last.

    It is that of the last evaluation, the mean over its splits, or, where the run never evaluates, of the last
    iterations' own rollouts, `last` of them.
    """
    values: dict[str, list[float]] = {}
    if run.evaluations:
        for key, value in run.evaluations[-1].items():
            parts = key.split("/")
            if parts[0] == "eval" and parts[2] == "success":
                values.setdefault("/".join(parts[3:]) or "all", []).append(value)
    else:
        for line in run.iterations[-last:]:
            for key, value in line.items():
                if key == "success" or key.startswith("success/"):
                    values.setdefault(key.partition("/")[2] or "all", []).append(value)
    return {kind: float(np.mean(values[kind])) for kind in sorted(values, key=lambda kind: (kind == "all", kind))}


def _read(folder: Path) -> Run:
    lines = list(read_metrics(folder / METRICS))
    if not lines:
        raise RunError(f"{folder / METRICS} is empty: the run has measured nothing yet")
    iterations: list[dict[str, float]] = []
    evaluations: list[dict[str, float]] = []
    for line in lines:
        (evaluations if any(key.startswith("eval/") for key in line) else iterations).append(line)
    return Run(folder, _settings(folder), iterations, evaluations)


def _settings(folder: Path) -> dict[str, Any]:
    for name in ("last", "start", "best"):
        path = folder / name / "config.json"
        if path.exists():
            try:
                settings = flat(json.loads(path.read_text("utf-8")))
            except (ValueError, AttributeError, RecursionError) as error:
                raise RunError(f"{path} is damaged: {error}") from error
            return {key: value for key, value in settings.items() if key not in _APART}
    return {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
