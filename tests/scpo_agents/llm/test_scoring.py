"""What is trained: the right tokens, in the right context, with the gradient of the written formula."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from scpo_agents.llm.trie import Trie
from tests.scpo_agents.llm.conftest import decisions_of, make_agent, played

torch = pytest.importorskip("torch", reason="the language-model agent needs torch: pip install 'scpo-envs[llm]'")
pytest.importorskip("transformers", reason="the agent needs transformers: pip install 'scpo-envs[llm]'")

from scpo_agents.llm.decision import LLMDecision  # noqa: E402
from scpo_agents.llm.scoring import score  # noqa: E402
from scpo_agents.loss import policy_loss  # noqa: E402

pytestmark = pytest.mark.slow
MODES = [(reply, context) for reply in ("think", "choose", "score") for context in ("window", "transcript")]
COMMANDS = [(5, 6, 7, 2), (5, 6, 8, 2), (9, 2), (5, 9, 7, 2)]


def naive(agent: Any, decision: LLMDecision) -> list[Any]:
    """The log-probability of each of a decision's tokens, as its definition says, token by token."""
    ids = list(decision.ids[: decision.stop])
    temperature = agent.config.temperature
    if decision.ranked is not None:
        prompt = ids[: decision.start]
        sums = []
        for command in COMMANDS:
            table = (agent.module(torch.tensor([prompt + list(command)])).logits[0] / temperature).log_softmax(-1)
            sums.append(sum(table[len(prompt) - 1 + place, token] for place, token in enumerate(command)))
        return [torch.stack(sums).log_softmax(0)[decision.chosen]]
    logits = agent.module(torch.tensor([ids])).logits[0] / temperature
    if decision.choices is None:
        table = logits.log_softmax(-1)
        return [table[place - 1, ids[place]] for place in range(decision.start, decision.stop)]
    result = []
    for choice in decision.choices:
        place = decision.start + choice.position
        allowed = {int(token): logits[place - 1, int(token)] for token in choice.allowed}
        result.append(allowed[ids[place]] - torch.stack(list(allowed.values())).logsumexp(0))
    return result


def decisions(agent: Any) -> list[LLMDecision]:
    """Three decisions by hand: two in one transcript, one in another."""
    shared = [3, 10, 11, 12, 5, 6, 8, 2, 13, 14, 9, 2]
    other = [4, 15, 5, 9, 7, 2]
    trie = Trie(COMMANDS)
    made = [(shared, 4, 8, 1), (shared, 10, 12, 2), (other, 2, 6, 3)]
    result = []
    for ids, start, stop, chosen in made:
        reply = ids[start:stop]
        choices = trie.choices(reply) if agent.config.reply == "choose" else None
        ranked = trie if agent.config.reply == "score" else None
        count = 1 if ranked else len(reply) if choices is None else len(choices)
        behaviour = np.linspace(-1.5, -0.5, count).astype(np.float32)
        result.append(LLMDecision(ids, start, stop, behaviour, choices, ranked, chosen if ranked else 0))
    return result


@pytest.mark.parametrize(("reply", "tokens"), [("think", [4, 2, 4]), ("choose", [3, 1, 2]), ("score", [1, 1, 1])])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_each_token_is_scored_in_its_own_context(reply: str, tokens: list[int], temperature: float) -> None:
    agent = make_agent(reply=reply, temperature=temperature)
    own = decisions(agent)
    scores = agent.score(own)
    assert scores.owner.tolist() == [index for index, count in enumerate(tokens) for _ in range(count)]
    expected = torch.stack([value for decision in own for value in naive(agent, decision)])
    torch.testing.assert_close(scores.log_probs, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("reply", ["think", "choose", "score"])
def test_the_gradient_of_the_loss_is_that_of_a_plain_implementation(reply: str) -> None:
    """PPO's clipped objective with entropy left out, against loops over tokens that share no code with it."""
    agent = make_agent(reply=reply)
    own = decisions(agent)
    for decision in own:  # ratios on both sides of both bounds
        drift = np.linspace(-0.5, 0.5, len(decision.log_probs)) if reply != "score" else [0.4]
        now = np.array([float(value.detach()) for value in naive(agent, decision)])
        decision.log_probs = (now + drift).astype(np.float32)
    gains, weights = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0.5, 0.2, 0.3])
    scores = agent.score(own)
    behaviour = torch.from_numpy(np.concatenate([one.log_probs for one in own]))
    policy_loss(scores, behaviour, gains, weights, clip=0.2, clip_high=0.3).total.backward()
    found = [parameter.grad.clone() for parameter in agent.module.parameters()]
    agent.module.zero_grad()
    total = torch.zeros(())
    for decision, gain, weight in zip(own, gains, weights, strict=True):
        values = naive(agent, decision)
        for value, old in zip(values, decision.log_probs, strict=True):
            ratio = torch.exp(value - float(old))
            bound = min(max(ratio.item(), 0.8), 1.3)
            surrogate = ratio * gain if ratio.item() * gain.item() <= bound * gain.item() else bound * gain
            total = total - weight / len(values) * surrogate
    total.backward()
    for one, parameter in zip(found, agent.module.parameters(), strict=True):
        torch.testing.assert_close(one, parameter.grad, atol=1e-6, rtol=1e-3)


