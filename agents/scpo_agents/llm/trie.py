"""The admissible commands as token ids that share their beginnings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Choice(NamedTuple):
    """A token that was chosen among several.

    Attributes:
        position: Its index in the reply.
        allowed: The ids it was chosen from, ascending, shape (at least 2,).
    """

    position: int
    allowed: NDArray[np.int64]


class Tree(NamedTuple):
    """A trie laid out for one forward pass over all its commands.

    Attributes:
        tokens: Ids of the inner nodes, parents before children, shape (n,).
        parents: Index of each one's parent, -1 where that is the prompt's end, shape (n,).
        sources: For each edge, the inner node it leaves, -1 for the prompt's end, shape (e,).
        targets: The id it leads to, shape (e,).
        edges: The edges of all commands' paths, end to end, shape (p,).
        commands: The command that each of these belongs to, shape (p,).
    """

    tokens: NDArray[np.int64]
    parents: NDArray[np.int64]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    edges: NDArray[np.int64]
    commands: NDArray[np.int64]


class Trie:
    """Commands by token.

    Args:
        commands: Ids of each command, the token that ends a reply included, so that none begins another. Of equal ones
            the first is meant.

    Raises:
        ValueError: There is no command, an empty one, or one that begins another.
    """

    def __init__(self, commands: Sequence[Sequence[int]]) -> None:
        self._tokens = [-1]
        self._parents = [-1]
        self._children: list[dict[int, int]] = [{}]
        self._command: dict[int, int] = {}
        self._leaves: list[int] = []
        for index, ids in enumerate(commands):
            node = 0
            for token in ids:
                node = self._child(node, token)
            self._command.setdefault(node, index)
            self._leaves.append(node)
        if not self._leaves or any(self._children[leaf] or leaf == 0 for leaf in self._leaves):
            raise ValueError("a trie needs at least one command, and none may be empty or begin another")

    def _child(self, node: int, token: int) -> int:
        children = self._children[node]
        if token not in children:
            children[token] = len(self._tokens)
            self._tokens.append(token)
            self._parents.append(node)
            self._children.append({})
        return children[token]

    def children(self, node: int) -> dict[int, int]:
        """The nodes below a node, by token; the root is node 0."""
        return self._children[node]

    def command(self, node: int) -> int | None:
        """Index of the command that ends at a node."""
        return self._command.get(node)

    def forced(self, node: int) -> tuple[int, list[int]]:
        """The node where there is something to choose again, or a command's end, and the ids on the way there."""
        ids = []
        while len(self._children[node]) == 1:
            ((token, node),) = self._children[node].items()
            ids.append(token)
        return node, ids

    def choices(self, ids: Sequence[int]) -> list[Choice]:
        """Where a command's ids were chosen among several.

        Raises:
            ValueError: They are no command's.
        """
        node, choices = 0, []
        for position, token in enumerate(ids):
            children = self._children[node]
            if token not in children:
                raise ValueError(f"the ids {list(ids)} are no command of this trie")
            if len(children) > 1:
                choices.append(Choice(position, np.array(sorted(children))))
            node = children[token]
        if node not in self._command:
            raise ValueError(f"the ids {list(ids)} end within a command")
        return choices

    @cached_property
    def tree(self) -> Tree:
        """All commands for one forward pass."""
        inner = [node for node in range(1, len(self._tokens)) if self._children[node]]
        index = {0: -1} | {node: place for place, node in enumerate(inner)}
        nodes = range(1, len(self._tokens))
        edges, commands = [], []
        for command, leaf in enumerate(self._leaves):
            if self._command[leaf] != command:
                continue
            node = leaf
            while node:
                edges.append(node - 1)
                commands.append(command)
                node = self._parents[node]
        return Tree(
            tokens=np.array([self._tokens[node] for node in inner], dtype=np.int64),
            parents=np.array([index[self._parents[node]] for node in inner], dtype=np.int64),
            sources=np.array([index[self._parents[node]] for node in nodes], dtype=np.int64),
            targets=np.array([self._tokens[node] for node in nodes], dtype=np.int64),
            edges=np.array(edges, dtype=np.int64),
            commands=np.array(commands, dtype=np.int64),
        )

    def __len__(self) -> int:
        """Commands, equal ones included."""
        return len(self._leaves)
