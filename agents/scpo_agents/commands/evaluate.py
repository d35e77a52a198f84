"""`scpo evaluate`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Annotated, Any

import tyro
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from scpo_agents.environments import games_of
from scpo_agents.evaluate import Result, Summary, play_games, spread, summarise
from scpo_envs.commands.arguments import keyword_arguments
from scpo_envs.errors import ScpoError
from scpo_envs.policies import make_policy

SCHEMA = "scpo-evaluation/1"


class EvaluationFileError(ScpoError, ValueError):
    """Raised when a file of results is damaged, or holds those of another evaluation."""


def evaluate(
    env: Annotated[str, tyro.conf.Positional] = "SCPO-ALFWorld-v0",
    *,
    policy: Annotated[str, tyro.conf.arg(aliases=("--agent",))],
    split: str | None = "valid_unseen",
    games: int | None = None,
    seed: int = 0,
    env_arg: tyro.conf.UseAppendAction[tuple[str, ...]] = (),
    policy_arg: tyro.conf.UseAppendAction[tuple[str, ...]] = (),
    parallel: int = 64,
    out: Path | None = None,
) -> int:
    """Evaluate a policy: each game of a split once, success by kind of task with 95 % confidence intervals.

    With `out`, each result is written as soon as it is known, and a run that was broken off goes on where it
    stopped; a summary is written beside it, with the ending `.summary.json`.

    Args:
        env: Id of the environment.
        policy: Who acts: random, expert, checkpoint:FOLDER, openai:URL, or another package's.
        split: The split whose games are played; None plays all.
        games: Play only this many, spread evenly over the split.
        seed: Decides the policy's choices.
        env_arg: An argument of the environment, as KEY=VALUE; may be given several times.
        policy_arg: An option of the policy, as KEY=VALUE, such as greedy=true; may be given several times.
        parallel: Games played at once.
        out: A JSON Lines file of results.
    """
    for name, number in (("games", games), ("parallel", parallel)):
        if number is not None and number < 1:
            raise ValueError(f"--{name} must be at least 1, not {number}")
    console = Console()
    arguments = keyword_arguments(env_arg)
    options = keyword_arguments(policy_arg)
    ids = spread(tuple(games_of(env, split, arguments)), games)
    header = {
        "schema": SCHEMA,
        "policy": policy,
        "policy_arguments": options,
        "env": env,
        "env_arguments": arguments,
        "split": split,
        "games": games,
        "seed": seed,
    }
    actor = make_policy(policy, seed=seed, **options)
    with contextlib.ExitStack() as stack:
        results, file = ([], None) if out is None else _open_results(out, header, stack)
        if results:
            console.print(f"{len(results)} of {len(ids)} games are done already", highlight=False)
        known = {result.game for result in results}
        left = [id for id in ids if id not in known]
        played = play_games(actor, env, left, seed=seed, split=split, arguments=arguments, parallel=parallel)
        for result in track(played, "games", total=len(left), console=console, transient=True):
            results.append(result)
            if file is not None:
                file.write(json.dumps(result.to_dict()) + "\n")
    summaries = summarise(results)
    console.print(_table(summaries))
    if out is not None:
        path = out.with_suffix(".summary.json")
        summary = {**header, "summary": {kind: asdict(own) for kind, own in summaries.items()}}
        path.write_text(json.dumps(summary, indent=2) + "\n")
        console.print(f"written: {out} and {path}", highlight=False)
    return 0


def _open_results(out: Path, header: Mapping[str, Any], stack: contextlib.ExitStack) -> tuple[list[Result], IO[str]]:
    """The results that a file holds, and the file, ready for more.

    Raises:
        EvaluationFileError: They are those of another evaluation, or a line is damaged. Nothing is changed.
    """
    results: list[Result] = []
    if out.exists() and out.stat().st_size:
        whole = out.read_text()
        # a last line without a line break was cut short
        lines = whole[: whole.rfind("\n") + 1].splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                if number == 1:
                    _check_header(out, record, header)
                else:
                    results.append(Result(**record))
            except (json.JSONDecodeError, TypeError, RecursionError) as error:
                raise EvaluationFileError(f"{out}, line {number}: not a result: {error}") from error
        file = stack.enter_context(open(out, "r+", buffering=1))
        file.truncate(file.seek(len(whole[: whole.rfind("\n") + 1].encode())))
        if not lines:
            file.write(json.dumps(header) + "\n")
        return results, file
    out.parent.mkdir(parents=True, exist_ok=True)
    file = stack.enter_context(open(out, "w", buffering=1))
    file.write(json.dumps(header) + "\n")
    return results, file


def _check_header(out: Path, record: Any, header: Mapping[str, Any]) -> None:
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise EvaluationFileError(f"{out} is no file of results of this release ({SCHEMA})")
    for key, value in header.items():
        if record.get(key) != value:
            raise EvaluationFileError(
                f"{out} holds results with {key}={record.get(key)!r}, not {value!r}; choose another --out"
            )


def _table(summaries: Mapping[str, Summary]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("kind of task")
    for name in ("games", "success", "95 % interval", "score", "steps", "invalid actions"):
        table.add_column(name, justify="right")
    for kind, own in summaries.items():
        if kind == "all":
            table.add_section()
        table.add_row(
            kind,
            str(own.games),
            f"{own.success:.3f}",
            f"{own.low:.3f}-{own.high:.3f}",
            f"{own.score:.3f}",
            f"{own.steps:.1f}",
            f"{own.invalid:.1%}",
        )
    return table
