"""verl's agent loop over these environments: siblings meet at the end, and their steps get advantages together.

verl's V1 trainer (the default since 0.9) runs the n sessions of a prompt as tasks of one event loop. Each plays the
game of its dataset row, from the same start; the last to finish computes the group's advantages, and every
session returns them as token-level scores for the estimator `scpo`. A file for
`actor_rollout_ref.rollout.agent.agent_loop_config_path`::

    - name: scpo
      _target_: scpo_envs.integrations.verl_loop.ScpoAgentLoop
      env: SCPO-ALFWorld-v0

and rows of the dataset by `dataset_rows`. It needs `verl[verl-core]`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from uuid import uuid4

import gymnasium as gym
import numpy as np

from scpo_envs.credit import Advantages, advantages
from scpo_envs.errors import MissingExtraError
from scpo_envs.integrations.chat import SYSTEM, opening, told
from scpo_envs.integrations.episode import Episode
from scpo_envs.integrations.seats import merge_siblings
from scpo_envs.integrations.verl import token_scores
from scpo_envs.rollouts import RolloutGroup
from scpo_envs.text import parse_action

try:
    from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
except ModuleNotFoundError as error:
    raise MissingExtraError("scpo_envs.integrations.verl_loop", "verl") from error


class TurnOutput(AgentLoopOutput):
    """An agent loop's output with scores at the ends of turns instead of one at the end.

    Attributes:
        step_values: One number a turn.
    """

    step_values: list[float]

    def as_dict(self) -> dict[str, Any]:
        """What verl's trainer stores; `rm_scores` holds the values at the turn ends."""
        output: dict[str, Any] = super().as_dict()
        output["rm_scores"] = token_scores(output.pop("step_values"), self.response_mask, self.reward_score or 0.0)
        return output


