"""How quick the inspector is: indexing a large rollout file, its pages, searching, recomputing, and following growth.

    python benchmarks/inspector.py

Groups are those of the noisy expert on ALFWorld, played once and written again and again under new names, so a file
is as large as a real one. Times are the CPU's, since the machine may be busy; pages are those of the application
without a network. The slowest of several requests is shown, not their mean: what a person waits for.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import gymnasium as gym
import tyro
from rich.console import Console
from rich.table import Table

import scpo_envs
from scpo_envs.inspect.app import create_app
from scpo_envs.inspect.runs import Library
from scpo_envs.policies import collect, make_policy
from scpo_envs.rollouts import RolloutGroup
from scpo_envs.wrappers import ScpoReward


def main(groups: int = 10_000, distinct: int = 32, repeat: int = 5) -> None:
    """Run the benchmark and print its table.

    Args:
        groups: Groups of the file.
        distinct: How many of them are played; the others repeat their texts.
        repeat: Requests of each kind.
    """
    table = Table(title=f"scpo inspect, {groups:,} groups of 8 siblings", title_justify="left", title_style="bold")
    table.add_column("what")
    table.add_column("slowest", justify="right")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rollouts.jsonl")
        played = play(distinct)
        write(path, played, groups)
        size = path.stat().st_size
        started = process_time()
        library = Library(path)
        library.refresh()
        seconds = process_time() - started
        table.add_row(f"index {size / 1e6:,.0f} MB ({size / seconds / 1e6:.0f} MB/s)", f"{seconds:.1f} s")
        client = create_app(library).test_client()
        run_id, run = next(iter(library.runs.items()))
        place = f"/runs/{run_id}/groups"
        mixed = [entry.line for entry in next(iter(run.files.values())).entries if entry.credited]
        group = f"{place}/{next(iter(run.files))}"

        def get(url: str) -> None:
            answer = client.get(url)
            assert answer.status_code == 200, (url, answer.status)

        def slowest(name: str, act: Callable[[int], None]) -> None:
            times = []
            for number in range(repeat):
                start = process_time()
                act(number)
                times.append(process_time() - start)
            table.add_row(name, f"{max(times) * 1000:.0f} ms")

        slowest("a page of the list", lambda n: get(f"{place}?page={1 + n * groups // 50 // repeat}"))
        slowest("filtered and sorted", lambda n: get(f"{place}?outcome=mixed&share=0&sort=credit&page={1 + n}"))
        slowest("a word that all groups hold", lambda n: get(f"{place}?text=arrive+at&page={1 + n}"))
        slowest("a word that none holds, one request's share", lambda n: get(f"{place}?text=zebra{n}"))
        slowest("a group's page", lambda n: get(f"{group}/{mixed[n * len(mixed) // repeat]}"))
        slowest("recomputed, lambda moved", lambda n: get(f"{group}/{mixed[0]}/credit?lam=0.{5 + n % 5}&scores=0"))
        slowest("saved as HTML", lambda n: get(f"{group}/{mixed[n]}/export.html"))
        write(path, played, 1, append=True)
        start = process_time()
        library.refresh()
        table.add_row("one more group indexed", f"{(process_time() - start) * 1000:.0f} ms")
    console = Console()
    python = sys.version.split()[0]
    console.print(f"scpo-envs {scpo_envs.__version__}, Python {python}, {os.cpu_count()} CPUs")
    console.print(table)


def play(count: int) -> list[RolloutGroup]:
    """Groups with their credit."""
    venv = gym.make_vec("SCPO-ALFWorld-v0", num_envs=8 * min(8, count), group_size=8)
    shaped = ScpoReward(venv)
    try:
        return list(collect(shaped, make_policy("noisy-expert", seed=0), groups=count, seed=0))
    finally:
        shaped.close()


def write(path: Path, played: list[RolloutGroup], count: int, *, append: bool = False) -> None:
    """Write groups to a file, the same texts under new names."""
    tails = [(group.task, group.to_json().split('", ', 2)[2]) for group in played]  # what follows schema and task
    with open(path, "a" if append else "w", encoding="utf-8") as file:
        for index in range(count):
            task, tail = tails[index % len(tails)]
            file.write(f'{{"schema": "scpo-rollouts/1", "task": {json.dumps(f"{task}/{index}")}, {tail}\n')


if __name__ == "__main__":
    tyro.cli(main)
