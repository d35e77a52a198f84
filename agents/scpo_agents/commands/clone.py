"""`scpo clone`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from scpo_envs.errors import MissingExtraError


def clone(
    recipe: Annotated[Path, tyro.conf.Positional],
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
) -> int:
    """Clone a policy's rollouts into an agent, as a recipe's `clone` section says, and write a checkpoint.

    The checkpoint `start` in the run's folder serves `scpo evaluate checkpoint:...` and, as `start=...`, other runs
    of `scpo train`.

    Args:
        recipe: The name of a bundled recipe, such as alfworld-scorer-scpo, or a YAML file.
        overrides: Settings to change, such as clone.episodes=64 clone.rollouts=runs/rollouts.jsonl out=runs/clone.
    """
    from scpo_agents.recipe import load_config

    config = load_config(recipe, overrides)
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("cloning", "train") from error
    from scpo_agents.agent import agent_kind
    from scpo_agents.checkpoint import find_checkpoint, save_checkpoint
    from scpo_agents.clone import learn_from_demonstrations
    from scpo_agents.display import Display
    from scpo_agents.processes import Processes
    from scpo_agents.recipe import agent_settings

    folder = config.out / "start"
    if find_checkpoint(folder) is not None:
        raise FileExistsError(f"{folder} holds a checkpoint already; out=FOLDER chooses another place")
    torch.set_num_threads(config.threads)
    processes = Processes()
    display = Display(config, Console() if processes.first else None)
    agent = agent_kind(config.agent.name).make(agent_settings(config), seed=config.seed)
    with display:
        learn_from_demonstrations(agent, config, processes, display)
    if processes.first:
        save_checkpoint(folder, agent, config)
    processes.close()
    display.note(f"written: {folder}")
    return 0
