"""What the model says of decisions now: the forward pass of training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from scpo_agents.agent import Scores
from scpo_agents.llm.decision import LLMDecision
from scpo_agents.llm.model import LanguageModel
from scpo_agents.llm.transformers_generator import gather_allowed
from scpo_agents.llm.trees import attention, command_log_probs, depths


def score(model: LanguageModel, decisions: Sequence[LLMDecision]) -> Scores:
    """Log-probability and entropy of each token of decisions of one kind.

    Decisions that share a transcript are read in one pass, up to the end of the last one.
    """
    rows: dict[int, list[int]] = {}
    for index, decision in enumerate(decisions):
        rows.setdefault(id(decision.ids), []).append(index)
    groups = list(rows.values())
    if decisions[0].ranked is not None:
        return _score_ranked(model, decisions, groups)
    return _score_tokens(model, decisions, groups)


def _score_tokens(model: LanguageModel, decisions: Sequence[LLMDecision], groups: Sequence[list[int]]) -> Scores:
    ends = [max(decisions[index].stop for index in group) - 1 for group in groups]  # the last token is not read
    width = max(ends)
    ids = np.zeros((len(groups), width), dtype=np.int64)
    row_of: dict[int, int] = {}
    for row, (group, end) in enumerate(zip(groups, ends, strict=True)):
        ids[row, :end] = decisions[group[0]].ids[:end]
        row_of |= dict.fromkeys(group, row)
    positions = [decision.positions for decision in decisions]
    owner = np.repeat(np.arange(len(decisions)), list(map(len, positions)))
    where = [row_of[index] * width + place - 1 for index, own in enumerate(positions) for place in own]
    tokens = [decision.ids[place] for decision, own in zip(decisions, positions, strict=True) for place in own]
    device = model.device
    logits = model.logits(
        torch.from_numpy(ids).to(device),
        torch.from_numpy(np.arange(width) < np.array(ends)[:, None]).to(device),
        torch.arange(width, device=device).expand(len(groups), -1),
        torch.tensor(where, dtype=torch.long, device=device),
    )
    target = torch.tensor(tokens, dtype=torch.long, device=device)
    if decisions[0].choices is not None:
        allowed = [choice.allowed for decision in decisions for choice in decision.choices or ()]
        if allowed:
            logits = gather_allowed(logits, allowed)
        columns = [int(np.searchsorted(own, token)) for own, token in zip(allowed, tokens, strict=True)]
        target = torch.tensor(columns, dtype=torch.long, device=device)
    log_probs = logits.log_softmax(dim=1)
    return Scores(log_probs.gather(1, target[:, None])[:, 0], entropy(log_probs), torch.from_numpy(owner).to(device))


def _score_ranked(model: LanguageModel, decisions: Sequence[LLMDecision], groups: Sequence[list[int]]) -> Scores:
    """One row a text: the text, and beside it the trees of all decisions made in it."""
    trees = [decision.ranked.tree for decision in decisions if decision.ranked is not None]
    trunks = [max(decisions[index].start for index in group) for group in groups]
    width = max(
        trunk + sum(len(trees[index].tokens) for index in group) for trunk, group in zip(trunks, groups, strict=True)
    )
    ids = np.zeros((len(groups), width), dtype=np.int64)
    places = np.zeros((len(groups), width), dtype=np.int64)
    mask: NDArray[np.bool_] = np.zeros((len(groups), width, width), dtype=np.bool_)
    roots = np.zeros(len(decisions), dtype=np.int64)
    inner: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)] * len(decisions)
    for row, (trunk, group) in enumerate(zip(trunks, groups, strict=True)):
        ids[row, :trunk] = decisions[group[0]].ids[:trunk]
        places[row, :trunk] = np.arange(trunk)
        mask[row] = np.eye(width, dtype=np.bool_)  # padding reads itself
        mask[row, :trunk, :trunk] = np.tri(trunk, dtype=np.bool_)
        at = trunk
        for index in group:
            start, tree = decisions[index].start, trees[index]
            own = slice(at, at + len(tree.tokens))
            ids[row, own], places[row, own] = tree.tokens, start + depths(tree)
            mask[row, own, :start] = True
            mask[row, own, own] = attention(tree)
            roots[index] = row * width + start - 1
            inner[index] = row * width + np.arange(own.start, own.stop)
            at = own.stop
    device = model.device
    logits = model.logits(
        torch.from_numpy(ids).to(device),
        torch.from_numpy(mask[:, None]).to(device),
        torch.from_numpy(places).to(device),
        torch.from_numpy(np.concatenate([roots, *inner])).to(device),
    )
    root_logits, *inner_logits = logits.split([len(decisions), *map(len, inner)])
    log_probs, entropies = [], []
    for decision, tree, root, own_logits in zip(decisions, trees, root_logits, inner_logits, strict=True):
        assert decision.ranked is not None
        table = rank_log_probs(command_log_probs(tree, root, own_logits, len(decision.ranked)))
        log_probs.append(table[decision.chosen])
        entropies.append(entropy(table[None])[0])
    return Scores(torch.stack(log_probs), torch.stack(entropies), torch.arange(len(decisions), device=device))


def rank_log_probs(ranks: torch.Tensor) -> torch.Tensor:
    """The distribution that a ranked command is drawn from: the softmax of the commands' log-probabilities."""
    return ranks.log_softmax(dim=0)


def entropy(log_probs: torch.Tensor) -> torch.Tensor:
    """Entropy of each row of log-probabilities, -inf where something is impossible."""
    return -(log_probs.exp() * log_probs.clamp(min=-1e9)).sum(dim=1)
