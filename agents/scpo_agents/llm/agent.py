"""The language model as an agent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scpo_agents.agent import Scores
from scpo_agents.llm.config import LLMConfig
from scpo_agents.llm.context import CONTEXTS, Chat
from scpo_agents.llm.decision import LLMDecision
from scpo_agents.llm.generator import Generator
from scpo_agents.llm.model import LanguageModel, load_weights, make_model, read_tokenizer, save_model
from scpo_agents.llm.player import LLMPlayer
from scpo_agents.llm.scoring import score
from scpo_agents.llm.transformers_generator import TransformersGenerator
from scpo_agents.llm.trie import Trie
from scpo_envs.rollouts import Rollout, RolloutGroup

_FOLDER = "model"


class LLMAgent:
    """Reads text, writes replies.

    Args:
        config: Its model, and how it is used.
        seed: Decides weights that are random.
        folder: A checkpoint to take model and vocabulary from.
    """

    def __init__(self, config: LLMConfig, *, seed: int = 0, folder: Path | None = None) -> None:
        self.config = config
        source = None if folder is None else folder / _FOLDER
        self.model, self.tokenizer = make_model(config, seed=seed, folder=source)
        self.module: Any = self.model.module
        self.chat = Chat(self.tokenizer, _ends(self.module))
        self.trie = lru_cache(maxsize=2**14)(partial(_make_trie, self.chat))  # a reference shares it, but no weights
        self._actor: LanguageModel | None = None

    @classmethod
    def restore(cls, config: LLMConfig, folder: Path, *, seed: int = 0) -> LLMAgent:
        """The agent of a checkpoint."""
        agent = cls(config, seed=seed, folder=folder)
        if config.lora_rank or config.model == "scratch":
            agent.load(folder)
        return agent

    def player(self, *, seed: int, greedy: bool = False) -> LLMPlayer:
        """A player with the weights as they are; its generator keeps no others."""
        return LLMPlayer(self, self.generator(), seed=seed, greedy=greedy)

    def generator(self) -> Generator:
        """Where this agent's replies come from. Another backend is put in here."""
        return TransformersGenerator(
            self._acting_model(),
            ends=self.chat.ends,
            max_tokens=self.config.max_tokens,
            parallel=self.config.parallel,
        )

    def demonstrated(self, groups: Sequence[RolloutGroup]) -> list[list[list[LLMDecision]]]:
        """The decisions of rollouts. A free reply is the action between its tags, without a thought.

        Raises:
            ValueError: The task or, where replies are limited to them, the admissible commands are missing, or the
                action is none of these.
        """
        return [[self._replay(group, rollout) for rollout in group.rollouts] for group in groups]

    def score(self, decisions: Sequence[LLMDecision]) -> Scores:
        """Log-probability and entropy of each token."""
        return score(self.model, decisions)

    def reference(self) -> LLMAgent:
        """A frozen copy, in what is computed in."""
        frozen = object.__new__(LLMAgent)
        frozen.__dict__ |= self.__dict__ | {"model": self.model.frozen_copy(), "_actor": None}
        frozen.module = frozen.model.module
        return frozen

    def save(self, folder: Path) -> None:
        """Write model and tokenizer into the folder `model`, as `from_pretrained` reads it."""
        save_model(folder / _FOLDER, self.model, self.tokenizer)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote.

        Raises:
            ValueError: It is damaged, of another size, or has another vocabulary.
        """
        if read_tokenizer(folder / _FOLDER).get_vocab() != self.tokenizer.get_vocab():
            raise ValueError("its vocabulary is another one")
        load_weights(folder / _FOLDER, self.model)

    def _acting_model(self) -> LanguageModel:
        """The model to generate with: itself, or a copy in what is computed in where all weights are kept in more."""
        if self.model.dtype == torch.float32 or self.config.lora_rank:
            return self.model
        if self._actor is None:
            self._actor = self.model.frozen_copy()
        else:
            with torch.no_grad():
                for copy, parameter in zip(self._actor.module.parameters(), self.module.parameters(), strict=True):
                    copy.copy_(parameter)
        return self._actor

    def _replay(self, group: RolloutGroup, rollout: Rollout) -> list[LLMDecision]:
        if group.instruction is None:
            raise ValueError(f"the group of task {group.task!r} has no instruction, which the model is told")
        context = CONTEXTS[self.config.context](self.chat, self.config, group.instruction)
        decisions = []
        for index, step in enumerate(rollout.steps):
            menu = tuple(step.info.get("admissible_commands", ()))
            free = self.config.reply == "think"
            if not free and step.action not in menu:
                raise ValueError(
                    f"step {index} of a rollout of {group.task!r}: the action {step.action!r:.80} is none of the "
                    f"{len(menu)} commands in info['admissible_commands']"
                )
            prompt = context.prompt(step.observation, menu)
            ids = self.chat.command(f"<action>{step.action}</action>" if free else step.action)
            context.replied(prompt, ids, step.observation, step.action)
            decision = LLMDecision(prompt.ids, prompt.start, len(prompt.ids), np.zeros(len(ids), np.float32))
            if self.config.reply == "choose":
                decision.choices = self.trie(menu).choices(ids)
                decision.log_probs = np.zeros(len(decision.choices), np.float32)
            elif self.config.reply == "score":
                decision.ranked, decision.chosen = self.trie(menu), menu.index(step.action)
                decision.log_probs = np.zeros(1, np.float32)
            decisions.append(decision)
        return decisions


def _make_trie(chat: Chat, menu: tuple[str, ...]) -> Trie:
    return Trie([chat.command(command) for command in menu])


def _ends(module: Any) -> list[int]:
    """The ids that the model's generation settings say end a reply."""
    found = getattr(getattr(module, "generation_config", None), "eos_token_id", None)
    return [] if found is None else [found] if isinstance(found, int) else list(found)
