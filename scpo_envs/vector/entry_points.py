"""What `gymnasium.make_vec` calls for each registered id."""

from __future__ import annotations

import functools
from typing import Any, Protocol

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from scpo_envs.vector.group_vector_env import GroupVectorEnv

VECTOR_ARGUMENTS = frozenset(
    {
        "group_size",
        "workers",
        "num_workers",
        "context",
        "worker_options",
        "worker_timeout",
        "on_worker_loss",
        "sampler",
        "autoreset_mode",
    }
)
"""The arguments of `gymnasium.make_vec` that are the vector environment's own."""


class VectorEntryPoint(Protocol):
    """A function as `gymnasium.make_vec` calls it."""

    def __call__(self, num_envs: int = 1, **kwargs: Any) -> GroupVectorEnv:
        """Make a vector environment."""


def group_vector_entry_point(spec: str | EnvSpec) -> VectorEntryPoint:
    """The `vector_entry_point` of an id's registration.

    Gymnasium does not tell an entry point for which id it is called, so each id has its own::

        make_vec = group_vector_entry_point("MyWorld-v0")  # in my_package
        gym.register("MyWorld-v0", entry_point="my_package:MyWorld", vector_entry_point="my_package:make_vec")

    `gym.make_vec("MyWorld-v0", num_envs=64, ...)` then takes the arguments of `GroupVectorEnv` and passes all
    others on to `gym.make`, whose step limit and wrappers each single environment has. Gymnasium's passive
    checker is left out unless `disable_env_checker=False` asks for it.

    Args:
        spec: The id, looked up when the function is called, or a spec.
    """

    def make_vec(num_envs: int = 1, **kwargs: Any) -> GroupVectorEnv:
        vector = {key: kwargs.pop(key) for key in VECTOR_ARGUMENTS & kwargs.keys()}
        # the spec itself, not its id, goes to the workers: a new interpreter may not have registered it
        single = gym.spec(spec) if isinstance(spec, str) else spec
        make_env = functools.partial(gym.make, single, **{"disable_env_checker": True, **kwargs})
        return GroupVectorEnv(make_env, num_envs, **vector)

    return make_vec


make_alfworld_vec = group_vector_entry_point("SCPO-ALFWorld-v0")
make_webshop_vec = group_vector_entry_point("SCPO-WebShop-v0")