class ScpoAgentLoop(AgentLoopBase):
    """Plays one session: an environment and a model that take turns.

    Every reply of the model is a step. The row's `extra_info` names the game (`{"game": id}`) or a seed; without
    either, the seed is drawn from the row's uid, so that siblings share their start in any case.

    Args:
        env: Id of the environment.
        env_kwargs: Its arguments.
        estimator: As for `scpo_envs.credit.advantages`; "scpo" by default.
        options: Further arguments of it, such as `{"omega": 0.5, "norm": "std"}`.
        commands: Show the admissible commands with each observation.
        **kwargs: What verl passes to every agent loop.
    """

    def __init__(
        self,
        *args: Any,
        env: str = "SCPO-ALFWorld-v0",
        env_kwargs: Mapping[str, Any] | None = None,
        estimator: str = "scpo",
        options: Mapping[str, Any] | None = None,
        commands: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._make_env = partial(gym.make, env, disable_env_checker=True, **(env_kwargs or {}))
        self._estimate = partial(advantages, estimator=estimator, **(options or {}))
        self._commands = commands

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> TurnOutput:
        """Play the session, meet its siblings, return tokens and step advantages."""
        meeting = _Meeting.join(str(kwargs["uid"]), int(kwargs["session_id"]))
        try:
            await asyncio.sleep(0)  # every sibling has joined before the first goes on
            episode = Episode(self._make_env())
            tokens = await self._play(episode, sampling_params, kwargs)
            group, found = await meeting.finish(int(kwargs["session_id"]), episode.finish(), self._estimate)
        except BaseException as error:
            meeting.fail(error)
            raise
        finally:
            meeting.leave(int(kwargs["session_id"]))
        place = meeting.place(int(kwargs["session_id"]))
        rollout = group.rollouts[place]
        credit = 0.0 if found.credit is None else float(found.credit[0][place].sum())
        told_of = {"won": float(rollout.won), "steps": len(rollout), "scpo_credit": credit}
        return TurnOutput(
            **tokens,
            step_values=found.total[0][place].tolist(),
            reward_score=rollout.total_reward,
            num_turns=2 * len(rollout),
            metrics=AgentLoopMetrics(),
            extra_fields={"reward_extra_info": told_of, "turn_scores": rollout.rewards.tolist(), "tool_rewards": []},
        )

    async def _play(self, episode: Episode, sampling_params: dict[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
        """The conversation as tokens: prompt, response, mask and, where the server gives them, log-probabilities."""
        start = row.get("extra_info") or {}
        seed = start.get("seed")
        if seed is None and start.get("game") is None:
            seed = int(np.random.SeedSequence(list(str(row["uid"]).encode())).generate_state(1)[0])
        first = await self._in_thread(episode.reset, seed=seed, game=start.get("game"))
        chat = opening(row["raw_prompt"], told(first, episode.info, commands=self._commands))
        tokens: list[int] = await self.ct_build_initial_tokens(chat)
        prompt, mask, logprobs = len(tokens), list[int](), list[float]()
        room, request = int(self.rollout_config.response_length), uuid4().hex
        while True:
            reply = await self.server_manager.generate(
                request_id=request, prompt_ids=tokens, sampling_params=sampling_params
            )
            known = reply.log_probs or None
            merged, mask, found = await self.ct_merge_assistant_token(
                tokens, reply.token_ids, mask, logprobs if known else None, assistant_logprobs=known
            )
            tokens, logprobs = merged.token_ids, found or []
            text = self.tokenizer.decode(reply.token_ids, skip_special_tokens=True)
            observation = await self._in_thread(episode.step, parse_action(text))
            if episode.ended or len(mask) >= room:
                break
            before = [*chat, {"role": "assistant", "content": text}]
            chat = [*before, {"role": "user", "content": told(observation, episode.info, commands=self._commands)}]
            merged, longer, found = await self.ct_merge_context_msg(before, chat, tokens, mask, logprobs or None)
            if len(longer) >= room:  # no room for another reply
                break
            tokens, mask, logprobs = merged.token_ids, longer, found or []
        return {
            "prompt_ids": tokens[:prompt],
            "response_ids": tokens[prompt : prompt + room],
            "response_mask": mask[:room],
            "response_logprobs": logprobs[:room] or None,
        }

    async def _in_thread(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return await self.loop.run_in_executor(None, partial(function, *args, **kwargs))


class _Meeting:
    """The siblings of one prompt, in one event loop: whoever finishes last computes for all."""

    _open: dict[str, _Meeting] = {}  # noqa: RUF012  # shared on purpose: siblings are tasks of one process

    def __init__(self, uid: str) -> None:
        self._uid = uid
        self._joined: list[int] = []
        self._present: set[int] = set()
        self._played: dict[int, RolloutGroup] = {}
        self._result: asyncio.Future[tuple[RolloutGroup, Advantages]] = asyncio.get_running_loop().create_future()

    @classmethod
    def join(cls, uid: str, session: int) -> _Meeting:
        meeting = cls._open.get(uid)
        if meeting is None:
            meeting = cls._open[uid] = cls(uid)
        meeting._joined = sorted([*meeting._joined, session])
        meeting._present.add(session)
        return meeting

    def place(self, session: int) -> int:
        """The session's index in the group."""
        return self._joined.index(session)

    async def finish(self, session: int, played: RolloutGroup, estimate: Any) -> tuple[RolloutGroup, Advantages]:
        """Hand in an episode; the group and its advantages, once all have."""
        self._played[session] = played
        if len(self._played) == len(self._joined) and not self._result.done():
            group = merge_siblings([self._played[sibling] for sibling in self._joined])
            found = await asyncio.get_running_loop().run_in_executor(None, estimate, [group])
            self._result.set_result((group, found))
        return await asyncio.shield(self._result)

    def fail(self, error: BaseException) -> None:
        """A sibling is lost: the others must not wait for it, nor be compared without it."""
        if not self._result.done():
            failure = RuntimeError(f"a sibling of prompt {self._uid} failed: {error!r}")
            self._result.set_exception(failure)
            self._result.exception()  # it is looked at, even where no sibling waits

    def leave(self, session: int) -> None:
        self._present.discard(session)
        if not self._present:
            self._open.pop(self._uid, None)


def dataset_rows(games: Iterable[str], *, agent_name: str = "scpo", data_source: str = "scpo") -> list[dict[str, Any]]:
    """Rows of a verl dataset, one a game; `pandas.DataFrame(rows).to_parquet(path)` writes it."""
    return [
        {
            "data_source": data_source,
            "agent_name": agent_name,
            "prompt": [{"role": "system", "content": SYSTEM}],
            "reward_model": {"style": "rule", "ground_truth": ""},
            "extra_info": {"index": index, "game": game},
        }
        for index, game in enumerate(games)
    ]
