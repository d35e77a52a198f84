"""Which credit rule learns faster: the command scorer under SCPO, its rivals, its own ablations, and a control.

    python benchmarks/ablation.py tune   --world alfworld      # each method's own knobs, on training games only
    python benchmarks/ablation.py run    --stage 1 --jobs 2    # may be stopped and started again at any time
    python benchmarks/ablation.py report --world alfworld --svg docs/images/ablation-alfworld.svg

Stage 1 is ALFWorld from one saved warm start under SCPO, GiGPO, GRPO and the control, 8 seeds. Stage 2 has the
other methods too, and WebShop from scratch, 4 seeds; what stage 1 has done is not done again. With `--scratch`
ALFWorld's runs begin with new weights, too, and need about twice the steps.

What makes it fair: all methods begin with the same weights; run k of every method plays the same sequence of games
with the same random numbers; the budget is environment steps, not iterations; kinds of tasks are balanced in every
iteration; knobs were chosen by success in training games, with other seeds than those of the runs. SCPO stands on
GiGPO and takes GiGPO's norm and omega, but a gamma of its own, since returns are discounted and credit is not. The
control, "scpo_random", has SCPO's knobs and gives the credit that SCPO found to failed steps of the same group, but
drawn by lot: the same amount to other steps.

Each run is a folder that `scpo train` could go on with; its `result.json` appears when it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np
import tyro
from ablation_report import SCRATCH, report  # beside this file

from scpo_agents.checkpoint import find_checkpoint
from scpo_agents.display import Display
from scpo_agents.logs import METRICS, read_metrics
from scpo_agents.processes import Processes
from scpo_agents.recipe import load_config
from scpo_agents.trainer import Trainer
from scpo_envs.credit import Estimate, Matcher, StepTable, register_estimator, scpo
from scpo_envs.credit.estimators.anchored import gigpo
from scpo_envs.credit.estimators.stats import Norm
from scpo_envs.rollouts import RolloutGroup

World = Literal["alfworld", "webshop"]
Settings = dict[str, Any]

METHODS: Mapping[str, Settings] = {
    "scpo": {"estimator": "scpo"},
    "gigpo": {"estimator": "gigpo"},
    "grpo": {"estimator": "grpo"},
    "scpo_random": {"estimator": "scpo_random"},
    "rloo": {"estimator": "rloo"},
    "scpo_chronological": {"estimator": "scpo", "order": "chronological"},
    "scpo_not_monotone": {"estimator": "scpo", "rule": "none"},
    "scpo_shortest": {"estimator": "scpo", "reference": "shortest"},
}
"""What each method changes in a recipe's section `advantage`."""

STAGES: Mapping[int, tuple[tuple[World, ...], tuple[str, ...], int]] = {
    1: (("alfworld",), ("scpo", "gigpo", "grpo", "scpo_random"), 8),
    2: (("alfworld", "webshop"), tuple(METHODS), 4),
}
"""Worlds, methods and seeds of each stage."""

GRIDS: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "gigpo": {"norm": ("none", "std"), "omega": (0.5, 1.0), "gamma": (0.9, 0.95, 0.99)},
    "grpo": {"norm": ("std", "none")},
    "scpo": {"alpha": (0.1, 0.5), "gamma": (0.9, 0.95, 0.99)},
}
"""The knobs that are tuned, in this order."""

BASES: Mapping[str, str] = {"scpo": "gigpo"} | {name: "scpo" for name in METHODS if name.startswith("scpo_")}
"""Whose tuned knobs a method takes besides its own."""

WARM_START = ["clone.episodes=32", "clone.epochs=30", "clone.batch=32", "seed=1000"]
"""The saved start of ALFWorld's runs: few demonstrations, so that there is something left to learn."""

SHARED: Mapping[World, Settings] = {
    "alfworld": {
        "groups.balanced": True,
        "groups.max_steps": 30,
        "update.average": "rollout",
        "update.lr": 0.002,
        "update.minibatch": 256,
        "evaluate.splits": "[valid_unseen]",
    },
    "webshop": {"groups.balanced": True, "evaluate.splits": "[test]"},
}
"""What all methods change in a world's recipe, so that a weak start learns in few steps; chosen with GiGPO, on training
games."""

FIRST_TUNING_SEED = 500


