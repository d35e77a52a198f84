"""ALFWorld's games."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from scpo_envs.errors import GameError

if TYPE_CHECKING:
    from scpo_envs.alfworld.game import Game
    from scpo_envs.alfworld.games import GameSet


def list_games(
    *, data: str | None = None, split: str | None = None, task_type: str | None = None, ids: bool = False
) -> int:
    """Count the games of a data set by split and kind of task, or list their ids.

    Args:
        data: "real" for the folder in ALFWORLD_DATA, or a path; by default the bundled games.
        split: Only this split.
        task_type: Only this kind of task.
        ids: Print the ids, one a line, instead of a table.
    """
    from scpo_envs.alfworld.games import TASK_TYPES, open_games, split_of, task_type_of

    games = open_games(data, on_damage="skip")
    chosen = games.select(split, task_type)
    if ids:
        print("\n".join(chosen))
        return 0
    counts = Counter((split_of(id), task_type_of(id)) for id in chosen)
    splits = sorted({name for name, _ in counts})
    table = Table(box=box.SIMPLE_HEAD, title=games.name, title_justify="left")
    table.add_column("task type")
    for name in splits:
        table.add_column(name, justify="right")
    for kind in TASK_TYPES:
        table.add_row(kind, *(f"{counts[name, kind]:,}" for name in splits))
    table.add_section()
    table.add_row("all", *(f"{sum(counts[name, kind] for kind in TASK_TYPES):,}" for name in splits))
    Console().print(table)
    return 0


def show_game(
    id: Annotated[str, tyro.conf.Positional], /, *, data: str | None = None, dialect: str | None = None
) -> int:
    """Show one game: its task, its beginning, and a shortest solution played through.

    Args:
        id: The game's id.
        data: "real" for the folder in ALFWORLD_DATA, or a path; by default the bundled games.
        dialect: "v0.3" or "v0.4"; by default the game's own.
    """
    from scpo_envs.alfworld.games import open_games
    from scpo_envs.alfworld.planner import plan

    console = Console()
    game = open_games(data, on_damage="skip").load(id, dialect)
    console.print(Text(f"{game.id}\n{game.task_type}, {game.dialect.name}, digest {game.digest}", style="dim"))
    console.print(Text(f"{len(game.receptacles)} receptacles, {len(game.objects)} objects\n", style="dim"))
    console.print(Text(game.intro))
    commands = plan(game.start)
    if commands is None:
        console.print(Text("\nThis game has no solution.", style="red"))
        return 1
    state = game.start
    for command in commands:
        observation, state = state.step(command)
        console.print(Text(f"\n> {command}", style="bold"))
        console.print(Text(observation))
    console.print(Text(f"\nSolved in {len(commands)} steps.", style="green"))
    return 0


def verify_games(*, data: str | None = None, split: str | None = None) -> int:
    """Parse every game, play its walkthrough and solve it; name each that is damaged or cannot be solved.

    Args:
        data: "real" for the folder in ALFWORLD_DATA, or a path; by default the bundled games.
        split: Only this split.
    """
    from scpo_envs.alfworld.games import open_games, task_type_of

    console = Console()
    games = open_games(data, on_damage="skip")
    faults = list(games.damaged)
    lengths: dict[str, list[int]] = {}
    chosen = games.select(split)
    for id in track(chosen, "verifying", console=console, transient=True):
        fault, length = _verify(games, id)
        if fault is not None:
            faults.append(f"{id} ({fault})")
        else:
            lengths.setdefault(task_type_of(id), []).append(length)
    table = Table(box=box.SIMPLE_HEAD, title=games.name, title_justify="left")
    for name in ("task type", "solved", "mean plan", "longest plan"):
        table.add_column(name, justify="left" if name == "task type" else "right")
    for kind in sorted(lengths):
        found = lengths[kind]
        table.add_row(kind, f"{len(found):,}", f"{sum(found) / len(found):.1f}", str(max(found)))
    console.print(table)
    for fault in faults:
        console.print(Text(fault, style="red"))
    console.print(f"{sum(map(len, lengths.values())):,} of {len(chosen):,} games verified, {len(faults)} faults.")
    return 1 if faults else 0


def _verify(games: GameSet, id: str) -> tuple[str | None, int]:
    """What is wrong with a game, or None, and the length of its plan."""
    from scpo_envs.alfworld.planner import plan

    try:
        game = games.load(id)
    except GameError as error:
        return str(error), 0
    if game.walkthrough is not None and not _wins(game, game.walkthrough):
        return "its walkthrough does not win", 0
    commands = plan(game.start)
    if commands is None:
        return "no solution", 0
    return None, len(commands)


def _wins(game: Game, commands: Iterable[str]) -> bool:
    state = game.start
    for command in commands:
        _, state = state.step(command)
    return state.won


def generate_games(
    *, out: Path, count: int = 100, seed: int = 0, split: str = "train", task_type: str | None = None
) -> int:
    """Generate new games, each solved before it is kept, and write an archive to use as `data`.

    Args:
        out: The archive to write, such as games.zip; it appears only when it is complete.
        count: How many games.
        seed: Decides the games; the bundled ones are those of seed 0.
        split: train, valid_seen or valid_unseen: which layouts and pairings are drawn from.
        task_type: Only this kind of task; by default all, as often as in ALFWorld's own data.
    """
    from scpo_envs.alfworld import generate
    from scpo_envs.alfworld.generate.bundle import write_archive

    kinds = None if task_type is None else [task_type]
    records = generate.generate_games(seed=seed, count=count, split=split, task_types=kinds)
    written = write_archive(
        out, track(records, "generating", total=count, console=Console(stderr=True), transient=True)
    )
    print(f"Written: {written:,} games to {out}")
    return 0


def statistics(data: Annotated[tuple[str, ...], tyro.conf.Positional] = ("bundled",), /) -> int:
    """Print the statistics of data sets side by side, as a Markdown table.

    Args:
        data: "bundled", "real" for the folder in ALFWORLD_DATA, or paths.
    """
    from scpo_envs.alfworld.stats import measure_set, table

    print(table([measure_set(name) for name in data]))
    return 0


def export_game(
    id: Annotated[str, tyro.conf.Positional], /, *, out: Path = Path("game.tw-pddl"), data: str | None = None
) -> int:
    """Write a bundled or generated game as a file that the original stack plays (needs the extra `alfworld`).

    Args:
        id: The game's id.
        out: The file to write, ending in .tw-pddl.
        data: An archive of generated games; by default the bundled ones.
    """
    from scpo_envs.alfworld import textworld
    from scpo_envs.alfworld.games import open_games

    record = json.loads(open_games(data, on_damage="skip").read(id))
    print(f"Written: {textworld.export_game(record, out)}")
    return 0


COMMANDS = {
    "list": list_games,
    "show": show_game,
    "verify": verify_games,
    "generate": generate_games,
    "statistics": statistics,
    "export": export_game,
}
