"""What a run leaves to read: `metrics.jsonl`, TensorBoard's event files, and the groups of some iterations."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from scpo_envs.credit import Advantages
from scpo_envs.credit.result import with_credit
from scpo_envs.errors import MissingExtraError
from scpo_envs.rollouts import RolloutGroup

METRICS, BOARD, ROLLOUTS = "metrics.jsonl", "tensorboard", "rollouts"
"""Names in the run's folder."""


class Logs:
    """Writes a run's numbers, a line at a time.

    A run that goes on from iteration k first drops what an earlier process wrote of later iterations.

    Args:
        out: Folder of the run.
        iteration: Iterations done so far.
        active: False writes nothing: all processes but the first.
    """

    def __init__(self, out: Path, iteration: int, *, active: bool = True) -> None:
        self._file: IO[str] | None = None
        self._board: Any = None
        self._out, self._iteration, self._active = out, iteration, active

    def __enter__(self) -> Logs:
        if not self._active:
            return self
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise MissingExtraError("TensorBoard logs", "train") from error
        path = self._out / METRICS
        kept = [line for line in read_metrics(path) if self._iteration and line["iteration"] <= self._iteration]
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text("".join(json.dumps(line) + "\n" for line in kept))
        os.replace(new, path)
        self._file = open(path, "a", buffering=1)
        self._board = SummaryWriter(str(self._out / BOARD), purge_step=self._iteration + 1)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()
            self._board.close()

    def write(self, measured: Mapping[str, float]) -> None:
        """Write numbers by name; "iteration" and "env_steps" among them say when."""
        if self._file is None:
            return
        self._file.write(json.dumps(measured) + "\n")
        for name, value in measured.items():
            if name != "iteration":
                tag = name if "/" in name else f"play/{name}"
                self._board.add_scalar(tag, value, int(measured["iteration"]))


def read_metrics(path: Path) -> Iterator[dict[str, float]]:
    """The lines of a metrics file; a last line that was cut short is left out, a missing file is empty."""
    if not path.exists():
        return
    with open(path) as file:
        for line in file:
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                return


def judged_groups(groups: Sequence[RolloutGroup], judged: Advantages, alpha: float) -> list[RolloutGroup]:
    """Groups as a file keeps them: with the credit that was found, if any, and the advantages that were followed.

    Raw rewards stay as the environment paid them. A step's advantage is `info["advantage"]`.

    Args:
        groups: The groups that were judged.
        judged: Their advantages.
        alpha: Weight of the credit.
    """
    kept = []
    for index, group in enumerate(groups):
        if judged.credit is not None:
            group = with_credit(group, judged.credit[index], alpha, {"alpha": alpha})
        rollouts = [
            replace(
                rollout,
                steps=[
                    replace(step, info={**step.info, "advantage": float(gain)})
                    for step, gain in zip(rollout.steps, gains, strict=True)
                ],
            )
            for rollout, gains in zip(group.rollouts, judged.total[index], strict=True)
        ]
        kept.append(replace(group, rollouts=rollouts))
    return kept
