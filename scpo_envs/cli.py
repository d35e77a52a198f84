"""The `scpo` command: finds its subcommands in the entry-point group `scpo.commands`.

An entry point names a function, whose typed keyword arguments become options and whose docstring
becomes the help, or a dictionary of such functions for a command with subcommands of its own. A function
whose arguments may come in any order has an attribute `arrange`, which puts them in the order of its signature.
Nothing is imported but the command that runs, so each package may bring commands of any weight.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import gymnasium
import tyro

import scpo_envs
from scpo_envs.errors import ScpoError

GROUP = "scpo.commands"

Command = Callable[..., int | None] | Mapping[str, Callable[..., int | None]]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand.

    Args:
        argv: The arguments, by default those of the process.

    Returns:
        The exit status: 0, 1 for a failure that was reported, 2 for a wrong call, 130 for Ctrl-C.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    commands = {point.name: point for point in entry_points(group=GROUP)}
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_overview(commands))
        return 0
    if arguments[0] == "--version":
        print(f"scpo-envs {scpo_envs.__version__}")
        return 0
    name, *rest = arguments
    if name not in commands:
        print(f"scpo: no command {name!r}; there are {', '.join(sorted(commands))}", file=sys.stderr)
        return 2
    try:
        return _run(name, commands[name].load(), rest) or 0
    except (ScpoError, gymnasium.error.Error, OSError, ValueError) as error:
        if isinstance(error, BrokenPipeError):  # the reader of our output has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        if os.environ.get("SCPO_TRACEBACK"):
            raise
        print(f"scpo {name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(name: str, command: Command, arguments: list[str]) -> int | None:
    if isinstance(command, Mapping):
        return tyro.extras.subcommand_cli_from_dict(dict(command), prog=f"scpo {name}", args=arguments)
    arrange: Callable[[list[str]], list[str]] = getattr(command, "arrange", list)
    return tyro.cli(command, prog=f"scpo {name}", args=arrange(arguments))


def _overview(commands: Mapping[str, EntryPoint]) -> str:
    width = max(map(len, commands), default=0)
    lines = [f"  {name:{width}}  {_summary(point)}" for name, point in sorted(commands.items())]
    return "\n".join(
        [
            "usage: scpo COMMAND [options]",
            "",
            *lines,
            "",
            "scpo COMMAND --help tells a command's options, scpo --version the version.",
        ]
    )


def _summary(point: EntryPoint) -> str:
    """The first line of a command's docstring, or why it cannot run here."""
    try:
        command: Any = point.load()
    except ImportError as error:
        return f"(not available: {error})"
    if isinstance(command, Mapping):
        first = (sys.modules[point.module].__doc__ or "").strip().splitlines()[0]
        return f"{first.rstrip('.')} ({', '.join(command)})."
    return (command.__doc__ or "").strip().splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
