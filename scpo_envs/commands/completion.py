"""`scpo completion`: a script that lets a shell complete commands and options."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Annotated, Any, Literal, Union

import tyro


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional], /) -> int:
    """Print a script that completes commands and options; needs `python3` when it completes.

    For this session: `source <(scpo completion bash)`. For all to come, write it where the shell looks:
    bash `~/.local/share/bash-completion/completions/scpo`, zsh `_scpo` in a folder of `fpath`,
    fish `~/.config/fish/completions/scpo.fish`.

    Args:
        shell: The shell that shall complete.
    """
    from scpo_envs.cli import GROUP

    commands: dict[str, Any] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            commands[point.name] = point.load()
        except ImportError:  # what is not available here is not offered
            continue
    arguments = ["--tyro-write-completion", shell, "-"]
    with contextlib.suppress(SystemExit):  # with which tyro ends once it has written the script
        tyro.cli(_tree(commands), prog="scpo", args=arguments)
    if shell == "bash":
        print("complete -o default -F _tyro_scpo scpo  # file names where no option is begun")
    return 0


def _tree(commands: Mapping[str, Any]) -> Any:
    """The type of a command line with all of these commands, some of which have commands of their own."""
    branches = [
        Annotated[_tree(command), tyro.conf.subcommand(name)]
        if isinstance(command, Mapping)
        else Annotated[Any, tyro.conf.subcommand(name, constructor=command)]
        for name, command in commands.items()
    ]
    return Union[tuple(branches)]  # noqa: UP007  (made of a tuple)
