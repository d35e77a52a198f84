"""The trie of the admissible commands: what may follow, where there is a choice, and the tree of one forward pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scpo_agents.llm.trie import Trie

END = 99
COMMANDS = st.lists(st.lists(st.integers(0, 4), max_size=5).map(lambda ids: (*ids, END)), min_size=1, max_size=12)


def test_only_tokens_that_continue_a_command_may_follow() -> None:
    trie = Trie([(1, 2, END), (1, 3, END), (1, 2, 4, END)])
    assert list(trie.children(0)) == [1]
    node, ids = trie.forced(0)
    assert ids == [1] and set(trie.children(node)) == {2, 3}
    two = trie.children(node)[2]
    assert set(trie.children(two)) == {END, 4} and trie.command(two) is None
    assert trie.command(trie.children(two)[END]) == 0


def test_a_token_without_an_alternative_is_no_choice() -> None:
    trie = Trie([(1, 2, END), (1, 3, 5, END)])
    assert [(position, allowed.tolist()) for position, allowed in trie.choices((1, 3, 5, END))] == [(1, [2, 3])]
    assert Trie([(1, 2, END)]).choices((1, 2, END)) == []


@given(COMMANDS)
def test_every_command_is_found_again_by_following_its_choices(commands: list[tuple[int, ...]]) -> None:
    trie = Trie(commands)
    assert len(trie) == len(commands)
    for index, ids in enumerate(commands):
        assert all(len(choice.allowed) > 1 and ids[choice.position] in choice.allowed for choice in trie.choices(ids))
        node, written = trie.forced(0)
        for choice in trie.choices(ids):
            assert len(written) == choice.position
            assert sorted(trie.children(node)) == choice.allowed.tolist()
            node, more = trie.forced(trie.children(node)[ids[choice.position]])
            written += [ids[choice.position], *more]
        assert tuple(written) == ids
        assert trie.command(node) == commands.index(ids)
        assert commands[index] == ids


@given(COMMANDS)
def test_the_tree_spells_each_command_once(commands: list[tuple[int, ...]]) -> None:
    tree = Trie(commands).tree
    assert all(parent < node for node, parent in enumerate(tree.parents))
    spelled: dict[int, list[int]] = {}
    for edge, command in zip(tree.edges, tree.commands, strict=True):
        spelled.setdefault(int(command), []).append(int(edge))
    assert set(spelled) == {commands.index(ids) for ids in commands}
    for command, edges in spelled.items():
        assert sorted(tree.targets[edges].tolist()) == sorted(commands[command])
        source = -1
        for edge in reversed(edges):  # from the root: each edge leaves the node where the last one ended
            assert tree.sources[edge] == source
            inside = [node for node, parent in enumerate(tree.parents) if parent == source]
            matching = [node for node in inside if tree.tokens[node] == tree.targets[edge]]
            source = matching[0] if matching else -2
        assert source == -2  # the end is read no further


@pytest.mark.parametrize("commands", [[], [()], [(1,), (1, 2)], [(1, 2), (1,)]])
def test_commands_that_cannot_be_told_apart_are_refused(commands: list[tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="none may be empty or begin another"):
        Trie(commands)


@pytest.mark.parametrize("ids", [(7, END), (1, 2), (1, 2, END, END), ()])
def test_ids_that_are_no_command_have_no_choices(ids: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"no command|within a command"):
        Trie([(1, 2, END), (1, 3, END)]).choices(ids)


def test_the_attention_of_a_tree_is_along_its_branches() -> None:
    from scpo_agents.llm import trie as module

    pytest.importorskip("torch", reason="trees are laid out for torch: pip install 'scpo-envs[llm]'")
    from scpo_agents.llm.trees import attention, depths

    tree = module.Trie([(1, 2, END), (1, 3, END), (4, END)]).tree
    assert tree.tokens.tolist() == [1, 2, 3, 4]
    expected = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    assert np.array_equal(attention(tree), np.array(expected, dtype=bool))
    assert depths(tree).tolist() == [0, 1, 1, 0]


@given(COMMANDS)
def test_a_node_attends_to_as_many_as_it_is_deep(commands: list[tuple[int, ...]]) -> None:
    pytest.importorskip("torch", reason="trees are laid out beside torch's tensors: pip install 'scpo-envs[llm]'")
    from scpo_agents.llm.trees import attention, depths

    tree = Trie(commands).tree
    assert depths(tree).tolist() == (attention(tree).sum(1) - 1).tolist()
