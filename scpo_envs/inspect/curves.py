"""A run's measurements as small curves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 240, 64
"""Size of a curve, in units of its own."""
POINTS = 240
"""Most points drawn; of more, every so many are left out."""

_FIRST = ("eval/", "success", "return", "credit/", "advantage/", "update/", "groups/", "length", "invalid", "time/")
_AXES = ("iteration", "env_steps")
_LIMIT = 1e100  # beyond it, and for NaN, a value is none to draw


@dataclass(frozen=True)
class Curve:
    """One measurement over the iterations.

    Attributes:
        name: Its name.
        iterations, values: The points, of equal length, at least one.
    """

    name: str
    iterations: Sequence[float]
    values: Sequence[float]

    @property
    def path(self) -> str:
        """The curve as data of an SVG path, in a box of `WIDTH` x `HEIGHT`."""
        low, high = min(self.values), max(self.values)
        start, span = self.iterations[0], (self.iterations[-1] - self.iterations[0]) or 1.0
        points = list(zip(self.iterations, self.values, strict=True))
        stride = -(-len(points) // POINTS)
        kept = points[::-1][::stride][::-1]  # the last one is always among them
        return "M" + "L".join(
            f"{(at - start) / span * WIDTH:.1f},{(1 - (value - low) / ((high - low) or 1.0)) * HEIGHT:.1f}"
            for at, value in kept
        )

    @property
    def summary(self) -> str:
        """What the curve shows, in words."""
        first, last = number(self.values[0]), number(self.values[-1])
        return (
            f"{self.name}: {len(self.values)} values, from {first} to {last}; "
            f"least {number(min(self.values))}, greatest {number(max(self.values))}"
        )


def read_curves(path: Path) -> list[Curve]:
    """The curves of a metrics file, the most telling first, without damaged lines and values that are no numbers."""
    points: dict[str, tuple[list[float], list[float]]] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        record = _record(line)
        iteration: Any = record.get("iteration")
        if not _is_number(iteration):
            continue
        for name, value in record.items():
            if name not in _AXES and _is_number(value):
                at, values = points.setdefault(name, ([], []))
                at.append(iteration)
                values.append(value)
    curves = [Curve(name, at, values) for name, (at, values) in points.items()]
    return sorted(curves, key=lambda curve: (_rank(curve.name), curve.name.count("/")))


def number(value: float) -> str:
    """A measurement to read: three significant digits, large ones in full."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def is_headline(curve: Curve) -> bool:
    """Whether a curve is shown at once: all but times and those by kind of task."""
    parts = curve.name.split("/")
    return parts[0] != "time" and len(parts) <= (3 if parts[0] == "eval" else 2) and not _by_kind(parts)


def _by_kind(parts: Sequence[str]) -> bool:
    return parts[0] == "success" and len(parts) == 2


def _rank(name: str) -> int:
    return next((rank for rank, start in enumerate(_FIRST) if name.startswith(start)), len(_FIRST))


def _record(line: str) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LIMIT
