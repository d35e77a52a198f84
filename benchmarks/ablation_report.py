"""What the runs of `benchmarks/ablation.py` amount to: curves, areas, paired differences, a plot."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

Floats = NDArray[np.float64]
GRID = 41
"""Points at which curves are compared."""

SCRATCH = "alfworld-scratch"
"""Where ALFWorld's runs without a warm start are kept, beside those with one."""

T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120)
"""97.5 % quantiles of Student's t distribution with 1, 2, ... degrees of freedom; the last serves for more."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#666666", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's, which most eyes tell apart."""


def report(
    world: Literal["alfworld", "alfworld-scratch", "webshop"] = "alfworld",
    out: Path = Path("runs/ablation"),
    against: str = "gigpo",
    methods: tuple[str, ...] = (),
    svg: Path | None = None,
) -> int:
    """Print what the complete runs in a world show, and draw it.

    Args:
        world: Where.
        out: Folder of all runs.
        against: The method that the others are compared with, seed by seed.
        methods: Only these; all by default.
        svg: Where to draw the curves.
    """
    results = [json.loads(path.read_text()) for path in sorted((out / world).rglob("result.json"))]
    results = [result for result in results if not methods or result["method"] in methods]
    if not results:
        raise SystemExit(f"no run in {world} is complete in {out}")
    by_method: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for result in results:
        by_method[result["method"]][result["seed"]] = result
    budget = min(result["budget"] for result in results)
    grid = np.linspace(0, budget, GRID)
    curves = {method: {seed: on_grid(one, grid) for seed, one in runs.items()} for method, runs in by_method.items()}
    console = Console(width=200)
    console.print(f"{world}, {budget:,} env steps a run; means and 95 % intervals over seeds (Student's t)\n")
    for table in (_areas(curves, against), _training(by_method, against), _kinds(by_method)):
        console.print(table)
        console.print()
    if svg is not None:
        svg.write_text(draw(grid, {method: np.array(list(own.values())) for method, own in curves.items()}, world))
        console.print(f"written: {svg}", highlight=False)
    return 0


def on_grid(result: Mapping[str, Any], grid: Floats) -> Floats:
    """A run's success at common numbers of environment steps, between its evaluations by straight lines."""
    steps, success = np.array(result["curve"], dtype=np.float64).T
    curve: Floats = np.interp(grid, steps, success)
    return curve


def interval(values: Floats) -> tuple[float, float]:
    """95 % confidence interval of the mean of independent values, after Student; not a number for a single one."""
    if len(values) < 2:
        return float("nan"), float("nan")
    quantile = T95[min(len(values) - 2, len(T95) - 1)]
    half = quantile * float(values.std(ddof=1)) / len(values) ** 0.5
    return float(values.mean()) - half, float(values.mean()) + half


def paired(own: Mapping[int, float], others: Mapping[int, float]) -> Floats:
    """Differences of two methods' runs, for the seeds that both have, in the seeds' order."""
    return np.array([own[seed] - others[seed] for seed in sorted(own.keys() & others.keys())], dtype=np.float64)


def _areas(curves: Mapping[str, Mapping[int, Floats]], against: str) -> Table:
    """The curves' ends and areas, the best area first."""
    table = _table("method", "runs", "success at the end", "95 %", "area", "95 %", f"area less {against}'s", "95 %")
    areas = {method: {seed: float(own.mean()) for seed, own in runs.items()} for method, runs in curves.items()}
    for method in sorted(areas, key=lambda method: -float(np.mean(list(areas[method].values())))):
        last = np.array([own[-1] for own in curves[method].values()])
        less = paired(areas[method], areas.get(against, {})) if method != against else np.array([])
        own = np.array(list(areas[method].values()))
        table.add_row(method, str(len(own)), *_cells(last), *_cells(own), *_cells(less, sign="+"))
    return table


