"""What the trainer asks of an environment beside playing it: its games, and their kinds."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import gymnasium as gym

from scpo_envs.registration import check_arguments, parameters


def arguments_for(env: str, split: str | None, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What to make an environment with: its own arguments, and the split where it has splits."""
    known = parameters(env)
    return {**({"split": split} if known is None or "split" in known else {}), **arguments}


def games_of(env: str, split: str | None, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The kind of task of each game, by id, in the environment's order; "all" where it tells no kinds.

    Args:
        env: Id of the environment.
        split: Its split, where it has splits.
        arguments: Its other arguments.

    Raises:
        ValueError: It names no games, or has no such argument.
    """
    check_arguments(env, arguments)
    with closing(gym.make(env, disable_env_checker=True, **arguments_for(env, split, arguments))) as single:
        ids = getattr(single.unwrapped, "game_ids", ())
        kinds = getattr(single.unwrapped, "task_types", {})
    if not ids:
        raise ValueError(f"{env} names no games in `game_ids`, so there is nothing to draw from")
    return {id: kinds.get(id, "all") for id in ids}
