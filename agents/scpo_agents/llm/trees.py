"""Trees of commands beside a text: who attends to whom, and what a forward pass says of each command."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from scpo_agents.llm.trie import Tree


def attention(tree: Tree) -> NDArray[np.bool_]:
    """Which inner nodes each one attends to: itself and those above it, shape (n, n)."""
    mask = np.eye(len(tree.tokens), dtype=np.bool_)
    for node, parent in enumerate(tree.parents):  # parents come first
        if parent >= 0:
            mask[node] |= mask[parent]
    return mask


def depths(tree: Tree) -> NDArray[np.int64]:
    """How far below the prompt's last token each inner node lies, the first ones 0, shape (n,)."""
    below = np.zeros(len(tree.tokens), dtype=np.int64)
    for node, parent in enumerate(tree.parents):  # parents come first
        if parent >= 0:
            below[node] = below[parent] + 1
    return below


def command_log_probs(tree: Tree, root: torch.Tensor, inner: torch.Tensor, count: int) -> torch.Tensor:
    """The log-probability of each command as a continuation: the sum over its tokens, the end included.

    Args:
        tree: The commands.
        root: Logits after the prompt, shape (vocabulary,).
        inner: Logits after each inner node, shape (n, vocabulary).
        count: Commands.

    Returns:
        Shape (count,); -inf for a command whose tokens are those of an earlier one.
    """
    device = root.device
    logits = torch.cat([root[None], inner])
    sources = torch.from_numpy(tree.sources + 1).to(device)
    targets = torch.from_numpy(tree.targets).to(device)
    edges = logits[sources, targets] - torch.logsumexp(logits, dim=1)[sources]
    commands = torch.from_numpy(tree.commands).to(device)
    sums = torch.zeros(count, device=device).index_add(0, commands, edges[torch.from_numpy(tree.edges).to(device)])
    absent = np.ones(count, dtype=np.bool_)
    absent[tree.commands] = False
    return sums.masked_fill(torch.from_numpy(absent).to(device), -torch.inf)
