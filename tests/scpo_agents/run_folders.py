"""Run folders as `scpo train` leaves them, written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KINDS = ("heat", "look")


def write_run(folder: Path, *, seed: int, iterations: int = 6, evaluate: bool = True, **settings: Any) -> Path:
    """A run whose success in iteration i is (i + seed) / 10, with 100 + seed environment steps an iteration."""
    lines: list[dict[str, float]] = []
    for i in range(iterations + 1):
        when = {"iteration": i, "env_steps": i * (100 + seed)}
        success = (i + seed) / 10
        if i:
            kinds = {f"success/{kind}": success for kind in KINDS}
            credit = {"credit/matched": 0.1, "credit/rollout": 1.5, "groups/mixed": 0.5}
            times = {"time/act": 1.0, "time/env": 0.5, "time/credit": 0.1, "time/update": 0.4, "time/other": 0.1}
            lines.append({**when, "success": success, **kinds, **credit, **times, "time/total": 2.1})
        if evaluate and i % 3 == 0:
            ends = {"eval/seen/success": success, "eval/unseen/success": success / 2}
            kinds = {f"eval/{split}/success/{kind}": success for split in ("seen", "unseen") for kind in KINDS}
            lines.append({**when, **ends, **kinds})
    (folder / "last").mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = {"seed": seed, "out": str(folder), "advantage": {"estimator": "scpo"}, "update": {"lr": 0.001}}
    for key, value in settings.items():
        section, _, name = key.partition("__")
        config[section] = {**config[section], name: value}  # type: ignore[dict-item]
    (folder / "last" / "config.json").write_text(json.dumps(config))
    return folder
