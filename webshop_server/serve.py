"""Serve the application with waitress, and stop without breaking off what has been asked.

On SIGTERM or SIGINT the server takes in the connections that wait, closes its port, answers every request that has
arrived or is arriving, tells keep-alive clients to close, and ends when all are answered or a time limit has passed.
A second signal ends it at once.
"""

from __future__ import annotations

import select
import signal
import socket
import time
from typing import Any

from flask import Flask
from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.server import create_server
from waitress.task import WSGITask

from webshop_server.logs import event
from webshop_server.service import Service

REAP_EVERY = 5.0
"""Seconds between two rounds that forget idle sessions."""
GRACE = 0.25
"""How long a closing server waits for requests that are on their way, in seconds."""
MAX_HEADER_BYTES = 64 << 10


class Server:
    """A bound server; `run` serves until `stop` is called from a signal handler or another thread.

    Args:
        app: What `create_app` made.
        host: The address to listen on.
        port: The port; 0 takes a free one.
        threads: How many requests are worked on at once.
        connections: How many connections are open at most.
        drain_seconds: How long a stopping server waits for its last answers.

    Attributes:
        host, port: Where it listens.

    Raises:
        OSError: The address cannot be listened on.
    """

    def __init__(
        self,
        app: Flask,
        host: str = "127.0.0.1",
        port: int = 3000,
        *,
        threads: int = 8,
        connections: int = 2000,
        drain_seconds: float = 30.0,
    ) -> None:
        self._service: Service = app.extensions["webshop"]
        self._drain_seconds = drain_seconds
        self._stopping = False
        listener = _listen(host, port)
        self.host, self.port = listener.getsockname()[:2]
        self._channels: dict[int, Any] = {}  # by file descriptor: connections, the listening socket and a wake-up pipe
        self._server = create_server(
            app,
            map=self._channels,
            sockets=[listener],
            threads=threads,
            connection_limit=connections,
            channel_timeout=120,
            max_request_body_size=8 * self._service.settings.max_body_bytes,  # what is a little too much gets a reason
            max_request_header_size=MAX_HEADER_BYTES,
            asyncore_use_poll=True,
            ident="webshop",
        )
        self._server.channel_class = _Channel
        self._server.draining = False

    def run(self) -> None:
        """Serve until stopped."""
        reap_at = 0.0
        while not self._stopping:
            self._turn(1.0)
            if time.monotonic() >= reap_at:
                reap_at = time.monotonic() + REAP_EVERY
                reaped = self._service.sessions.reap()
                if reaped:
                    event("reaped", sessions=reaped, open=len(self._service.sessions))
        self._drain()

    def stop(self) -> None:
        """Make `run` end when all requests are answered. Safe in a signal handler and from another thread."""
        if not self._stopping:
            self._server.pull_trigger()  # before it is said: whoever sees that the server stops may close the pipe
            self._stopping = True

    def _turn(self, seconds: float) -> None:
        """Handle what the sockets have to say, waiting for it at most so long."""
        wasyncore.loop(timeout=seconds, use_poll=True, map=self._channels, count=1)

    def _drain(self) -> None:
        start = time.monotonic()
        self._service.draining = self._server.draining = True
        event("draining", connections=len(self._server.active_channels), seconds=self._drain_seconds)
        while _readable(self._server.socket):
            self._server.handle_accept()
        wasyncore.dispatcher.close(self._server)  # the listening socket alone
        while self._server.active_channels and (waited := time.monotonic() - start) < self._drain_seconds:
            self._turn(0.05)
            if waited >= GRACE:
                for channel in list(self._server.active_channels.values()):
                    if not (channel.requests or channel.request or channel.total_outbufs_len):
                        channel.will_close = True
        unanswered = len(self._server.active_channels)
        self._server.task_dispatcher.shutdown(timeout=max(0.0, start + self._drain_seconds - time.monotonic()))
        wasyncore.close_all(self._channels)
        event("stopped", unanswered=unanswered, seconds=round(time.monotonic() - start, 3))


class _Task(WSGITask):  # type: ignore[misc]  # waitress is untyped
    """A request being answered; while the server drains, the answer says that the connection closes."""

    def build_response_header(self) -> Any:
        if self.channel.server.draining:
            self.set_close_on_finish()
        return super().build_response_header()


class _Channel(HTTPChannel):  # type: ignore[misc]  # waitress is untyped
    """A connection."""

    task_class = _Task


def serve(server: Server) -> None:
    """Run a server as this process's purpose, until SIGTERM or SIGINT."""

    def on_signal(number: int, frame: object) -> None:
        for known in (signal.SIGTERM, signal.SIGINT):
            signal.signal(known, signal.SIG_DFL)
        event("signal", name=signal.Signals(number).name)
        server.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    event("listening", host=server.host, port=server.port)
    server.run()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {host} port {port}: {error.strerror or error}") from error


def _readable(listener: socket.socket) -> bool:
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    return bool(poll.poll(0))
