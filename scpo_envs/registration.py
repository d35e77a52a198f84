"""Ids of environments as commands and recipes take them, and the arguments that an environment has."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

import scpo_envs  # noqa: F401  (registers the ids)


def parameters(env: str) -> frozenset[str] | None:
    """The arguments that an environment's class names, and `max_episode_steps`; None if it takes any.

    Args:
        env: An id, after the package that registers it and a colon, if it is another one's: "my_package:Guess-v0".

    Raises:
        ValueError: The package cannot be imported, or no environment of this id is registered.
    """
    package, colon, id = env.rpartition(":")
    try:
        if colon:
            import_module(package)
        spec = gym.spec(id)
    except (ImportError, ValueError) as error:
        raise ValueError(f"there is no environment {env!r}: {package!r} cannot be imported: {error}") from error
    except gym.error.Error as error:
        ours = [name for name in gym.registry if name.startswith("SCPO-")]
        raise ValueError(
            f"there is no environment {env!r}; there are {', '.join(ours)}, and those of other packages as package:id"
        ) from error
    creator: Any = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
    if creator is None:
        return None
    named = inspect.signature(creator).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in named.values()):
        return None
    return frozenset(named) | {"max_episode_steps"}


def check_arguments(env: str, arguments: Collection[str]) -> None:
    """Refuse arguments that an environment does not have.

    Raises:
        ValueError: There is no such environment, or it has no such argument; the message names those it has.
    """
    known = parameters(env)
    for name in arguments:
        if known is not None and name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(f"{env} has no argument {name!r}{hint}; it has {', '.join(sorted(known))}")
