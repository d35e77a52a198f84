"""`scpo train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from scpo_envs.errors import MissingExtraError


def train(
    recipe: Annotated[Path, tyro.conf.Positional],
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    *,
    resume: bool = False,
    overwrite: bool = False,
) -> int:
    """Train an agent with group reinforcement learning, as a recipe says.

    Ctrl-C lets the iteration finish, saves, and stops; `--resume` then goes on as if nothing had happened.
    Several processes: `accelerate launch -m scpo_envs.cli train ...`.

    Args:
        recipe: The name of a bundled recipe, such as alfworld-scorer-scpo, or a YAML file.
        overrides: Settings to change, such as update.lr=0.002 env.data=real out=runs/mine.
        resume: Go on from the last checkpoint in the run's folder.
        overwrite: Replace what the run's folder holds.
    """
    from scpo_agents.recipe import load_config

    config = load_config(recipe, overrides)
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("training", "train") from error
    from scpo_agents.checkpoint import check_beginning, check_resumable, clear_run, find_checkpoint
    from scpo_agents.display import Display
    from scpo_agents.processes import Processes
    from scpo_agents.trainer import Trainer

    processes = Processes()
    display = Display(config, Console() if processes.first else None)
    if resume:
        check_resumable(config)
    elif find_checkpoint(config.out / "start") is not None and not overwrite:
        raise FileExistsError(
            f"{config.out} holds a run already: --resume goes on with it, --overwrite replaces it, "
            "out=FOLDER chooses another place"
        )
    else:
        check_beginning(config)
    try:
        trainer = Trainer(config, processes, display)  # what it refuses costs no earlier run
        processes.wait()
        if processes.first and not resume:
            clear_run(config.out)
        processes.wait()
        ended = trainer.run(resume=resume)
    finally:
        processes.close()
    display.end()
    if not ended:
        display.note("stopped; --resume goes on from here")
        return 130
    return 0


def flags_last(arguments: list[str]) -> list[str]:
    """Recipe and overrides first, so that a flag may stand between them."""
    return sorted(arguments, key=lambda argument: argument.startswith("-"))


setattr(train, "arrange", flags_last)  # noqa: B010  (functions have no such attribute, says the type checker)
