from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Response

from tests.webshop_server.serving import server_process, serving
from webshop_server.app import create_app
from webshop_server.catalogue import Catalogue
from webshop_server.serve import MAX_HEADER_BYTES, Server
from webshop_server.service import Settings
from webshop_server.shop import Shop


@pytest.fixture
def server(stock: Catalogue) -> Iterator[Server]:
    with serving(Shop(stock), Settings(max_body_bytes=10_000)) as running:
        yield running


def get(port: int, path: str = "/healthz", **options: Any) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, **options)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def raw(port: int, request: bytes) -> bytes:
    """What a server says to bytes, until it closes the connection or says no more."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        sock.sendall(request)
        sock.shutdown(socket.SHUT_WR)
        answer = b""
        while part := sock.recv(65536):
            answer += part
        return answer


def test_a_server_listens_on_this_machine_alone_unless_told_otherwise(server: Server) -> None:
    assert server.host == "127.0.0.1"
    assert get(server.port).status == 200


def test_a_stop_wakes_the_server_before_its_end_can_close_what_it_is_woken_by(
    stock: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(create_app(Shop(stock)), port=0)
    seen: list[bool] = []
    monkeypatch.setattr(server._server, "pull_trigger", lambda: seen.append(server._stopping))
    server.stop()
    server.run()
    server.stop()  # once more, when all is closed
    assert seen == [False]


def test_a_port_in_use_is_an_error_that_names_it(server: Server, stock: Catalogue) -> None:
    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1 port {server.port}: Address already in use"):
        Server(create_app(Shop(stock)), port=server.port)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /healthz HTTP/1.0\r\n\r\n", b"200"),
        (b"POST /api/create HTTP/1.0\r\nContent-Length: 20000\r\n\r\n" + b"x" * 20000, b"413"),
        (b"POST /api/create HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n", b"413"),
        (b"POST /api/create HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"400"),
        (b"POST /api/create HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n", b"400"),
        (b"NONSENSE\r\n\r\n", b"400"),
        (b"GET /\xff\xfe HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /%00%0a HTTP/1.0\r\n\r\n", b"200"),
        (b"GET /static/../../../etc/passwd HTTP/1.0\r\n\r\n", b"404"),
        (b"GET /static/%2e%2e/%2e%2e/etc/passwd HTTP/1.0\r\n\r\n", b"404"),
        (b"GET //evil.example/%2f.. HTTP/1.0\r\n\r\n", b"404"),
        (b"GET http://evil.example/healthz HTTP/1.0\r\n\r\n", b"200"),
    ],
)
def test_requests_by_the_byte(server: Server, request_bytes: bytes, status: bytes) -> None:
    answer = raw(server.port, request_bytes)
    assert answer.split(b" ")[1] == status
    assert b"root:" not in answer


def test_endless_headers_are_cut_off(server: Server) -> None:
    try:
        answer = raw(server.port, b"GET / HTTP/1.1\r\nX: " + b"x" * 10 * MAX_HEADER_BYTES + b"\r\n\r\n")
    except OSError:  # as it comes when the server closes before all is sent
        answer = b"HTTP/1.1 431"
    assert answer.startswith(b"HTTP/1.1 431")
    assert get(server.port).status == 200


def test_a_redirect_leads_nowhere_but_to_the_site(server: Server) -> None:
    answer = raw(server.port, b"GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n")
    location = answer.partition(b"Location: ")[2].split(b"\r\n")[0]
    assert location.startswith(b"/") and not location.startswith(b"//")


def test_idle_sessions_are_forgotten_while_the_server_runs(stock: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webshop_server.serve.REAP_EVERY", 0.05)
    with serving(Shop(stock), Settings(idle_seconds=0.01)) as server:
        get(server.port, "/me")
        for _ in range(500):
            time.sleep(0.01)
            get(server.port)  # wakes the server up
            if b'webshop_sessions{kind="site"} 0' in raw(server.port, b"GET /metrics HTTP/1.0\r\n\r\n"):
                return
        raise AssertionError("the session is still there")


def test_a_stopping_server_answers_what_has_arrived_and_is_arriving(stock: Catalogue) -> None:
    """One request is being worked on, one half received, one waits unaccepted; an idle connection just closes."""
    app = create_app(Shop(stock))
    working, finish = threading.Event(), threading.Event()

    @app.get("/slow/<path:rest>")
    def slow(rest: str) -> Response:
        working.set()
        finish.wait(20)
        return Response("done")

    server = Server(app, port=0, drain_seconds=20)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    slow_one, half, idle = (socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(3))
    with slow_one, half, idle:
        slow_one.sendall(b"GET /slow/1 HTTP/1.1\r\nHost: x\r\n\r\n")
        half.sendall(b"POST /api/create HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
        assert working.wait(20)
        server.stop()
        assert idle.recv(100) == b""
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", server.port), timeout=20)
        half.sendall(b"}")
        finish.set()
        answers = [b"".join(iter(lambda sock=sock: sock.recv(65536), b"")) for sock in (slow_one, half)]
    thread.join(20)
    assert not thread.is_alive()
    assert all(answer.startswith(b"HTTP/1.1 200") and b"Connection: close" in answer for answer in answers)
    assert answers[0].endswith(b"done")


def test_a_stopping_server_does_not_wait_for_ever(stock: Catalogue) -> None:
    server = Server(create_app(Shop(stock)), port=0, drain_seconds=0.3)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as sock:
        sock.sendall(b"POST /api/create HTTP/1.1\r\nContent-Length: 100\r\n\r\n")
        time.sleep(0.1)
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_in_order(number: signal.Signals) -> None:
    with server_process() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("POST", "/api/create", "{}")
        assert json.load(connection.getresponse())["turn"] == 0
        server.process.send_signal(number)
        assert server.process.wait(20) == 0
        connection.close()
    assert server.events() == ["catalogue", "listening", "signal", "draining", "stopped"]
    assert server.log[-1]["unanswered"] == 0


def test_the_tokens_of_a_served_shop_come_from_the_environment() -> None:
    with server_process(WEBSHOP_TOKEN="s3cret") as server:
        assert get(server.port, "/api/shop").status == 401
        assert get(server.port, "/api/shop", headers={"Authorization": "Bearer s3cret"}).status == 200
        assert "s3cret" not in json.dumps(server.log)
