"""An environment manager as verl-agent style loops call it: texts in and out, siblings in consecutive rows.

Such loops (verl-agent's and those modelled on it) keep one row a sibling, step all rows together, and ask for
`reset`, `step`, `success_evaluator` and `close`. This needs no verl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from scpo_envs.credit import advantages
from scpo_envs.integrations.chat import told
from scpo_envs.integrations.common import group_base, info_of
from scpo_envs.rollouts import RolloutGroup
from scpo_envs.text import parse_action

Observations = dict[str, Any]


class EnvironmentManager:
    """Groups of siblings behind the interface of a verl-agent environment manager.

    Rows `g * group_size` to `(g + 1) * group_size - 1` are the siblings of group g, as a batch is that was repeated
    `rollout.n` times interleaved. A row whose episode has ended is stepped on by such loops; its action is
    ignored, its reward is 0 and `info["active"]` False.

    Args:
        venv: A `GroupVectorEnv`, or a wrapper around one.
        prompt: Makes the text that the model reads from an observation and its info.
        project: Makes an action of the model's reply.

    Attributes:
        groups: After an episode the `RolloutGroup` of each group; None where it is not complete.
    """

    def __init__(
        self,
        venv: VectorEnv[Any, Any, Any],
        *,
        prompt: Callable[[str, Mapping[str, Any]], str] = told,
        project: Callable[[str], str] = parse_action,
    ) -> None:
        self._base = group_base(venv)
        self._venv = venv
        self._prompt = prompt
        self._project = project
        self.groups: list[RolloutGroup | None] = [None] * self._base.num_groups

    def reset(self, kwargs: Sequence[Mapping[str, Any]] | None = None) -> tuple[Observations, list[dict[str, Any]]]:
        """Begin an episode of every group.

        Args:
            kwargs: The rows' `env_kwargs`, if the dataset has them: `{"game": id}` chooses a group's game,
                `{"seed": s}` of the first row all of them.

        Returns:
            A dictionary of `text` (the prompts), `image` (None), `anchor` (the observations); and the infos, one a row.

        Raises:
            ValueError: Siblings are told different games.
        """
        rows = [] if kwargs is None else [row or {} for row in kwargs]
        games = self._games([row.get("game") for row in rows])
        options = {"games": games} if any(game is not None for game in games) else None
        observations, infos = self._venv.reset(seed=rows[0].get("seed") if rows else None, options=options)
        self.groups = [None] * self._base.num_groups
        return self._told(observations, infos)

    def step(
        self, text_actions: Sequence[str]
    ) -> tuple[Observations, NDArray[np.float64], NDArray[np.bool_], list[dict[str, Any]]]:
        """Step every row with the action of its reply.

        Returns:
            Observations as from `reset`, rewards and ends of shape (rows,), and infos, which also hold
            `is_action_valid`.
        """
        actions = [self._project(reply) for reply in text_actions]
        observations, rewards, terminated, truncated, infos = self._venv.step(actions)
        for row in np.flatnonzero(infos["_rollouts"]).tolist():
            self.groups[int(infos["group"][row])] = infos["rollouts"][row]
        texts, rows = self._told(observations, infos)
        for info in rows:
            info["is_action_valid"] = np.array(info.get("valid_action", False))
        return texts, rewards, terminated | truncated, rows

    def step_advantages(self, estimator: str = "scpo", **options: Any) -> list[NDArray[np.float64]]:
        """Advantages of every step of every row, once all groups are complete; see `scpo_envs.credit.advantages`.

        Rows of a batch with one row a step find theirs by environment and step: this is computed on whole groups,
        so dropping or repeating rows afterwards changes nothing.

        Raises:
            ValueError: A group is not complete.
        """
        missing = [number for number, group in enumerate(self.groups) if group is None]
        if missing:
            raise ValueError(f"groups {missing} are not complete: play every row to its end first")
        found = advantages([group for group in self.groups if group is not None], estimator, **options)
        return [values for group in found.total for values in group]

    def success_evaluator(self, **kwargs: Any) -> dict[str, NDArray[np.float64]]:
        """1 for each row that won and 0 for the others, over all rows and over those of each kind of task.

        Args:
            **kwargs: What such loops pass (`total_infos`, `total_batch_list`, ...); the groups know better.
        """
        won = np.zeros(self._base.num_envs)
        kinds: dict[str, list[int]] = {}
        for number, group in enumerate(self.groups):
            rows = range(number * self._base.group_size, (number + 1) * self._base.group_size)
            if group is not None:
                won[rows] = [rollout.won for rollout in group.rollouts]
                if "task_type" in group.info:
                    kinds.setdefault(group.info["task_type"], []).extend(rows)
        return {"success_rate": won, **{f"{kind}_success_rate": won[rows] for kind, rows in sorted(kinds.items())}}

    def close(self) -> None:
        """Close the vector env."""
        self._venv.close()

    def _games(self, named: Sequence[Any]) -> list[Any]:
        """One game a group, from one a row."""
        if not named:
            return []
        if len(named) != self._base.num_envs:
            raise ValueError(f"expected env_kwargs of {self._base.num_envs} rows, got {len(named)}")
        size = self._base.group_size
        games = []
        for first in range(0, len(named), size):
            if len(set(named[first : first + size])) > 1:
                raise ValueError(
                    f"rows {first} to {first + size - 1} are siblings, but name {named[first : first + size]}"
                )
            games.append(named[first])
        return games

    def _told(self, observations: Sequence[str], infos: dict[str, Any]) -> tuple[Observations, list[dict[str, Any]]]:
        rows = [info_of(infos, row) for row in range(self._base.num_envs)]
        texts = [self._prompt(observation, info) for observation, info in zip(observations, rows, strict=True)]
        return {"text": texts, "image": None, "anchor": list(observations)}, rows
