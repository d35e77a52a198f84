"""What the command scorer reaches on a laptop: its recipe, beside random play, its start, and an expert or a floor.

    python benchmarks/laptop.py --world alfworld                                    # the bundled games
    python benchmarks/laptop.py --world alfworld --data PATH --out runs/laptop-real  # ALFWorld's own
    python benchmarks/laptop.py --world webshop

Every policy plays each game of the test split once, drawing its actions unless it is called greedy. Of the trained
agents the last checkpoint is played, not the best, so that nothing is chosen by looking at the games that are reported.
Seconds are the wall clock's, all of training with cloning and evaluation, with PyTorch on one thread; their shares
are those of the iterations, evaluation left out.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from ablation_report import draw  # beside this file
from rich import box
from rich.console import Console
from rich.table import Table

from scpo_agents.checkpoint import find_checkpoint, load_agent
from scpo_agents.display import PHASE_NAMES, Display
from scpo_agents.environments import games_of
from scpo_agents.evaluate import Summary, play_games, summarise
from scpo_agents.logs import METRICS, read_metrics
from scpo_agents.processes import Processes
from scpo_agents.recipe import load_config
from scpo_agents.trainer import Trainer
from scpo_envs.policies import Policy, Turn, make_policy

World = Literal["alfworld", "webshop"]
TESTS = {"alfworld": ("SCPO-ALFWorld-v0", "valid_unseen"), "webshop": ("SCPO-WebShop-v0", "test")}
ROOT = Path(__file__).parents[1]


def main(
    world: World = "alfworld",
    data: str | None = None,
    out: Path = Path("runs/laptop"),
    seeds: int = 3,
    svg: Path | None = None,
    set: tuple[str, ...] = (),
) -> None:
    """Train and evaluate; what is done already is not done again.

    Args:
        world: Where.
        data: ALFWorld's `data`; None is the bundled set.
        out: Folder of the runs.
        seeds: Training runs.
        svg: Where to draw the curves.
        set: Further overrides of the recipe, KEY=VALUE.
    """
    env, split = TESTS[world]
    arguments = {} if data is None else {"data": data}
    console = Console(width=160)
    folders = []
    for seed in range(seeds):
        folder = out / world / f"seed-{seed}"
        overrides = [f"out={folder}", f"seed={seed}", *(f"env.{key}={value}" for key, value in arguments.items()), *set]
        _train(ROOT / "agents" / "recipes" / f"{world}-scorer-scpo.yaml", folder, overrides, console)
        folders.append(folder)
    games = list(games_of(env, split, arguments))
    each = Table(title=f"{world}, {split}: {len(games)} games", box=box.MARKDOWN)
    for name in ("policy", "seed", "success", "95 %", "score", "steps"):
        each.add_column(name, justify="left" if name == "policy" else "right")
    summaries: dict[str, list[Summary]] = defaultdict(list)
    for name, trained_with, policy in _policies(world, folders):
        own = summarise(play_games(policy, env, games, split=split, arguments=arguments))["all"]
        each.add_row(name, trained_with, *_cells(own))
        summaries[name].append(own)
    console.print(each)
    console.print(_means(summaries))
    for folder in folders:
        lines = list(read_metrics(folder / METRICS))
        seconds = json.loads((folder / "seconds.json").read_text())
        console.print(f"{folder}: {lines[-1]['env_steps']:,.0f} env steps in {seconds:.0f} s; {time_shares(lines)}")
    if svg is not None:
        svg.write_text(_curves(folders, split, world))
        console.print(f"written: {svg}")


def _train(recipe: Path, folder: Path, overrides: list[str], console: Console) -> None:
    if (folder / "seconds.json").exists():
        return
    began = time.perf_counter()
    config = load_config(recipe, overrides)
    trainer = Trainer(config, Processes(), Display(config, console))
    if find_checkpoint(folder / "last") is not None:
        raise SystemExit(f"{folder} was broken off, so its time is unknown: remove it and start again")
    if not trainer.run():
        raise SystemExit("stopped")
    (folder / "seconds.json").write_text(f"{time.perf_counter() - began:.1f}\n")


class FirstHit:
    """A floor in the shop: search for all that the instruction asks, buy the first product found, choose no options."""

    def act(self, turns: Sequence[Turn]) -> list[str]:
        """One action for each turn, in order."""
        return [self._act(turn.info["admissible_commands"]) for turn in turns]

    def _act(self, menu: Sequence[str]) -> str:
        if "click[buy now]" in menu:
            return "click[buy now]"
        searches = [command for command in menu if command.startswith("search[")]
        products = [command for command in menu if command not in ("click[back to search]", "click[next >]")]
        return (searches or products or list(menu))[0]


def _policies(world: World, folders: list[Path]) -> Iterator[tuple[str, str, Policy]]:
    """Who is compared: a name, the seed of its training, and the policy."""
    yield "random", "", make_policy("random")
    if world == "alfworld":
        yield "expert", "", make_policy("expert")
    else:
        yield "first hit, no options", "", FirstHit()
    for seed, folder in enumerate(folders):
        start, last = load_agent(folder / "start"), load_agent(folder / "last")
        yield "cloned start" if world == "alfworld" else "untrained", str(seed), start.player(seed=seed)
        yield "trained", str(seed), last.player(seed=seed)
        yield "trained, greedy", str(seed), last.player(seed=seed, greedy=True)


def _means(summaries: Mapping[str, Sequence[Summary]]) -> Table:
    """Policies that were trained, over their seeds."""
    table = Table(title="Means over the seeds", box=box.MARKDOWN)
    for name in ("policy", "success", "lowest", "highest", "score", "steps"):
        table.add_column(name, justify="left" if name == "policy" else "right")
    for name, own in summaries.items():
        success = [one.success for one in own]
        shares = (np.mean(success), min(success), max(success), np.mean([one.score for one in own]))
        table.add_row(name, *(f"{share:.3f}" for share in shares), f"{np.mean([one.steps for one in own]):.1f}")
    return table


def time_shares(lines: Sequence[Mapping[str, float]]) -> str:
    """Where the time of a run's iterations went, of the lines of its metrics file."""
    timed = [line for line in lines if "time/total" in line]
    total = sum(line["time/total"] for line in timed)
    shares = {name: sum(line[f"time/{phase}"] for line in timed) / total for phase, name in PHASE_NAMES.items()}
    return ", ".join(f"{name} {share:.1%}" for name, share in shares.items())


def _cells(summary: Summary) -> tuple[str, str, str, str]:
    return (
        f"{summary.success:.3f}",
        f"{summary.low:.3f} to {summary.high:.3f}",
        f"{summary.score:.3f}",
        f"{summary.steps:.1f}",
    )


def _curves(folders: list[Path], split: str, world: World) -> str:
    """Success in the test split over environment steps, mean and band over the seeds."""
    curves: list[tuple[list[float], list[float]]] = []
    for folder in folders:
        lines: list[Mapping[str, Any]] = [
            line for line in read_metrics(folder / METRICS) if f"eval/{split}/success" in line
        ]
        curves.append(([one["env_steps"] for one in lines], [one[f"eval/{split}/success"] for one in lines]))
    grid = np.linspace(0, min(steps[-1] for steps, _ in curves), 41)
    runs = np.array([np.interp(grid, steps, success) for steps, success in curves])
    return draw(grid, {"scpo": runs}, f"{world}, the command scorer")


if __name__ == "__main__":
    tyro.cli(main)
