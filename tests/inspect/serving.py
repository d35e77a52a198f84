"""The inspector in a thread, as `scpo inspect` runs it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flask.testing import FlaskClient

from scpo_envs.inspect.app import create_app
from scpo_envs.inspect.runs import Library
from scpo_envs.inspect.server import Server


@dataclass(frozen=True)
class Serving:
    """A running inspector: what it shows, where, and a client beside it."""

    served: Library
    url: str
    client: FlaskClient


@contextlib.contextmanager
def serving(path: Path) -> Iterator[Serving]:
    """The inspector of a path, indexed, until the end of the block."""
    library = Library(path)
    library.refresh()
    app = create_app(library)
    server = Server(app, library)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield Serving(library, server.url, app.test_client())
    finally:
        server.close()
        thread.join(20)
        assert not thread.is_alive()