@pytest.mark.parametrize("reply", ["think", "choose", "score"])
def test_a_token_that_was_not_sampled_carries_no_loss(reply: str) -> None:
    """By hand: the gradient at the logits is zero but at the places that predict a decision's tokens."""
    agent = make_agent(reply=reply)
    (own, *_) = decisions(agent)
    seen: list[int] = []
    head = agent.module.get_output_embeddings()
    handle = head.register_forward_hook(lambda module, given, out: seen.append(out.shape[1]))
    agent.score([own])
    handle.remove()
    # ranking asks at every node of the tree, and at the prompt's end
    assert seen == [{"think": 4, "choose": 3, "score": 1 + len(Trie(COMMANDS).tree.tokens)}[reply]]


def test_an_advantage_moves_the_tokens_of_its_own_decision() -> None:
    """A step along one decision's advantage makes its tokens likelier; with the sign turned, less likely."""
    for sign in (1.0, -1.0):
        agent = make_agent(reply="think")
        own = decisions(agent)
        optimiser = torch.optim.SGD(agent.module.parameters(), lr=0.05)
        before = agent.score(own).log_probs.detach()
        gains = torch.tensor([0.0, 0.0, sign])
        policy_loss(agent.score(own), before, gains, torch.full((3,), 1 / 3)).total.backward()
        optimiser.step()
        moved = agent.score(own).log_probs.detach() - before
        assert (moved[-4:].sum() > 0) == (sign > 0)


@pytest.mark.parametrize(("reply", "context"), MODES)
def test_decisions_scored_together_are_scored_as_alone(toy: str, reply: str, context: str) -> None:
    agent = make_agent(reply=reply, context=context)
    _, player = played(agent)
    own = decisions_of(player)
    with torch.no_grad():
        together = agent.score(own)
        alone = [agent.score([decision]) for decision in own]
    torch.testing.assert_close(together.log_probs, torch.cat([one.log_probs for one in alone]), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together.entropy, torch.cat([one.entropy for one in alone]), atol=1e-5, rtol=1e-5)
    assert torch.isfinite(together.entropy).all() and (together.entropy >= -1e-6).all()


def test_decisions_of_one_transcript_are_read_once(toy: str) -> None:
    agent = make_agent(reply="choose", context="transcript")
    _, player = played(agent, groups=1, siblings=1)
    own = player.decisions[0]
    rows: list[tuple[int, ...]] = []
    handle = agent.module.model.register_forward_pre_hook(
        lambda module, args, given: rows.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    agent.score(random.Random(0).sample(own, len(own)))
    handle.remove()
    assert rows == [(1, own[-1].stop - 1)]


def test_a_decision_without_a_choice_has_no_tokens() -> None:
    agent = make_agent(reply="choose")
    forced = LLMDecision([3, 10, 5, 2], 2, 4, np.zeros(0, np.float32), Trie([(5, 2)]).choices((5, 2)))
    scores = agent.score([forced, *decisions(agent)])
    assert 0 not in scores.owner.tolist() and scores.owner.tolist()[0] == 1
    assert len(agent.score([forced]).log_probs) == 0
    loss = policy_loss(agent.score([forced]), torch.zeros(0), torch.ones(1), torch.ones(1))
    loss.total.backward()
    assert loss.terms["policy"] == 0.0


def test_commands_of_equal_tokens_are_one() -> None:
    agent = make_agent(reply="score")
    trie = Trie([(5, 2), (5, 2), (6, 2)])
    own = [LLMDecision([3, 4], 2, 2, np.zeros(1, np.float32), None, trie, chosen) for chosen in range(3)]
    first, again, other = score(agent.model, own).log_probs.exp().tolist()
    assert again == 0.0 and first + other == pytest.approx(1.0, abs=1e-6) and min(first, other) > 0


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_both_attentions_agree(attention: str) -> None:
    for reply in ("score", "choose"):
        agent = make_agent(reply=reply, attention=attention)
        other = make_agent(reply=reply, attention="sdpa")
        torch.testing.assert_close(
            agent.score(decisions(agent)).log_probs, other.score(decisions(other)).log_probs, atol=1e-5, rtol=1e-5
        )