def _training(by_method: Mapping[str, Mapping[int, Mapping[str, Any]]], against: str) -> Table:
    """Success in the training games that were played, over the whole budget."""
    table = _table("method", "success in training", "95 %", f"less {against}'s", "95 %")
    played = {
        method: {seed: float(run["train_success"]) for seed, run in runs.items()} for method, runs in by_method.items()
    }
    for method in sorted(played, key=lambda method: -float(np.mean(list(played[method].values())))):
        less = paired(played[method], played.get(against, {})) if method != against else np.array([])
        table.add_row(method, *_cells(np.array(list(played[method].values()))), *_cells(less, sign="+"))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.MARKDOWN)
    for name in columns:
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    return table


def _cells(values: Floats, sign: str = "") -> tuple[str, str]:
    if not len(values):
        return "", ""
    low, high = interval(values)
    bounds = "" if np.isnan(low) else f"{low:{sign}.3f} to {high:{sign}.3f}"
    return f"{values.mean():{sign}.3f}", bounds


def _kinds(by_method: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> Table:
    """Success at the end by kind of task."""
    kinds = sorted({kind for runs in by_method.values() for run in runs.values() for kind in run["kinds"]})
    table = _table("method", *(kind.replace("_", " ") for kind in kinds))
    for method, runs in sorted(by_method.items()):
        means = [np.mean([run["kinds"].get(kind, np.nan) for run in runs.values()]) for kind in kinds]
        table.add_row(method, *(f"{mean:.2f}" for mean in means))
    return table


def draw(grid: Floats, curves: Mapping[str, Floats], title: str) -> str:
    """Mean success over environment steps with 95 % bands, as SVG.

    Args:
        grid: Environment steps, shape (n,).
        curves: Success of each method's runs, shape (runs, n).
        title: What stands above.
    """
    width, height, left, top = 640, 400, 60, 40
    right, bottom = width - 170, height - 50

    def x(steps: float) -> float:
        return left + (right - left) * steps / float(grid[-1])

    def y(share: float) -> float:
        return bottom - (bottom - top) * share

    def path(values: Sequence[float], back: bool = False) -> str:
        points = [f"{x(step):.1f},{y(value):.1f}" for step, value in zip(grid.tolist(), values, strict=True)]
        return " ".join(reversed(points) if back else points)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{left}" y="24" font-size="15">{title}: success in unseen games</text>',
    ]
    for tenth in range(0, 11, 2):
        parts.append(f'<line x1="{left}" x2="{right}" y1="{y(tenth / 10)}" y2="{y(tenth / 10)}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y(tenth / 10) + 4}" text-anchor="end">{tenth / 10:.1f}</text>')
    for steps in _ticks(float(grid[-1])):
        parts.append(f'<text x="{x(steps):.1f}" y="{bottom + 18}" text-anchor="middle">{steps / 1000:g}k</text>')
    parts.append(f'<text x="{(left + right) / 2}" y="{bottom + 38}" text-anchor="middle">environment steps</text>')
    ranked = sorted(curves, key=lambda method: -float(curves[method][:, -1].mean()))
    for place, method in enumerate(ranked):
        colour, runs = COLOURS[sorted(curves).index(method) % len(COLOURS)], curves[method]
        bands = np.clip([interval(runs[:, point]) for point in range(len(grid))], 0, 1).tolist()
        if len(runs) > 1:
            outline = path([low for low, _ in bands]) + " " + path([high for _, high in bands], back=True)
            parts.append(f'<polygon points="{outline}" fill="{colour}" opacity="0.15"/>')
        parts.append(
            f'<polyline points="{path(runs.mean(axis=0).tolist())}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        label = f"{method} {runs[:, -1].mean():.2f} ({len(runs)} runs)"
        parts.append(f'<text x="{right + 10}" y="{top + 10 + 18 * place}" fill="{colour}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _ticks(last: float) -> list[float]:
    """Round numbers from 0 to a last one, six at most."""
    power = 10 ** math.floor(math.log10(last / 5))
    width = next(width for digit in (1, 2, 5, 10) if (width := digit * power) >= last / 5)
    return [width * index for index in range(int(last // width) + 1)]
