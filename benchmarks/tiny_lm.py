"""How far a language model of 0.2 M random weights comes by reinforcement alone, on a CPU.

    OMP_NUM_THREADS=1 python benchmarks/tiny_lm.py

The world is the one the tests play (`tests/toy.py`): a vault, two keys, some rooms; the code is that of a model of any
size. No demonstrations; 8 tasks x 8 siblings an iteration; SCPO with its lexical matcher.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
import tyro
from rich.console import Console

from scpo_agents.display import Display
from scpo_agents.logs import METRICS, read_metrics
from scpo_agents.processes import Processes
from scpo_agents.recipe import load_config
from scpo_agents.trainer import Trainer
from scpo_envs.vector import group_vector_entry_point

ROOT = Path(__file__).parents[1]
WORLD = "Toy-v0"
SETTINGS = (
    "agent.name=llm",
    "agent.model=scratch",
    f"agent.words=[{WORLD}]",
    "agent.width=64",
    "agent.layers=3",
    "agent.heads=2",
    "agent.reply=choose",
    "agent.context=transcript",
    "agent.max_context=512",
    "groups.tasks=8",
    "groups.siblings=8",
    "update.lr=0.002",
    "update.minibatch=256",
    "update.micro_batch=256",
    "update.shuffle=rollouts",
    "update.entropy=0",
    "evaluate.every=0",
)


def main(out: Path = Path("runs/tiny-lm"), iterations: int = 80, seed: int = 0) -> None:
    """Train, and print success in training.

    Args:
        out: Folder of the run; it must not hold one.
        iterations: Iterations of 64 episodes.
        seed: Decides weights, games and draws.
    """
    sys.path.insert(0, str(ROOT))  # the world is in the tests
    gym.register(WORLD, "tests.toy:ToyEnv", vector_entry_point=group_vector_entry_point(WORLD), max_episode_steps=12)
    if (out / METRICS).exists():
        raise SystemExit(f"{out} holds a run: remove it, or name another folder with --out")
    began = time.perf_counter()
    config = load_config(
        None, [*SETTINGS, f"env.id={WORLD}", f"out={out}", f"update.iterations={iterations}", f"seed={seed}"]
    )
    trainer = Trainer(config, Processes(), Display(config, Console()))
    print(f"{sum(one.numel() for one in trainer.parameters):,} weights")
    trainer.run()
    success = [line["success"] for line in read_metrics(out / METRICS) if "success" in line]
    print(f"iterations 1-3: {np.mean(success[:3]):.3f}")
    for first in range(0, len(success), 10):
        part = success[first : first + 10]
        print(f"iterations {first + 1}-{first + len(part)}: {np.mean(part):.3f}")
    print(f"{time.perf_counter() - began:.0f} s, {time.process_time():.0f} of them of the processor")


if __name__ == "__main__":
    tyro.cli(main)
