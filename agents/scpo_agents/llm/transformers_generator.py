"""Generation with the model itself: batched, with keys and values kept from turn to turn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray

from scpo_agents.llm.cache import Rows
from scpo_agents.llm.generator import Reply, Request
from scpo_agents.llm.model import LanguageModel
from scpo_agents.llm.trees import command_log_probs
from scpo_agents.llm.trie import Choice


@dataclass(slots=True)
class _Draft:
    """A reply in the making."""

    request: Request
    pending: list[int]
    reply: Reply = field(default_factory=Reply)
    node: int = 0
    done: bool = False


class TransformersGenerator:
    """A `Generator` over a model in this process.

    What a key's prompt has in common with what the model has read for that key is not read again. Equal first
    prompts, such as those of siblings, are read once. Floating-point sums depend a little on what shares a batch:
    the same draws may, rarely, fall on the other side of a bound.

    Args:
        model: The model.
        ends: Ids that end a free reply.
        max_tokens: Longest free reply.
        parallel: Rows of a batch at most.
    """

    def __init__(self, model: LanguageModel, *, ends: frozenset[int], max_tokens: int, parallel: int) -> None:
        self._model = model
        self._ends = ends
        self._max_tokens = max_tokens
        self._parallel = parallel
        self._read: dict[int, tuple[dict[int, int], Rows]] = {}

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """A reply to each request, in order."""
        replies: dict[int, Reply] = {}
        with self._model.acting():
            for part in self._parts(requests):
                rows, ordered, pending = self._prepare(part)
                drafts = [_Draft(request, piece) for request, piece in zip(ordered, pending, strict=True)]
                rows, drafts = self._write(rows, drafts)
                self._keep([draft.request.key for draft in drafts], rows)
                replies |= {draft.request.key: draft.reply for draft in drafts}
        return [replies[request.key] for request in requests]

    def rank(self, requests: Sequence[Request]) -> list[NDArray[np.float32]]:
        """The log-probability of each command of each request."""
        ranks: dict[int, NDArray[np.float32]] = {}
        with self._model.acting():
            for part in self._parts(requests):
                rows, ordered, pending = self._prepare(part)
                roots = rows.feed(pending)
                tries = [request.commands for request in ordered if request.commands is not None]
                inner = rows.look([trie.tree for trie in tries])
                for request, trie, root, own in zip(ordered, tries, roots, inner, strict=True):
                    ranks[request.key] = command_log_probs(trie.tree, root, own, len(trie)).cpu().numpy()
                self._keep([request.key for request in ordered], rows)
        return [ranks[request.key] for request in requests]

    def _parts(self, requests: Sequence[Request]) -> list[list[Request]]:
        """Requests by batch; a key always falls into the same."""

        def batch(request: Request) -> int:
            return request.key // self._parallel

        return [list(part) for _, part in groupby(sorted(requests, key=lambda one: one.key), batch)]

    def _prepare(self, requests: Sequence[Request]) -> tuple[Rows, list[Request], list[list[int]]]:
        """A row for each request, the requests in the rows' order, and what each has yet to read, at least a token."""
        places, rows = self._read.pop(requests[0].key // self._parallel, ({}, None))
        common = {
            one.key: _common(rows.texts[places[one.key]], one.prompt)
            for one in requests
            if rows is not None and one.key in places
        }
        # a prompt that is mostly new is read apart: beside others' few tokens it would make a wide batch
        old = [one for one in requests if 2 * common.get(one.key, 0) >= len(one.prompt)]
        old.sort(key=lambda one: places[one.key])
        new = [one for one in requests if 2 * common.get(one.key, 0) < len(one.prompt)]
        parts = []
        if rows is not None and old:
            kept = rows if len(old) == len(places) else rows.take([places[one.key] for one in old])
            for row, one in enumerate(old):
                kept.cut(row, common[one.key])
            parts.append(kept)
        if new:
            parts.append(self._first([one.prompt for one in new]))
        together, ordered = Rows.join(parts).tidied(), old + new
        pending = [list(one.prompt[len(text) :]) for one, text in zip(ordered, together.texts, strict=True)]
        return together, ordered, pending

    def _first(self, prompts: Sequence[Sequence[int]]) -> Rows:
        """Read prompts but for their last token, equal ones once."""
        texts = [tuple(prompt[:-1]) for prompt in prompts]
        distinct = list(dict.fromkeys(texts))
        rows = Rows(self._model, len(distinct))
        rows.feed(distinct)
        index = {text: row for row, text in enumerate(distinct)}
        return rows if len(distinct) == len(texts) else rows.take([index[text] for text in texts])

    def _write(self, rows: Rows, drafts: list[_Draft]) -> tuple[Rows, list[_Draft]]:
        """Write all replies to their ends; gives the rows and drafts, both in a new order."""
        for draft in drafts:
            self._go_on(draft, [])
        parked: list[tuple[Rows, list[_Draft]]] = []
        while going := [row for row, draft in enumerate(drafts) if not draft.done]:
            if len(going) * 2 <= len(drafts):  # replies that have ended cost nothing more
                ended = [row for row, draft in enumerate(drafts) if draft.done]
                parked.append((rows.take(ended), [drafts[row] for row in ended]))
                rows, drafts = rows.take(going), [drafts[row] for row in going]
                going = list(range(len(drafts)))
            logits = rows.feed([[] if draft.done else draft.pending for draft in drafts])
            writing = [drafts[row] for row in going]
            for draft in writing:
                draft.pending = []
            self._sample(writing, logits[torch.tensor(going, device=logits.device)])
        parked.append((rows, drafts))
        return Rows.join([part for part, _ in parked]), [draft for _, own in parked for draft in own]

    def _sample(self, drafts: list[_Draft], logits: torch.Tensor) -> None:
        """The next token of each draft."""
        allowed: list[NDArray[np.int64]] | None = None
        if drafts[0].request.commands is not None:
            allowed = [
                np.array(sorted(draft.request.commands.children(draft.node)))
                for draft in drafts
                if draft.request.commands is not None
            ]
            logits = gather_allowed(logits, allowed)
        drawn, log_probs = _draw(logits, [draft.request.rng for draft in drafts])
        for row, draft in enumerate(drafts):
            token = drawn[row] if allowed is None else int(allowed[row][drawn[row]])
            draft.reply.log_probs.append(log_probs[row])
            if allowed is not None:
                draft.reply.choices.append(Choice(len(draft.reply.ids), allowed[row]))
            self._go_on(draft, [token])

    def _go_on(self, draft: _Draft, tokens: list[int]) -> None:
        """Add what was drawn, and what follows without a choice."""
        reply, trie = draft.reply, draft.request.commands
        if trie is None:
            reply.cut = len(reply.ids) + len(tokens) == self._max_tokens and not self._ends.intersection(tokens)
            draft.done = bool(self._ends.intersection(tokens)) or reply.cut
        else:
            for token in tokens:
                draft.node = trie.children(draft.node)[token]
            draft.node, forced = trie.forced(draft.node)
            tokens = tokens + forced
            reply.command = trie.command(draft.node)
            draft.done = reply.command is not None
        reply.ids += tokens
        draft.pending += tokens

    def _keep(self, keys: Sequence[int], rows: Rows) -> None:
        self._read[keys[0] // self._parallel] = ({key: row for row, key in enumerate(keys)}, rows)


def gather_allowed(logits: torch.Tensor, allowed: Sequence[NDArray[np.int64]]) -> torch.Tensor:
    """The logits of the ids allowed in each row, shape (n, most that a row allows), -inf where there is none."""
    width = max(map(len, allowed))
    ids = np.zeros((len(allowed), width), dtype=np.int64)
    there = np.zeros((len(allowed), width), dtype=np.bool_)
    for row, own in enumerate(allowed):
        ids[row, : len(own)] = own
        there[row, : len(own)] = True
    gathered = logits.gather(1, torch.from_numpy(ids).to(logits.device))
    return gathered.masked_fill(~torch.from_numpy(there).to(logits.device), -torch.inf)


def _draw(logits: torch.Tensor, rngs: Sequence[random.Random | None]) -> tuple[list[int], list[float]]:
    """A column of each row, with its log-probability."""
    log_probs = logits.log_softmax(dim=1)
    chosen = log_probs.argmax(dim=1)
    if any(rng is not None for rng in rngs):
        uniforms = torch.tensor(
            [0.0 if rng is None else rng.random() for rng in rngs], dtype=torch.float64, device=logits.device
        )
        cumulated = log_probs.double().exp().cumsum(dim=1)
        # scaled by the last entry, so that rounding never passes the end
        drawn = (cumulated <= uniforms[:, None] * cumulated[:, -1:]).sum(dim=1)
        greedy = torch.tensor([rng is None for rng in rngs], device=logits.device)
        chosen = torch.where(greedy, chosen, drawn)
    return chosen.tolist(), log_probs.gather(1, chosen[:, None])[:, 0].tolist()


def _common(read: Sequence[int], prompt: Sequence[int]) -> int:
    """How many tokens two texts begin with in common, leaving one of the prompt to be read."""
    most = min(len(read), len(prompt) - 1)
    if list(read[:most]) == list(prompt[:most]):
        return most
    return next(index for index in range(most) if read[index] != prompt[index])
