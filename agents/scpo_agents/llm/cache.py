"""Keys and values of texts that grow at different speeds, side by side in one batch.

Each feeding takes as many slots as its longest piece; where a row has less to add, slots stay empty and are masked
out. Positions are given to the model, so an empty slot moves nothing. When too many are empty, rows are moved together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from scpo_agents.llm.model import LanguageModel
from scpo_agents.llm.trees import attention, depths
from scpo_agents.llm.trie import Tree

SLACK = 32
"""Empty slots that are never worth moving rows for."""


class Rows:
    """A batch of B texts and their keys and values in T slots.

    Args:
        model: Whose.
        count: B; all rows are empty at first.
    """

    def __init__(self, model: LanguageModel, count: int) -> None:
        from transformers import DynamicCache

        self._model = model
        self._cache: Any = DynamicCache()
        self._mask = torch.zeros(count, 0, dtype=torch.bool, device=model.device)
        self.texts: list[list[int]] = [[] for _ in range(count)]

    def feed(self, pieces: Sequence[Sequence[int]]) -> torch.Tensor:
        """Add ids to each row, none to some; gives the logits after each row's piece, shape (B, vocabulary).

        After an empty piece the logits mean nothing.
        """
        width = max(map(len, pieces))
        device = self._model.device
        ids = np.zeros((len(pieces), width), dtype=np.int64)
        new = np.zeros((len(pieces), width), dtype=np.bool_)
        for row, piece in enumerate(pieces):
            ids[row, : len(piece)] = piece
            new[row, : len(piece)] = True
        before = np.array([len(text) for text in self.texts])
        positions = before[:, None] + np.minimum(np.arange(width), np.maximum(new.sum(1, keepdims=True) - 1, 0))
        last = np.arange(len(pieces)) * width + np.maximum(new.sum(1) - 1, 0)
        mask = torch.cat([self._mask, torch.from_numpy(new).to(device)], dim=1)
        logits = self._model.logits(
            torch.from_numpy(ids).to(device),
            mask,
            torch.from_numpy(positions).to(device),
            torch.from_numpy(last).to(device),
            self._cache,
        )
        self._mask = mask
        for text, piece in zip(self.texts, pieces, strict=True):
            text.extend(piece)
        return logits

    def look(self, trees: Sequence[Tree]) -> Sequence[torch.Tensor]:
        """Logits after each inner node of a tree that continues each row, (n_nodes, vocabulary); nothing is kept."""
        width = max(1, *(len(tree.tokens) for tree in trees))
        slots = self._mask.shape[1]
        ids = np.zeros((len(trees), width), dtype=np.int64)
        positions = np.zeros((len(trees), width), dtype=np.int64)
        among = np.zeros((len(trees), width, width), dtype=np.bool_)
        where = []
        for row, tree in enumerate(trees):
            size = len(tree.tokens)
            ids[row, :size] = tree.tokens
            positions[row] = len(self.texts[row])
            positions[row, :size] += depths(tree)
            among[row] = np.eye(width, dtype=np.bool_)
            among[row, :size, :size] = attention(tree)
            where.append(row * width + np.arange(size))
        device = self._model.device
        mask = torch.cat(
            [self._mask[:, None].expand(-1, width, -1), torch.from_numpy(among).to(device)], dim=2
        ).unsqueeze(1)
        logits = self._model.logits(
            torch.from_numpy(ids).to(device),
            mask,
            torch.from_numpy(positions).to(device),
            torch.from_numpy(np.concatenate(where)).to(device),
            self._cache,
        )
        for layer in self._cache.layers:
            layer.keys, layer.values = layer.keys[..., :slots, :], layer.values[..., :slots, :]
        parts: Sequence[torch.Tensor] = logits.split([len(tree.tokens) for tree in trees])
        return parts

    def cut(self, row: int, length: int) -> None:
        """Forget what a row holds beyond its first tokens."""
        if length < len(self.texts[row]):
            del self.texts[row][length:]
            self._mask[row] &= self._mask[row].cumsum(0) <= length

    def take(self, rows: Sequence[int]) -> Rows:
        """Some rows, in the order named; one may be named more than once."""
        taken = Rows(self._model, 0)
        taken.texts = [list(self.texts[row]) for row in rows]
        index = torch.tensor(rows, dtype=torch.long, device=self._model.device)
        taken._mask = self._mask[index]
        for number, layer in enumerate(self._cache.layers):
            taken._cache.update(layer.keys[index], layer.values[index], number)
        return taken

    def tidied(self) -> Rows:
        """These rows, moved together if more than a quarter of the slots are empty in all of them."""
        longest = max(map(len, self.texts))
        slots = self._mask.shape[1]
        if slots * 3 <= longest * 4 + SLACK:
            return self
        # full slots first, in their order
        order = torch.sort(self._mask.byte(), dim=1, descending=True, stable=True).indices[:, :longest]
        for layer in self._cache.layers:
            index = order[:, None, :, None].expand(-1, layer.keys.shape[1], -1, layer.keys.shape[3])
            layer.keys, layer.values = layer.keys.gather(2, index), layer.values.gather(2, index)
        self._mask = self._mask.gather(1, order)
        return self

    @staticmethod
    def join(parts: Sequence[Rows]) -> Rows:
        """The rows of several batches, one batch after the other."""
        parts = [part for part in parts if part.texts]
        if len(parts) == 1:
            return parts[0]
        slots = max(part._mask.shape[1] for part in parts)
        joined = Rows(parts[0]._model, 0)
        joined.texts = [text for part in parts for text in part.texts]
        joined._mask = torch.cat([_padded(part._mask, slots, 1) for part in parts])
        for number in range(max(len(part._cache.layers) for part in parts)):
            layers = [part._cache.layers[number] for part in parts]
            joined._cache.update(
                torch.cat([_padded(layer.keys, slots, 2) for layer in layers]),
                torch.cat([_padded(layer.values, slots, 2) for layer in layers]),
                number,
            )
        return joined


def _padded(tensor: torch.Tensor, slots: int, dim: int) -> torch.Tensor:
    missing = slots - tensor.shape[dim]
    if not missing:
        return tensor
    shape = list(tensor.shape)
    shape[dim] = missing
    return torch.cat([tensor, tensor.new_zeros(shape)], dim=dim)