@dataclass(frozen=True)
class Run:
    """One training run.

    Attributes:
        world: Where.
        method: A name in `METHODS`.
        seed: Its number; equal numbers play equal games.
        settings: The section `advantage`, tuned values included.
        out: Its folder.
        env_steps: Its budget.
        evaluate_every: Iterations between evaluations; 0 for none.
        start: The checkpoint it begins with; None begins with new weights.
    """

    world: World
    method: str
    seed: int
    settings: Settings
    out: Path
    env_steps: int
    evaluate_every: int
    start: Path | None

    def overrides(self) -> list[str]:
        """What it changes in the world's recipe."""
        shared = {
            "out": self.out,
            "seed": self.seed,
            "clone.episodes": 0,
            "update.iterations": 1_000_000,
            "update.env_steps": self.env_steps,
            "evaluate.every": self.evaluate_every,
            **SHARED[self.world],
            **({} if self.start is None else {"start": self.start}),
            **{f"advantage.{key}": value for key, value in self.settings.items()},
        }
        return [f"{key}={value}" for key, value in shared.items()]


@register_estimator("scpo_random", step_level=True)
def scpo_random(
    table: StepTable, gamma: float, norm: Norm | None = None, alpha: float = 0.5, matcher: Matcher | None = None
) -> Estimate:
    """The control: SCPO's credit of each group, dealt out to its failed steps by lot.

    Args:
        table: The steps.
        gamma: Discount of step returns.
        norm: F of GiGPO, the base.
        alpha: Weight of the credit.
        matcher: SCPO's.
    """
    credit = table.flatten([_by_lot(group, matcher) for group in table.groups])
    shaped = table.with_bonus(alpha * table.success_reward[table.step_group] * credit, "return")
    estimate = gigpo(shaped, gamma, norm)
    return Estimate(estimate.episode, estimate.step, credit)


def _by_lot(group: RolloutGroup, matcher: Matcher | None) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    """A group's credit with the failed steps' values exchanged, as the group's own texts decide."""
    credit = [values.copy() for values in scpo(group, matcher).step_credit]
    failed = [index for index in group.failures if len(credit[index])]
    if failed:
        texts = "\n".join(step.action for rollout in group.rollouts for step in rollout.steps)
        rng = np.random.default_rng(crc32(texts.encode(errors="surrogatepass")))
        dealt = rng.permutation(np.concatenate([credit[index] for index in failed]))
        parts = np.split(dealt, np.cumsum([len(credit[index]) for index in failed])[:-1])
        for index, part in zip(failed, parts, strict=True):
            credit[index] = part
    return credit


def run(
    stage: Literal[1, 2] = 1,
    out: Path = Path("runs/ablation"),
    jobs: int = 1,
    env_steps: int = 100_000,
    evaluate_every: int = 8,
    seeds: int | None = None,
    worlds: tuple[World, ...] = (),
    methods: tuple[str, ...] = (),
    scratch: bool = False,
) -> int:
    """Train what is left of a stage.

    Args:
        stage: Which.
        out: Folder of all runs.
        jobs: Runs at once.
        env_steps: Budget of a run.
        evaluate_every: Iterations between evaluations, in all games of the unseen split.
        seeds: Fewer seeds than the stage has, or more.
        worlds: Fewer worlds than the stage has.
        methods: Fewer methods than the stage has.
        scratch: ALFWorld without the warm start; these runs are kept apart, as the world `alfworld-scratch`.
    """
    all_worlds, all_methods, all_seeds = STAGES[stage]
    if unknown := set(methods) - set(all_methods):
        raise ValueError(f"stage {stage} has no method {', '.join(sorted(unknown))}; it has {', '.join(all_methods)}")
    runs = [
        Run(
            world=world,
            method=method,
            seed=seed,
            settings=METHODS[method] | _tuned(out, world, method),
            out=out / (SCRATCH if scratch and world == "alfworld" else world) / method / f"seed-{seed}",
            env_steps=env_steps,
            evaluate_every=evaluate_every,
            start=_warm_start(out) if world == "alfworld" and not scratch else None,
        )
        for world in all_worlds
        if not worlds or world in worlds
        for seed in range(seeds or all_seeds)  # seeds outermost, so that what is there can be compared in pairs
        for method in (methods or all_methods)
    ]
    _in_parallel(runs, jobs)
    return 0


