"""The language model as an agent: what it draws, keeps, clones, saves, and in what precision."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scpo_envs.rollouts import Rollout, RolloutGroup, Step
from scpo_envs.text import parse_action
from tests.scpo_agents.conftest import TOY
from tests.scpo_agents.llm.conftest import decisions_of, make_agent, played, turn

torch = pytest.importorskip("torch", reason="the language-model agent needs torch: pip install 'scpo-envs[llm]'")
pytest.importorskip("transformers", reason="the agent needs transformers: pip install 'scpo-envs[llm]'")

from scpo_agents.llm.agent import LLMAgent  # noqa: E402
from scpo_agents.llm.config import LLMConfig  # noqa: E402
from scpo_agents.llm.scoring import score  # noqa: E402

pytestmark = pytest.mark.slow
MODES = [(reply, context) for reply in ("think", "choose", "score") for context in ("window", "transcript")]


@pytest.mark.parametrize(("reply", "context"), MODES)
def test_scoring_gives_the_log_probabilities_under_which_was_drawn(toy: str, reply: str, context: str) -> None:
    agent = make_agent(reply=reply, context=context, temperature=0.9, parallel=4)
    groups, player = played(agent)
    own = decisions_of(player)
    assert len(own) == sum(len(rollout) for group in groups for rollout in group.rollouts)
    drawn = np.concatenate([one.log_probs for one in own])
    np.testing.assert_allclose(agent.score(own).log_probs.detach().numpy(), drawn, atol=1e-5)


@pytest.mark.parametrize(("reply", "context"), MODES)
def test_the_ids_that_were_sampled_are_the_ids_that_are_trained(toy: str, reply: str, context: str) -> None:
    """What the generator hands out is, id by id, what stands in the decisions, and what the model is trained on."""
    agent = make_agent(reply=reply, context=context)
    own, written = agent.generator(), []
    generate = own.generate

    def noted(requests: Any) -> Any:
        prompts = [list(request.prompt) for request in requests]
        replies = generate(requests)
        written.extend((prompt + reply.ids, len(prompt)) for prompt, reply in zip(prompts, replies, strict=True))
        return replies

    own.generate = noted
    agent.generator = lambda: own
    _, player = played(agent)
    decisions = decisions_of(player)
    kept = [(list(one.ids[: one.stop]), one.start) for one in decisions]
    if reply != "score":
        assert sorted(kept) == sorted(written)
    read: list[list[int]] = []
    agent.module.model.register_forward_pre_hook(
        lambda module, args, given: read.append(given["input_ids"][0].tolist()), with_kwargs=True
    )
    for decision, (ids, start) in zip(decisions, kept, strict=True):
        read.clear()
        agent.score([decision])
        text = ids[:start] if reply == "score" else ids[:-1]
        assert read[0][: len(text)] == text


@pytest.mark.parametrize("reply", ["choose", "score"])
def test_only_admissible_commands_are_issued(toy: str, reply: str) -> None:
    groups, _ = played(make_agent(reply=reply))
    for group in groups:
        for rollout in group.rollouts:
            assert all(step.action in step.info["admissible_commands"] for step in rollout.steps)


def test_tokens_and_cut_replies_are_counted(toy: str) -> None:
    _, player = played(make_agent(reply="think"))
    own = decisions_of(player)
    assert player.measures["act/tokens"] == (sum(len(one.log_probs) for one in own), len(own))
    cut = [one for one in own if one.stop - one.start == 10 and one.ids[one.stop - 1] != player._agent.chat.end]
    assert player.measures["act/cut"] == (len(cut), len(own)) and cut
    assert player.measures["act/forgotten"][0] == 0


@pytest.mark.parametrize("reply", ["think", "choose", "score"])
def test_draws_depend_on_seed_task_and_how_often_it_was_begun_alone(toy: str, reply: str) -> None:
    agent = make_agent(reply=reply)
    menu = [f"go to room {number}" for number in range(30)]

    def draw(*turns: Any, seed: int = 0) -> list[str]:
        return agent.player(seed=seed).act(turns)

    alone = draw(turn(0, *menu, task="a"))
    assert draw(turn(4, *menu, task="b"), turn(1, *menu, task="a"))[1:] == alone
    twice = draw(turn(0, *menu, task="a"), turn(1, *menu, task="a"))
    assert twice[0] == alone[0] and twice[0] != twice[1]
    assert draw(turn(0, *menu, task="a"), seed=1) != alone


def test_greedy_play_is_the_same_for_every_seed(toy: str) -> None:
    for reply in ("think", "choose", "score"):
        agent = make_agent(reply=reply)
        turns = [turn(sibling, "look", "wait", "go to desk 1") for sibling in range(3)]
        assert len({tuple(agent.player(seed=seed, greedy=True).act(turns)) for seed in range(3)}) == 1


def test_a_world_without_commands_needs_free_replies(toy: str) -> None:
    bare = turn(0)
    assert len(make_agent(reply="think").player(seed=0).act([bare])) == 1
    with pytest.raises(ValueError, match=r"agent\.reply='choose' needs admissible commands"):
        make_agent(reply="choose").player(seed=0).act([bare])


@pytest.mark.parametrize(("reply", "context"), MODES[2:])
def test_a_replayed_rollout_is_read_as_it_was_played(toy: str, reply: str, context: str) -> None:
    agent = make_agent(reply=reply, context=context)
    groups, player = played(agent)
    replayed = [one for group in agent.demonstrated(groups) for rollout in group for one in rollout]
    for one, two in zip(replayed, decisions_of(player), strict=True):
        assert list(one.ids[: one.stop]) == list(two.ids[: two.stop]) and one.start == two.start
    torch.testing.assert_close(agent.score(replayed).log_probs, agent.score(decisions_of(player)).log_probs)
    assert all(not one.log_probs.any() and len(one.log_probs) == len(agent.score([one]).owner) for one in replayed)


def test_a_free_demonstration_is_the_action_between_its_tags(toy: str) -> None:
    agent = make_agent(reply="think")
    group = RolloutGroup("toy", [Rollout([Step("a hall", "open vault", 1.0)], True)], instruction="Open the vault.")
    (((decision,),),) = agent.demonstrated([group])
    reply = decision.ids[decision.start : decision.stop]
    assert parse_action(agent.chat.decode(reply)) == "open vault"
    assert reply[-1] == agent.chat.end and len(decision.log_probs) == len(reply)


@pytest.mark.parametrize("info", [{}, {"admissible_commands": ["look"]}])
def test_a_demonstration_that_cannot_be_chosen_is_refused(toy: str, info: dict[str, Any]) -> None:
    agent = make_agent(reply="choose")
    group = RolloutGroup("game-7", [Rollout([Step("a", "dance", 0.0, info)], won=True)], instruction="do it.")
    with pytest.raises(ValueError, match=r"step 0 .*game-7.*'dance'"):
        agent.demonstrated([group])
    with pytest.raises(ValueError, match="no instruction"):
        agent.demonstrated([RolloutGroup("game-7", group.rollouts)])


def test_equal_seeds_make_equal_weights_and_the_global_generator_is_left_alone(toy: str) -> None:
    before = torch.random.get_rng_state()
    weights = [next(make_agent(seed=seed).module.parameters()) for seed in (1, 1, 2)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
    assert torch.equal(torch.random.get_rng_state(), before)


PEFT = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")  # in peft


@PEFT
@pytest.mark.parametrize("rank", [0, 4])
def test_what_is_saved_is_loaded_and_a_reference_is_frozen(toy: str, tmp_path: Path, rank: int) -> None:
    agent = make_agent(reply="choose", lora_rank=rank)
    words = make_agent()
    change(agent, 0.01)
    agent.save(tmp_path)
    reference = agent.reference()
    change(agent, 1.0)
    _, player = played(reference)
    own = decisions_of(player)
    kept = reference.score(own).log_probs
    assert not kept.requires_grad and not torch.allclose(kept, agent.score(own).log_probs)
    agent.load(tmp_path)
    restored = LLMAgent.restore(agent.config, tmp_path, seed=3)
    for other in (agent, restored):
        torch.testing.assert_close(other.score(own).log_probs.detach(), kept, atol=1e-6, rtol=1e-6)
        assert any(parameter.requires_grad for parameter in other.module.parameters())
        for text in ("open vault", "Task: go to кухня.<|reply|>", "zebra-7 <action>take 図書館 1</action>"):
            assert other.chat.encode(text) == words.chat.encode(text)


def test_a_folder_is_a_model_that_anyone_can_read(toy: str, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

    agent = make_agent()
    agent.save(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path / "model")
    ids = torch.tensor([tokenizer("open the vault")["input_ids"]])
    torch.testing.assert_close(model(ids).logits, agent.module(ids).logits)
    again = make_agent(model=str(tmp_path / "model"), words=())
    assert torch.equal(again.module(ids).logits, agent.module(ids).logits)
    assert again.chat.encode("open the vault") == ids[0].tolist() == agent.chat.encode("open the vault")


def test_weights_that_do_not_fit_are_refused(toy: str, tmp_path: Path) -> None:
    make_agent(width=32).save(tmp_path)
    with pytest.raises(ValueError, match=r"has the shape \(.*32\) in"):
        make_agent().load(tmp_path)
    (tmp_path / "model" / "model.safetensors").write_bytes(b"\xff" * 50)
    with pytest.raises(ValueError, match="damaged"):
        make_agent().load(tmp_path)
    make_agent(vocabulary=120).save(tmp_path / "..")
    with pytest.raises(ValueError, match="vocabulary"):
        make_agent().load(tmp_path / "..")


def test_a_reference_keeps_no_other_model_alive(toy: str) -> None:
    agent = make_agent(reply="choose")
    agent.trie(("look", "wait"))
    reference, module = agent.reference(), weakref.ref(agent.module)
    del agent
    gc.collect()
    assert module() is None and reference.trie(("look", "wait")).command(0) is None


@PEFT
def test_lora_trains_adapters_alone(toy: str) -> None:
    agent = make_agent(lora_rank=2, reply="choose")
    named = [name for name, parameter in agent.module.named_parameters() if parameter.requires_grad]
    assert named and all("lora_" in name for name in named)
    _, player = played(agent)
    agent.score(decisions_of(player)).log_probs.sum().backward()
    assert any(parameter.grad is not None and parameter.grad.any() for parameter in agent.module.parameters())


def test_in_bfloat16_a_copy_acts_and_follows_the_weights(toy: str) -> None:
    agent = make_agent(dtype="bfloat16", reply="choose")
    assert {parameter.dtype for parameter in agent.module.parameters()} == {torch.float32}
    _, player = played(agent)
    own = decisions_of(player)
    drawn = np.concatenate([one.log_probs for one in own])
    assert np.abs(agent.score(own).log_probs.detach().numpy() - drawn).mean() < 0.05
    change(agent, 0.3)
    _, player = played(agent)
    assert {parameter.dtype for parameter in agent._actor.module.parameters()} == {torch.bfloat16}
    again = decisions_of(player)
    drawn = np.concatenate([one.log_probs for one in again])
    assert np.abs(agent.score(again).log_probs.detach().numpy() - drawn).mean() < 0.05


def test_checkpointing_changes_no_gradient_and_no_mode_has_dropout(toy: str, tmp_path: Path) -> None:
    make_agent().save(tmp_path)
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace('"attention_dropout": 0.0', '"attention_dropout": 0.5'))
    grads = []
    for checkpointing in (False, True):
        agent = make_agent(model=str(tmp_path / "model"), words=(), checkpointing=checkpointing, reply="choose")
        assert agent.module.config.attention_dropout == 0.0 and agent.module.training == checkpointing
        _, player = played(agent)
        agent.score(decisions_of(player)).log_probs.sum().backward()
        grads.append([parameter.grad for parameter in agent.module.parameters()])
    for one, two in zip(*grads, strict=True):
        torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-4)


def test_a_model_of_another_kind_of_memory_is_refused(tmp_path: Path, toy: str) -> None:
    agent = make_agent()
    agent.save(tmp_path)
    config = tmp_path / "model" / "config.json"
    settings = json.loads(config.read_text())
    settings |= {
        "use_sliding_window": True,
        "sliding_window": 8,
        "layer_types": ["full_attention", "sliding_attention"],
    }
    config.write_text(json.dumps(settings))
    with pytest.raises(ValueError, match=r"qwen2 models have layers of the kinds full_attention, sliding_attention"):
        make_agent(model=str(tmp_path / "model"))


def test_a_context_longer_than_the_model_reads_is_refused(tmp_path: Path, toy: str) -> None:
    make_agent().save(tmp_path)
    with pytest.raises(ValueError, match=r"agent\.max_context=600 is more than the 512 tokens"):
        make_agent(model=str(tmp_path / "model"), max_context=600)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"words": ()}, r"agent\.words=\[SCPO-ALFWorld-v0\]"), ({"width": 18, "heads": 4}, "multiple of twice")],
)
def test_settings_that_make_no_model_are_refused(toy: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LLMAgent(LLMConfig(**{"model": "scratch", "words": (TOY,), **settings}))


def change(agent: Any, scale: float) -> None:
    """Move the weights that are trained."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in agent.module.parameters():
            if parameter.requires_grad:
                parameter.add_(scale * torch.randn(parameter.shape, generator=generator))


def test_score_takes_any_model(toy: str) -> None:
    """The head is found, and run at the asked places alone, in models of other families."""
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    from scpo_agents.llm.decision import LLMDecision
    from scpo_agents.llm.model import LanguageModel

    for module in (
        GPT2LMHeadModel(GPT2Config(vocab_size=20, n_positions=32, n_embd=8, n_layer=2, n_head=2)),
        LlamaForCausalLM(
            LlamaConfig(vocab_size=20, hidden_size=8, intermediate_size=8, num_hidden_layers=2, num_attention_heads=2)
        ),
    ):
        module.eval()
        ids = [3, 4, 5, 6, 7]
        decision = LLMDecision(ids, 2, 5, np.zeros(3, np.float32))
        model = LanguageModel(module, dtype=torch.float32, temperature=1.0)
        table = module(torch.tensor([ids])).logits[0].log_softmax(-1)
        torch.testing.assert_close(score(model, [decision]).log_probs, table[[1, 2, 3], ids[2:]])
