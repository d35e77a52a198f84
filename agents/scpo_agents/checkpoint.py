"""Checkpoints: folders that hold an agent's weights, the run's settings and, to go on from, the trainer's state."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from scpo_agents.agent import Agent, agent_kind
from scpo_agents.config import TrainConfig
from scpo_agents.logs import BOARD, METRICS, ROLLOUTS
from scpo_agents.recipe import ConfigError, agent_settings, flat, parse_config, plain
from scpo_envs.errors import ScpoError

_CONFIG, _STATE = "config.json", "trainer.pt"
_FREE = (
    "out",
    "threads",
    "save_every",
    "rollouts",
    "update.iterations",
    "update.env_steps",
    "evaluate.",
    "env.workers",
)
_DAMAGE = (OSError, RuntimeError, EOFError, KeyError, ValueError, pickle.UnpicklingError)  # what torch.load may raise


class CheckpointError(ScpoError, ValueError):
    """Raised when a folder is no checkpoint, a damaged one, or one that does not fit."""


def save_checkpoint(
    folder: Path, agent: Agent[Any], config: TrainConfig, state: Mapping[str, Any] | None = None
) -> None:
    """Write a checkpoint. An earlier one of that name gives way only once the new one is complete.

    Args:
        folder: Its folder.
        agent: Whose weights to keep.
        config: The run's settings.
        state: What the trainer needs to go on: tensors, numbers, and containers of them.
    """
    new, old = folder.with_name(folder.name + ".new"), folder.with_name(folder.name + ".old")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    agent.save(new)
    (new / _CONFIG).write_text(json.dumps(plain(config), indent=2) + "\n")
    if state is not None:
        torch.save(dict(state), new / _STATE)
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def find_checkpoint(folder: Path) -> Path | None:
    """The checkpoint of a name: where writing a new one was cut short between two renamings, the old one."""
    for path in (folder, folder.with_name(folder.name + ".old")):
        if (path / _CONFIG).exists():
            return path
    return None


def load_config_of(folder: Path) -> TrainConfig:
    """The settings of the run that wrote a checkpoint.

    Raises:
        CheckpointError: It is none, or is damaged.
    """
    found = find_checkpoint(folder)
    if found is None:
        raise CheckpointError(f"{folder} is no checkpoint: it has no {_CONFIG}")
    try:
        return parse_config(json.loads((found / _CONFIG).read_text("utf-8")))
    except (ValueError, ConfigError, RecursionError) as error:
        raise CheckpointError(f"{found / _CONFIG} is damaged: {error}") from error


def check_resumable(config: TrainConfig) -> None:
    """Refuse to go on with a run under settings that would not give what it would have given.

    Raises:
        CheckpointError: There is no checkpoint to go on from, or settings differ; the message names them.
    """
    before, now = (flat(plain(one)) for one in (load_config_of(config.out / "last"), config))
    changed = [key for key in sorted(before.keys() | now.keys()) if before.get(key) != now.get(key)]
    if wrong := [key for key in changed if not key.startswith(_FREE)]:
        raise CheckpointError(
            f"{config.out} was begun with other settings: "
            + ", ".join(f"{key} was {before.get(key)!r}, not {now.get(key)!r}" for key in wrong)
        )


def check_beginning(config: TrainConfig) -> None:
    """Refuse a run that begins with no checkpoint, or with what clearing its folder would remove.

    Raises:
        CheckpointError: `start` is none or is damaged, or `start` or `clone.rollouts` lies there.
    """
    for key, path in (("start", config.start), ("clone.rollouts", config.clone.rollouts)):
        if path is not None and any(path.resolve().is_relative_to(one.resolve()) for one in _folders(config.out)):
            raise CheckpointError(
                f"{key}={path} lies in what this run itself writes into {config.out}; out=FOLDER chooses another place"
            )
    if config.start is not None:
        load_config_of(config.start)


def clear_run(out: Path) -> None:
    """Remove what a run has written into its folder, and nothing else."""
    for folder in _folders(out):
        shutil.rmtree(folder, ignore_errors=True)
    (out / METRICS).unlink(missing_ok=True)


def load_agent(folder: Path) -> Agent[Any]:
    """The agent of a checkpoint, of whatever kind it is.

    Raises:
        CheckpointError: It is none, or is damaged.
    """
    config = load_config_of(folder)
    found = find_checkpoint(folder) or folder
    try:
        return agent_kind(config.agent.name).restore(agent_settings(config), found, seed=config.seed)
    except _DAMAGE as error:
        raise CheckpointError(f"{found} does not fit, or is damaged: {_first_line(error)}") from error


def load_weights(folder: Path, agent: Agent[Any]) -> None:
    """Read a checkpoint's weights into an agent of the same kind and size.

    Raises:
        CheckpointError: They do not fit, or are damaged.
    """
    found = find_checkpoint(folder)
    if found is None:
        raise CheckpointError(f"{folder} is no checkpoint: it has no {_CONFIG}")
    try:
        agent.load(found)
    except _DAMAGE as error:
        raise CheckpointError(f"{found} does not fit, or is damaged: {_first_line(error)}") from error


def load_state(folder: Path) -> dict[str, Any]:
    """The trainer's state in a checkpoint.

    Raises:
        CheckpointError: There is none, or it is damaged.
    """
    path = (find_checkpoint(folder) or folder) / _STATE
    try:
        state: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    except FileNotFoundError as error:
        raise CheckpointError(f"{folder} holds no state to go on from") from error
    except _DAMAGE as error:
        raise CheckpointError(f"{path} is damaged: {_first_line(error)}") from error
    return state


def _folders(out: Path) -> list[Path]:
    """The folders that a run writes into its own."""
    checkpoints = [out / (name + suffix) for name in ("start", "best", "last") for suffix in ("", ".new", ".old")]
    return [*checkpoints, out / BOARD, out / ROLLOUTS]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
