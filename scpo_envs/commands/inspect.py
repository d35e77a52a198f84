"""Opens a local page over rollouts and runs."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from scpo_envs.errors import MissingExtraError


def inspect(
    path: Annotated[Path, tyro.conf.Positional] = Path("runs"),
    *,
    port: int = 0,
    browser: bool = True,
    embedding: str | None = None,
    cross_encoder: str | None = None,
    onnx: str | None = None,
) -> int:
    """Open a local page over rollout files and run folders, and follow them while they are written.

    The page is for this machine alone, and only reads. Ctrl-C ends it.

    Args:
        path: A rollout file, a run's folder, or a folder with any number of both below it.
        port: The port on 127.0.0.1; 0 takes a free one.
        browser: Open the page in a browser.
        embedding: Offer an embedding matcher: a model's folder, or a hub's name.
        cross_encoder: Offer a cross-encoder matcher: a model's folder, or a hub's name.
        onnx: Offer an ONNX cross-encoder matcher: a model's folder.
    """
    try:
        from scpo_envs.inspect.app import create_app
        from scpo_envs.inspect.server import Server
    except ImportError as error:
        if error.name not in ("flask", "jinja2", "markupsafe", "waitress", "werkzeug"):
            raise
        raise MissingExtraError("scpo inspect", "server") from error
    from scpo_envs.inspect.matchers import load_models
    from scpo_envs.inspect.runs import Library

    library = Library(path)
    server = Server(create_app(library, load_models(embedding, cross_encoder, onnx)), library, port)
    Console().print(f"Inspecting {path} at {server.url} (Ctrl-C ends it)", highlight=False, soft_wrap=True)
    if browser:
        webbrowser.open(server.url)
    server.run()
    return 0
