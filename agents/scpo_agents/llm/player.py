"""Playing with a language model."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from scpo_agents.llm.context import CONTEXTS, Context, Prompt
from scpo_agents.llm.decision import LLMDecision
from scpo_agents.llm.generator import Generator, Reply, Request
from scpo_agents.llm.scoring import rank_log_probs
from scpo_agents.prompts import commands_of
from scpo_envs.policies import Turn
from scpo_envs.text import parse_action

if TYPE_CHECKING:
    from scpo_agents.llm.agent import LLMAgent


class LLMPlayer:
    """Plays with a language model, and keeps what it decided.

    What a sibling draws depends on the seed, its task and how often that was begun before; the model's probabilities
    depend, in their last digits, on what shares a batch.

    Attributes:
        measures: Sums and counts of what was measured: `act/tokens` (of a reply), `act/cut` (replies stopped for their
            length), `act/forgotten` (prompts from which something older was left out).

    Args:
        agent: Whose settings to use.
        generator: Where replies come from.
        seed: Decides the draws.
        greedy: Take the likeliest instead.
    """

    def __init__(self, agent: LLMAgent, generator: Generator, *, seed: int, greedy: bool = False) -> None:
        self.decisions: dict[int, list[LLMDecision]] = {}
        self.measures: dict[str, tuple[float, float]] = {}
        self._agent, self._generator = agent, generator
        self._seed, self._greedy = seed, greedy
        self._contexts: dict[int, Context] = {}
        self._rngs: dict[int, random.Random] = {}
        self._begun: Counter[str] = Counter()

    def act(self, turns: Sequence[Turn]) -> list[str]:
        """One action for each turn, in order.

        Raises:
            ValueError: Replies are limited to the admissible commands, and the environment tells none.
        """
        prompts, requests = [], []
        for turn in turns:
            if turn.first:
                self._begin(turn)
            menu = commands_of(turn.info)
            prompt = self._contexts[turn.sibling].prompt(turn.observation, menu)
            prompts.append(prompt)
            rng = None if self._greedy else self._rngs[turn.sibling]
            commands = None
            if self._agent.config.reply != "think":
                if not menu:
                    raise ValueError(
                        f"agent.reply={self._agent.config.reply!r} needs admissible commands, but none are told"
                    )
                commands = self._agent.trie(menu)
            requests.append(Request(prompt.ids, turn.sibling, rng, commands))
        if self._agent.config.reply == "score":
            ranks = self._generator.rank(requests)
            replies = [self._pick(own, ranked) for own, ranked in zip(requests, ranks, strict=True)]
        else:
            replies = self._generator.generate(requests)
        return [self._conclude(*own) for own in zip(turns, prompts, requests, replies, strict=True)]

    def _begin(self, turn: Turn) -> None:
        task, config = turn.info["task_id"], self._agent.config
        self._rngs[turn.sibling] = random.Random(f"{self._seed}/{task}/{self._begun[task]}")
        self._begun[task] += 1
        self._contexts[turn.sibling] = CONTEXTS[config.context](self._agent.chat, config, turn.info["task"])
        self.decisions[turn.sibling] = []

    def _pick(self, request: Request, ranks: NDArray[np.float32]) -> Reply:
        """Draw one of the ranked commands."""
        table = rank_log_probs(torch.from_numpy(ranks)).numpy()
        if request.rng is None:
            chosen = int(table.argmax())
        else:
            cumulated = np.exp(table, dtype=np.float64).cumsum()
            chosen = int((cumulated <= request.rng.random() * cumulated[-1]).sum())
        return Reply(log_probs=[float(table[chosen])], command=chosen)

    def _conclude(self, turn: Turn, prompt: Prompt, request: Request, reply: Reply) -> str:
        """Keep the decision, and give its action."""
        menu = commands_of(turn.info)
        if reply.command is None:
            action = parse_action(self._agent.chat.decode(reply.ids))
        else:
            action = menu[reply.command]
        ids = reply.ids or self._agent.chat.command(action)
        self._contexts[turn.sibling].replied(prompt, ids, turn.observation, action)
        ranked = request.commands if self._agent.config.reply == "score" else None
        self.decisions[turn.sibling].append(
            LLMDecision(
                ids=prompt.ids,
                start=prompt.start,
                stop=prompt.start + len(ids),
                log_probs=np.array(reply.log_probs, dtype=np.float32),
                choices=reply.choices if request.commands is not None and ranked is None else None,
                ranked=ranked,
                chosen=reply.command or 0,
            )
        )
        self._measure("act/tokens", len(ids))
        self._measure("act/cut", reply.cut)
        self._measure("act/forgotten", prompt.cut)
        return action

    def _measure(self, name: str, value: float) -> None:
        total, count = self.measures.get(name, (0.0, 0.0))
        self.measures[name] = total + value, count + 1
