"""`SCPO-WebShop-v0`: WebShop as a Gymnasium environment, in process, over HTTP or in a browser."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium as gym
from gymnasium.error import ResetNeeded

from scpo_envs.errors import UnknownGameError
from scpo_envs.text import Text
from scpo_envs.webshop.backend import (
    OBSERVATION_MODES,
    Assignment,
    ObservationMode,
    ShopBackend,
    ShopUnavailableError,
    Visit,
)
from scpo_envs.webshop.candidates import search_candidates

_OPTIONS = ("goal", "game", "task_type")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that decides how an episode goes on; a picklable value."""

    shop: Any
    visit: Visit
    assignment: Assignment
    ended: bool
    rng: Mapping[str, Any] | None


class WebShopEnv(gym.Env[str, str]):
    """Shopping by instruction: search, look at products, choose options, buy.

    ## Description

    [WebShop](https://arxiv.org/abs/2207.01206) gives an instruction such as "i need a long lasting lipstick
    with color: ruby, and price lower than 20.00 dollars" and a shop with thousands of products. The shop
    is a state machine of its own; with `quirks=True` it behaves as the original to the letter.

    ## Action Space

    `Text`: `search[query]` on the search page, `click[target]` elsewhere, where the target is a button, a
    product or an option value. Anything else does nothing, says why in `info["invalid_reason"]`, and
    counts as a step. An action that is no string raises `TypeError`.

    ## Observation Space

    `Text`: the page, as `observation_mode` says.

    ## Starting State

    The search page of a session whose goal is drawn uniformly from those that `split` admits.
    `reset(seed=s)` gives the same goal for the same `s`. `reset(options={"goal": i})` takes a goal by its
    index in the shop's list or by its id (`{"game": id}` means the same), `{"task_type": category}` draws
    among the goals for one category of products.

    ## Rewards

    The score of the purchase in [0, 1], 0 for every other step: `reward="webshop"` is the original's to the
    bit, `"exact"` is corrected (see `webshop_server.reward`).

    ## Episode End

    `terminated` with the purchase; `won` if its score is 1. `truncated` after `max_episode_steps` (15 by
    default), which `gymnasium.make` adds, and when a remote shop fails: `info["shop_error"]` then says how.

    ## Information

    The keys of the suite (see `SCPO-ALFWorld-v0`), where `task` is the instruction, `task_id` and `game` the
    goal's id, `task_type` the category asked for and `admissible_commands` the clicks that the page offers,
    in the original's order, then up to 8 searches made from the instruction where there is a search bar;
    and

    | key | value |
    |---|---|
    | `available_actions` | the original's dict: `has_search_bar` and `clickables` |
    | `url` | the page's address |
    | `score` | the score of the purchase; 0 before it |
    | `r_type`, `r_att`, `r_option`, `r_price` | the score's parts, after the purchase only |

    ## Arguments

    * `split`: "train" (default), "valid" or "test" by a stable hash of the goal; "original-train",
      "original-valid" or "original-test" by index, as the original; None for all goals.
    * `shop`: "local", "http://host:port" for a server's JSON API, or "browser:http://host:port" to drive
      its site with Chromium.
    * `catalogue`: a folder that `scpo shop build` made, for the local shop; None for the bundled one.
    * `observation_mode`: "text", "text_rich", "html" or "url".
    * `quirks`: keep the original's back doors and bugs. This environment's default differs from the original
      here, and here alone; a remote shop must have been started the same way.
    * `reward`: "webshop" or "exact".
    * `reward_scale`: what a score of 1 pays.
    * `render_mode`: "ansi" makes `render()` return the last exchange, "human" prints each one; a page has
      one text a line.

    ## Version History

    * v0: initial version.
    """

    # Declared as Gymnasium declares it; its checker asks for a frame rate even of text.
    metadata: dict[str, Any] = {"render_modes": ["ansi", "human"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        *,
        split: str | None = "train",
        shop: str = "local",
        catalogue: str | os.PathLike[str] | None = None,
        observation_mode: ObservationMode = "text",
        quirks: bool = False,
        reward: Literal["webshop", "exact"] = "webshop",
        reward_scale: float = 1.0,
        render_mode: Literal["ansi", "human"] | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be one of {self.metadata['render_modes']} or None, not {render_mode!r}")
        if observation_mode not in OBSERVATION_MODES:
            raise ValueError(f"observation_mode must be one of {OBSERVATION_MODES}, not {observation_mode!r}")
        if reward not in ("webshop", "exact"):
            raise ValueError(f"reward must be 'webshop' or 'exact', not {reward!r}")
        self.observation_space = Text()
        self.action_space = Text()
        self.render_mode = render_mode
        self.success_reward = float(reward_scale)
        self._shop = _open_shop(shop, catalogue, observation_mode, quirks=quirks, reward=reward)
        self._split = split
        self._visit: Visit | None = None
        self._assignment: Assignment | None = None
        self._action: str | None = None
        self._ended = False
        self._check_split()

    @property
    def game_ids(self) -> tuple[str, ...]:
        """The ids of the goals that a reset draws from, in the order of the shop's list."""
        return self._shop.goal_ids(self._split)

    @property
    def task_types(self) -> dict[str, str]:
        """The category of each of these goals, by id."""
        return {id: self._shop.assignment(id).category for id in self.game_ids}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a session.

        Args:
            seed: Decides the goal, together with the options.
            options: `{"goal": index or id}`, `{"game": id}` or `{"task_type": category}`.

        Returns:
            The search page and the info.

        Raises:
            UnknownGameError: There is no such goal.
            ValueError: An option is unknown.
            ShopUnavailableError: A remote shop does not answer.
        """
        super().reset(seed=seed)
        assignment = self._choose(options or {})
        visit = self._shop.start(assignment.index)
        self._assignment = assignment
        self._begin(visit)
        return visit.observation, self._info(visit)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Search or click.

        Raises:
            TypeError: The action is no string.
            ResetNeeded: There is no session, or it has ended.
        """
        if self._visit is None or self._ended:
            raise ResetNeeded("call reset() first" if self._visit is None else "this episode has ended; call reset()")
        if not isinstance(action, str):
            raise TypeError(
                f"an action is text, such as 'search[shoes]'; got {action!r:.60} of type {type(action).__name__}"
            )
        try:
            visit = self._shop.step(action)
        except ShopUnavailableError as error:
            self._ended = True
            info = self._info(self._visit) | {"valid_action": False, "invalid_reason": str(error)}
            return self._visit.observation, 0.0, False, True, info | {"shop_error": str(error)}
        self._visit, self._action, self._ended = visit, action, visit.done
        if self.render_mode == "human":
            print(self._exchange())
        return visit.observation, visit.reward * self.success_reward, visit.done, False, self._info(visit)

    def snapshot(self) -> Snapshot:
        """The whole state of the environment, as a picklable value.

        Raises:
            ResetNeeded: No episode has begun.
        """
        if self._visit is None or self._assignment is None:
            raise ResetNeeded("call reset() first: there is no state yet")
        rng = None if self._np_random is None else self._np_random.bit_generator.state
        return Snapshot(self._shop.snapshot(), self._visit, self._assignment, self._ended, rng)

    def restore(self, snapshot: Snapshot) -> tuple[str, dict[str, Any]]:
        """Return to a snapshot, of this environment or of another on the same shop.

        Returns:
            The observation and the info that belong to it, as `reset` does.
        """
        self._shop.restore(snapshot.shop)
        self._assignment = snapshot.assignment
        if snapshot.rng is not None:
            self.np_random.bit_generator.state = dict(snapshot.rng)
        self._begin(snapshot.visit)
        self._ended = snapshot.ended
        return snapshot.visit.observation, self._info(snapshot.visit)

    def render(self) -> str | None:
        """The last action and its answer, with `render_mode="ansi"`."""
        return self._exchange() if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Give up the session and whatever serves it."""
        self._shop.close()

    def _check_split(self) -> None:
        if not self.game_ids:
            raise UnknownGameError(f"the shop has no goals in split {self._split!r}; try split=None")

    def _choose(self, options: Mapping[str, Any]) -> Assignment:
        unknown = set(options) - set(_OPTIONS)
        if unknown:
            raise ValueError(f"unknown reset option(s) {sorted(unknown)}; there are {', '.join(_OPTIONS)}")
        for name in ("goal", "game"):
            if options.get(name) is not None:
                return self._shop.assignment(options[name])
        ids = self.game_ids
        category = options.get("task_type")
        if category is None:
            return self._shop.assignment(ids[int(self.np_random.integers(len(ids)))])
        for place in self.np_random.permutation(len(ids)).tolist():
            assignment = self._shop.assignment(ids[place])
            if assignment.category == category:
                return assignment
        raise UnknownGameError(f"split {self._split!r} has no goal with task_type {category!r}")

    def _begin(self, visit: Visit) -> None:
        self._visit, self._action, self._ended = visit, None, False
        if self.render_mode == "human":
            print(self._exchange())

    def _info(self, visit: Visit) -> dict[str, Any]:
        assignment = self._assignment
        assert assignment is not None
        # The search button alone does nothing: a search needs a query.
        commands = [f"click[{target}]" for target in visit.clickables if target != "search"]
        if visit.has_search_bar:
            commands += [f"search[{query}]" for query in search_candidates(assignment.instruction)]
        return {
            "admissible_commands": commands,
            "available_actions": {"has_search_bar": visit.has_search_bar, "clickables": list(visit.clickables)},
            "won": visit.done and visit.reward == 1.0,
            "score": visit.reward,
            "task": assignment.instruction,
            "task_id": assignment.id,
            "task_type": assignment.category,
            "game": assignment.id,
            "url": visit.url,
            "valid_action": visit.invalid_reason is None,
            "invalid_reason": visit.invalid_reason,
            **visit.parts,
        }

    def _exchange(self) -> str:
        """The last action and the page, one text a line."""
        observation = "" if self._visit is None else self._visit.observation.replace(" [SEP] ", "\n")
        return observation if self._action is None else f"> {self._action}\n{observation}"


def _open_shop(
    shop: str,
    catalogue: str | os.PathLike[str] | None,
    mode: ObservationMode,
    *,
    quirks: bool,
    reward: Literal["webshop", "exact"],
) -> ShopBackend:
    if shop == "local":
        from scpo_envs.webshop.local import LocalShop

        return LocalShop(catalogue, mode, quirks=quirks, reward=reward)
    if catalogue is not None:
        raise ValueError(f"the catalogue of {shop!r} is the server's own: leave out catalogue={catalogue!r}")
    if shop.startswith(("http://", "https://")):
        from scpo_envs.webshop.http import HttpShop

        return HttpShop(shop, mode, quirks=quirks, reward=reward)
    if shop.startswith(("browser:http://", "browser:https://")):
        from scpo_envs.webshop.browser import BrowserShop

        return BrowserShop(shop.removeprefix("browser:"), mode, quirks=quirks, reward=reward)
    raise ValueError(f"shop must be 'local', 'http://host:port' or 'browser:http://host:port', not {shop!r}")