def tune(
    world: World = "alfworld",
    out: Path = Path("runs/ablation"),
    jobs: int = 1,
    env_steps: int = 60_000,
    seeds: int = 1,
    methods: tuple[str, ...] = tuple(GRIDS),
) -> int:
    """Choose each method's knobs by its mean success in training games over the budget, and keep them.

    Args:
        world: Where.
        out: Folder of all runs.
        jobs: Runs at once.
        env_steps: Budget of a run.
        seeds: Runs for each choice, with other seeds than those of the stages.
        methods: Which methods to tune.
    """
    path = out / f"tuned-{world}.json"
    for method in methods:
        tuned = json.loads(path.read_text()) if path.exists() else {}
        runs = {
            (name, seed): Run(
                world=world,
                method=method,
                seed=FIRST_TUNING_SEED + seed,
                settings=METHODS[method] | _tuned(out, world, BASES.get(method)) | choice,
                out=out / "tuning" / world / method / name / f"seed-{seed}",
                env_steps=env_steps,
                evaluate_every=0,
                start=_warm_start(out) if world == "alfworld" else None,
            )
            for seed in range(seeds)
            for name, choice in _choices(GRIDS[method])
        }
        _in_parallel(list(runs.values()), jobs)
        scores = {
            name: float(np.mean([_result(runs[name, seed])["train_success"] for seed in range(seeds)]))
            for name, _ in _choices(GRIDS[method])
        }
        for name, score in sorted(scores.items(), key=lambda item: -item[1]):
            print(f"{method:6} {name:24} {score:.3f}")
        best = dict(_choices(GRIDS[method]))[max(scores, key=scores.__getitem__)]
        path.write_text(json.dumps({**tuned, method: {"settings": best, "train_success": scores}}, indent=2) + "\n")
    print(f"written: {path}")
    return 0


def _train(job: Run) -> str:
    """Carry out a run, or go on with it, or find it done.

    Raises:
        ValueError: It was done with other knobs or another budget.
    """
    if (job.out / "result.json").exists():
        done = {key: _result(job)[key] for key in ("settings", "budget")}
        if done != (asked := {"settings": job.settings, "budget": job.env_steps}):
            raise ValueError(f"{job.out} was done with {done}, not with {asked}: move it away, or choose another --out")
        return f"{job.out}: done before"
    recipe = Path(__file__).parents[1] / "agents" / "recipes" / f"{job.world}-scorer-scpo.yaml"
    config = load_config(recipe, job.overrides())
    trainer = Trainer(config, Processes(), Display(config, None))
    if not trainer.run(resume=find_checkpoint(job.out / "last") is not None):
        raise KeyboardInterrupt
    result = _result_of(job)
    (job.out / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    last = f", {result['curve'][-1][1]:.3f} at the end" if result["curve"] else ""
    return f"{job.out}: {result['train_success']:.3f} in training{last}"


def _result_of(job: Run) -> dict[str, Any]:
    """What a complete run has shown."""
    split = "valid_unseen" if job.world == "alfworld" else "test"
    lines = list(read_metrics(job.out / METRICS))
    evaluated = [line for line in lines if f"eval/{split}/success" in line]
    start = f"eval/{split}/success/"
    played = [(line["env_steps"], line["success"]) for line in lines if "success" in line]
    steps = np.diff([0, *(taken for taken, _ in played)])
    return {
        "world": job.world,
        "method": job.method,
        "seed": job.seed,
        "settings": job.settings,
        "budget": job.env_steps,
        "curve": [[line["env_steps"], line[f"eval/{split}/success"]] for line in evaluated],
        "scores": [line[f"eval/{split}/score"] for line in evaluated],
        "kinds": {key.removeprefix(start): value for key, value in evaluated[-1].items() if key.startswith(start)}
        if evaluated
        else {},
        "train_success": float(np.average([success for _, success in played], weights=steps)),
    }


def _result(job: Run) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((job.out / "result.json").read_text())
    return result


def _warm_start(out: Path) -> Path:
    """The checkpoint that ALFWorld's runs begin with, cloned on the first call."""
    folder = out / "warm-start"
    if find_checkpoint(folder / "start") is None:
        recipe = Path(__file__).parents[1] / "agents" / "recipes" / "alfworld-scorer-scpo.yaml"
        config = load_config(recipe, [*WARM_START, f"out={folder}", "update.iterations=0", "evaluate.every=0"])
        Trainer(config, Processes(), Display(config, None)).run()
    return folder / "start"


def _tuned(out: Path, world: World, method: str | None) -> Settings:
    """A method's tuned knobs on top of those of its base; nothing where nothing was tuned."""
    if method is None:
        return {}
    path = out / f"tuned-{world}.json"
    tuned = json.loads(path.read_text()) if path.exists() else {}
    settings: Settings = tuned.get(method, {}).get("settings", {})
    return _tuned(out, world, BASES.get(method)) | settings


def _choices(grid: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[str, Settings]]:
    """Each combination of a grid's values, with a name for its folder."""
    for values in product(*grid.values()):
        choice = dict(zip(grid, values, strict=True))
        yield "-".join(f"{key}-{value}" for key, value in choice.items()), choice


def _in_parallel(runs: list[Run], jobs: int) -> None:
    """Carry out runs, telling of each when it is done."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in pool.map(_train, runs):
            print(done, flush=True)


COMMANDS: Mapping[str, Callable[..., int]] = {"run": run, "tune": tune, "report": report}

if __name__ == "__main__":
    tyro.extras.subcommand_cli_from_dict(dict(COMMANDS))
