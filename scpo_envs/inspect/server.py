"""Serves the inspector on this machine alone, until Ctrl-C."""

from __future__ import annotations

import socket
import threading

from flask import Flask
from waitress.server import create_server

from scpo_envs.inspect.library import Library


class Server:
    """A bound server.

    Args:
        app: What `create_app` made.
        library: What it shows; it is kept fresh while the server runs.
        port: The port; 0 takes a free one.

    Attributes:
        url: The address to open.

    Raises:
        OSError: The port cannot be listened on.
        ValueError: It is none.
    """

    def __init__(self, app: Flask, library: Library, port: int = 0) -> None:
        if not 0 <= port <= 65535:
            raise ValueError(f"port must be between 0 and 65535, not {port}")
        try:
            listener = socket.create_server(("127.0.0.1", port))
        except OSError as error:
            raise OSError(f"cannot listen on 127.0.0.1 port {port}: {error}; --port 0 takes a free one") from error
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        self._library = library
        self._stop = threading.Event()
        self._server = create_server(app, sockets=[listener], threads=8, ident=None)

    def run(self) -> None:
        """Serve until Ctrl-C, or until `close` is called from another thread."""
        watcher = threading.Thread(target=self._library.watch, args=(self._stop,), daemon=True, name="watcher")
        watcher.start()
        try:
            self._server.run()  # ends by itself on Ctrl-C
        finally:
            self._stop.set()
            self._server.close()

    def close(self) -> None:
        """Make `run` end."""
        self._stop.set()
        self._server.close()
