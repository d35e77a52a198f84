"""Serves the inspector on this machine alone, until Ctrl-C."""

from __future__ import annotations

import socket
import threading
from typing import Any

from flask import Flask
from waitress import wasyncore
from waitress.server import create_server

from scpo_envs.inspect.runs import Library


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
        self._channels: dict[int, Any] = {}  # connections, the listening socket and a wake-up pipe
        self._server = create_server(
            app,
            map=self._channels,
            sockets=[listener],
            threads=8,
            asyncore_use_poll=True,
            outbuf_overflow=1 << 30,  # answers stay in memory, not in files
            ident=None,
        )

    def run(self) -> None:
        """Serve until Ctrl-C, or until `close` is called from another thread."""
        watcher = threading.Thread(target=self._library.watch, args=(self._stop,), daemon=True, name="watcher")
        watcher.start()
        try:
            while not self._stop.is_set():
                wasyncore.loop(timeout=1.0, use_poll=True, map=self._channels, count=1)
        except KeyboardInterrupt:
            pass
        finally:
            self._stop.set()
            self._server.task_dispatcher.shutdown(timeout=1)
            wasyncore.close_all(self._channels)

    def close(self) -> None:
        """Make `run` end; where it has not begun, it then ends at once and gives up the port."""
        if not self._stop.is_set():
            self._server.pull_trigger()  # before it is said: whoever sees that the server stops may close the pipe
            self._stop.set()
