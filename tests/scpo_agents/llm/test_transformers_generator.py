"""Generation: caches change nothing, draws follow the probabilities, and nobody is generated for in vain."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from scpo_agents.llm.generator import Request
from scpo_agents.llm.trie import Trie
from tests.scpo_agents.llm.conftest import make_agent, played

torch = pytest.importorskip("torch", reason="the language-model agent needs torch: pip install 'scpo-envs[llm]'")
pytest.importorskip("transformers", reason="the agent needs transformers: pip install 'scpo-envs[llm]'")

from scpo_agents.llm.transformers_generator import TransformersGenerator  # noqa: E402

pytestmark = pytest.mark.slow
TRIE = Trie([(5, 6, 7, 2), (5, 6, 8, 2), (9, 2), (5, 9, 7, 2)])


def generator(agent: Any, **settings: Any) -> TransformersGenerator:
    return TransformersGenerator(agent.model, **{"ends": frozenset({2}), "max_tokens": 12, "parallel": 4, **settings})


def prompts(turns: int, rows: int = 6) -> list[list[list[int]]]:
    """Random texts, by turn and row; each turn's begin with the last's, but for one row that begins anew."""
    rng = random.Random(1)
    texts = [[rng.randrange(4, 30) for _ in range(rng.randrange(3, 20))] for _ in range(rows)]
    result = []
    for index in range(turns):
        texts = [text + [rng.randrange(4, 30) for _ in range(rng.randrange(1, 25))] for text in texts]
        if index == 2:
            texts[1] = [*texts[1][:4], 7, 7, 7]
        result.append([list(text) for text in texts])
    return result


@pytest.mark.parametrize("commands", [None, TRIE])
def test_replies_with_caches_are_those_without(commands: Trie | None) -> None:
    """Rows of different lengths, some of which leave, one that is rewritten, one that comes late."""
    agent = make_agent()
    kept = generator(agent)
    for step, texts in enumerate(prompts(6)):
        there = [row for row in range(6) if not (row == 3 and step > 2) and not (row == 5 and step < 2)]

        def requests(row: int, step: int = step, texts: Any = texts) -> Request:
            return Request(texts[row], row, random.Random(f"{step}/{row}"), commands)

        together = kept.generate([requests(row) for row in there])
        for row, reply in zip(there, together, strict=True):
            (alone,) = generator(agent).generate([requests(row)])
            assert reply.ids == alone.ids and reply.command == alone.command and reply.cut == alone.cut
            np.testing.assert_allclose(reply.log_probs, alone.log_probs, atol=1e-5)


def test_ranks_with_caches_are_those_without() -> None:
    agent = make_agent()
    kept = generator(agent)
    for texts in prompts(4):
        requests = [Request(text, row, None, TRIE) for row, text in enumerate(texts)]
        for request, ranks in zip(requests, kept.rank(requests), strict=True):
            (alone,) = generator(agent).rank([request])
            np.testing.assert_allclose(ranks, alone, atol=1e-5)


def test_log_probabilities_are_those_of_the_text_that_was_written() -> None:
    agent = make_agent(temperature=0.8)
    prompt = [4, 11, 12, 13]
    (reply,) = generator(agent).generate([Request(prompt, 0, random.Random(4))])
    table = (agent.module(torch.tensor([prompt + reply.ids])).logits[0] / 0.8).log_softmax(-1)
    expected = [table[len(prompt) - 1 + place, token].item() for place, token in enumerate(reply.ids)]
    np.testing.assert_allclose(reply.log_probs, expected, atol=1e-5)


def test_draws_follow_the_probabilities() -> None:
    agent = make_agent()
    count = 3000
    replies = generator(agent, parallel=count).generate(
        [Request([4, 11, 12], key, random.Random(key), TRIE) for key in range(count)]
    )
    table = agent.module(torch.tensor([[4, 11, 12]])).logits[0, -1]
    share = np.mean([reply.command == 2 for reply in replies])
    expected = torch.softmax(table[[5, 9]], 0)[1].item()
    assert abs(share - expected) < 0.03


def test_greedy_takes_the_likeliest() -> None:
    agent = make_agent()
    (reply,) = generator(agent).generate([Request([4, 11, 12], 0)])
    ids = [4, 11, 12]
    for token in reply.ids:
        assert int(agent.module(torch.tensor([ids])).logits[0, -1].argmax()) == token
        ids.append(token)


def test_a_reply_ends_where_it_ends_and_one_that_is_too_long_is_cut() -> None:
    agent = make_agent()
    replies = generator(agent, parallel=64).generate(
        [Request([4, 11, key % 30], key, random.Random(key)) for key in range(200)]
    )
    for reply in replies:
        assert 2 not in reply.ids[:-1] and len(reply.ids) <= 12 and len(reply.log_probs) == len(reply.ids)
        assert reply.cut == (len(reply.ids) == 12 and reply.ids[-1] != 2)
    assert {reply.cut for reply in replies} == {True, False}


def test_where_there_is_no_choice_the_model_is_not_asked() -> None:
    agent = make_agent()
    calls = counted(agent)
    (reply,) = generator(agent).generate([Request([4, 11], 0, random.Random(0), Trie([(5, 6, 2)]))])
    assert reply.ids == [5, 6, 2] and reply.command == 0 and reply.log_probs == [] == reply.choices
    assert sum(map(sum, calls)) <= 1  # the beginning of the prompt, which the next turn needs


def test_equal_first_prompts_are_read_once() -> None:
    agent = make_agent()
    calls = counted(agent)
    generator(agent, parallel=8).generate(
        [Request([4, 11, 12, 13, 14], key, random.Random(key), TRIE) for key in range(8)]
    )
    assert calls[0] == [1] * 4 and calls[1] == [8]


def test_what_was_read_before_is_not_read_again() -> None:
    agent = make_agent()
    calls = counted(agent)
    own = generator(agent)
    text = [4, 11, 12, 13]
    (reply,) = own.generate([Request(text, 0, random.Random(0), TRIE)])
    read = len(text) + sum(map(sum, calls[2:]))
    calls.clear()
    own.generate([Request([*text, *reply.ids, 20, 21], 0, random.Random(0), TRIE)])
    assert sum(map(sum, calls[:1])) == len(text) + len(reply.ids) + 2 - read


def test_replies_that_have_ended_leave_the_batch() -> None:
    agent = make_agent()
    calls = counted(agent)
    replies = generator(agent, parallel=64, max_tokens=64, ends=frozenset(range(2, 30))).generate(
        [Request([4, 11, 12], key, random.Random(key)) for key in range(64)]
    )
    written = sorted(len(reply.ids) for reply in replies)
    assert written[0] < written[-1]
    rows = [call[0] for call in calls[1:]]
    assert rows == sorted(rows, reverse=True) and rows[-1] < 64
    assert sum(rows) < 2 * sum(written)


@pytest.mark.parametrize("reply", ["think", "choose", "score"])
def test_siblings_that_have_ended_are_not_generated_for(toy: str, reply: str) -> None:
    agent = make_agent(reply=reply)
    asked: list[int] = []
    own = agent.generator()
    for name in ("generate", "rank"):
        method = getattr(own, name)
        setattr(own, name, lambda requests, method=method: asked.append(len(requests)) or method(requests))
    agent.generator = lambda: own
    groups, _ = played(agent, siblings=3)
    lengths = [len(rollout) for group in groups for rollout in group.rollouts]
    assert sum(asked) == sum(lengths)


def counted(agent: Any) -> list[list[int]]:
    """The rows of each column of each batch that the model reads from now on."""
    calls: list[list[int]] = []

    def note(module: Any, args: Any, given: Any) -> None:
        rows, columns = given["input_ids"].shape
        calls.append([rows] * columns)

    agent.module.model.register_forward_pre_hook(note, with_kwargs=True)
    return calls
