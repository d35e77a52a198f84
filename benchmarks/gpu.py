"""What a training step of the language-model agent costs: seconds by phase, tokens a second, memory, SCPO's share.

    python benchmarks/gpu.py                        # on a GPU: 1.5 B weights, 16 tasks x 8 siblings
    python benchmarks/gpu.py --size toy             # anywhere; the default where there is no GPU
    python benchmarks/gpu.py --matcher onnx         # with a model for a matcher

The model has the shape of Qwen2.5-1.5B, its vocabulary's size included, and random weights: speed and memory do not
depend on what it says. Since such a model never wins, every second sibling is said to have won, so that SCPO has
something to match in every group. Its cost is the time that advantages take with it, less what they take without
(GiGPO's, on which it is built), as a share of the whole step without it. The paper (arXiv 2606.25852) reports 10.4 %.

The first iteration warms up (allocator, kernels, the matcher's cache of pairs) and is shown by itself.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import tyro
from rich import box
from rich.console import Console
from rich.table import Table

from scpo_agents.config import TrainConfig
from scpo_agents.display import Display
from scpo_agents.llm.model import quiet
from scpo_agents.llm.words import tokenizer_of, vocabulary
from scpo_agents.metrics import Clock, Tally
from scpo_agents.processes import Processes
from scpo_agents.recipe import load_config
from scpo_agents.trainer import Played, Trainer

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "agents" / "recipes" / "alfworld-qwen2.5-1.5b-scpo.yaml"
SIZES: Mapping[str, Mapping[str, int]] = {
    "1.5b": {"width": 1536, "inner": 8960, "layers": 28, "heads": 12, "kv_heads": 2, "vocabulary": 151_936},
    "toy": {"width": 64, "inner": 192, "layers": 2, "heads": 2, "kv_heads": 1, "vocabulary": 1024},
}
TOY = ("agent.max_tokens=16", "agent.max_context=512", "groups.tasks=2", "groups.siblings=4", "groups.max_steps=5")


@dataclass(frozen=True)
class Cost:
    """One iteration.

    Attributes:
        seconds: By phase: act, env, credit, update, without SCPO's part.
        shaping: What SCPO adds to them, in seconds.
        steps: Environment steps.
        written: Tokens generated.
        read: Tokens that the update read, prompts included.
    """

    seconds: Mapping[str, float]
    shaping: float
    steps: int
    written: int
    read: int

    @property
    def total(self) -> float:
        """Seconds of the step without SCPO."""
        return sum(self.seconds.values())


def main(
    size: Literal["auto", "1.5b", "toy"] = "auto",
    iterations: int = 3,
    matcher: Literal["lexical", "embedding", "cross-encoder", "onnx"] = "lexical",
    set: tuple[str, ...] = (),
) -> None:
    """Measure some training steps.

    Args:
        size: Of the model, and with "toy" of everything.
        iterations: Measured, after one to warm up.
        matcher: SCPO's.
        set: Further overrides of the recipe, KEY=VALUE, such as update.micro_batch=16.
    """
    if size == "auto":
        size = "1.5b" if torch.cuda.is_available() else "toy"
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        count = write_model(Path(folder) / "model", SIZES[size])
        overrides = [f"agent.model={folder}/model", f"out={folder}/run", "evaluate.every=0", "env.workers=serial"]
        overrides += [f"advantage.matcher={matcher}", *(TOY if size == "toy" else ()), *set]
        config = load_config(RECIPE, overrides)
        trainer = Trainer(config, Processes(), Display(config, None))
        costs = [measure(trainer, index) for index in range(iterations + 1)]
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    own = config.groups
    console.print(f"{where}; {count:,} weights; {own.tasks} x {own.siblings}; matcher {matcher}", highlight=False)
    console.print(table(costs))
    console.print(f"peak memory: {peak_memory() / 2**30:.2f} GiB", highlight=False)


def measure(trainer: Trainer, index: int) -> Cost:
    """Play, judge and learn once."""
    trainer.progress.iteration, trainer.clock = index, Clock()
    played = trainer._play(Tally())
    deal_outcomes(played)
    plain, shaped = (seconds_to_judge(trainer, estimator, played) for estimator in ("gigpo", "scpo"))
    trainer._update(played, trainer._judge(played.groups), Tally())
    decisions = [one for group in played.decisions for rollout in group for one in rollout]
    seconds = {**{phase: trainer.clock.seconds[phase] for phase in ("act", "env", "update")}, "credit": plain}
    written = sum(one.stop - one.start for one in decisions)
    return Cost(seconds, shaped - plain, played.steps, written, sum(one.stop - 1 for one in decisions))


def seconds_to_judge(trainer: Trainer, estimator: str, played: Played) -> float:
    """How long advantages take."""
    config: TrainConfig = trainer.config
    trainer.config = replace(config, advantage=replace(config.advantage, estimator=estimator))
    began = time.perf_counter()
    trainer._judge(played.groups)
    trainer.config = config
    return time.perf_counter() - began


def deal_outcomes(played: Played) -> None:
    """Say that every second sibling has won."""
    for group in played.groups:
        for sibling, rollout in enumerate(group.rollouts):
            rollout.won = sibling % 2 == 0
            rollout.truncated = not rollout.won
            rollout.steps[-1].reward = group.success_reward * rollout.won


def write_model(folder: Path, shape: Mapping[str, int]) -> int:
    """A folder with a model of random weights and ALFWorld's words; gives the number of its weights."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    tokenizer = tokenizer_of(vocabulary(("SCPO-ALFWorld-v0",), 1000))
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=shape["vocabulary"],
            hidden_size=shape["width"],
            intermediate_size=shape["inner"],
            num_hidden_layers=shape["layers"],
            num_attention_heads=shape["heads"],
            num_key_value_heads=shape["kv_heads"],
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
        )
    )
    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return int(sum(parameter.numel() for parameter in model.parameters()))


def table(costs: Sequence[Cost]) -> Table:
    """The first iteration, and the medians of the others."""
    first, *others = costs
    shown = Table(box=box.SIMPLE_HEAD)
    for name in ("", "first", "median of the others"):
        shown.add_column(name, justify="left" if not name else "right")

    def row(name: str, value: Any, form: str) -> None:
        shown.add_row(name, form.format(value(first)), form.format(np.median([value(cost) for cost in others])))

    for phase in ("act", "env", "credit", "update"):
        row(f"{phase}, s", lambda cost, phase=phase: cost.seconds[phase], "{:.3f}")
    row("SCPO's matching, s", lambda cost: cost.shaping, "{:.4f}")
    row("SCPO's matching, % of a step", lambda cost: 100 * cost.shaping / cost.total, "{:.2f}")
    row("environment steps", lambda cost: cost.steps, "{:.0f}")
    row("tokens generated a second", lambda cost: cost.written / cost.seconds["act"], "{:.0f}")
    row("tokens trained on a second, prompts included", lambda cost: cost.read / cost.seconds["update"], "{:.0f}")
    return shown


def peak_memory() -> int:
    """Bytes: the GPU's, or without one this process's."""
    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    tyro.cli(main)
