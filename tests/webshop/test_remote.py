from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from scpo_envs.errors import UnknownGameError
from scpo_envs.webshop import remote
from scpo_envs.webshop.backend import ShopUnavailableError
from scpo_envs.webshop.remote import RemoteGoals, SessionLostError, ShopApi
from tests.webshop_server.serving import serving
from webshop_server.catalogue import Catalogue
from webshop_server.service import Settings
from webshop_server.shop import Shop

Answer = Callable[[BaseHTTPRequestHandler], None]
Connect = Callable[..., ShopApi]


@contextmanager
def answering(*answers: Answer) -> Iterator[tuple[str, list[str]]]:
    """A server that gives these answers in turn, the last one again and again; its address and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            answers[min(len(asked), len(answers)) - 1](self)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def say(body: bytes, status: int = 200, length: int | None = None) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body) if length is None else length))
        handler.end_headers()
        handler.wfile.write(body)
        if length is not None:
            handler.close_connection = True

    return answer


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes clients, and closes them at the end."""
    with ExitStack() as opened:
        yield lambda url, **options: opened.enter_context(closing(ShopApi(url, **options)))


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_PAUSE", 0.0)


@pytest.mark.parametrize(
    "trouble",
    [
        hang_up,
        say(b'{"half": ', length=100),
        say(b"<html>a proxy's page</html>"),
        say(b"[]"),
        say(b"[" * 200_000),
        say(b'{"error": {"message": "full"}}', 503),
        say(b"{}", 502),
    ],
    ids=["hangs up", "breaks off", "no JSON", "no object", "too deep", "full", "bad gateway"],
)
def test_a_request_that_fails_is_repeated_but_not_for_ever(trouble: Answer, connect: Connect) -> None:
    with answering(trouble, trouble, say(b'{"well": 1}')) as (url, asked):
        assert connect(url).get("shop") == {"well": 1}
        assert len(asked) == 3
    with answering(trouble) as (url, asked):
        with pytest.raises(ShopUnavailableError, match=f"{url} did not answer 'goals' in 3 tries; the last: "):
            connect(url, retries=2).get("goals", split="train")
        assert len(asked) == 3


def test_waiting_has_a_limit(connect: Connect) -> None:
    release = threading.Event()
    with answering(lambda handler: release.wait(20) and None) as (url, _):
        with pytest.raises(ShopUnavailableError, match="timed out"):
            connect(url, timeout=0.05, retries=1).get("shop")
        release.set()


def test_an_answer_that_trickles_has_a_limit_too(connect: Connect) -> None:
    stop = threading.Event()

    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.close_connection = True
        while not stop.wait(0.01):
            handler.wfile.write(b" ")

    with answering(trickle) as (url, _):
        with pytest.raises(ShopUnavailableError, match="was not complete"):
            connect(url, timeout=0.1, retries=0).get("shop")
        stop.set()


def test_nobody_listening_is_unavailable_and_says_where(connect: Connect) -> None:
    with answering(say(b"{}")) as (url, _):
        pass
    with pytest.raises(ShopUnavailableError, match=f"{url}.*refused"):
        connect(url).get("shop")


@pytest.mark.parametrize(
    ("status", "body", "kind", "reason"),
    [
        (404, b'{"error": {"code": "unknown_session", "message": "gone"}}', SessionLostError, "lost the session: gone"),
        (404, b'{"error": {"code": "unknown_item", "message": "no goal 9"}}', UnknownGameError, "no goal 9"),
        (401, b'{"error": {"code": "unauthorized", "message": "a token"}}', ShopUnavailableError, "401: a token"),
        (302, b"{}", ShopUnavailableError, "refused with 302"),
        (500, b'{"error": "x"}', ShopUnavailableError, "refused with 500"),
    ],
)
def test_a_refusal_is_not_repeated(
    status: int, body: bytes, kind: type[Exception], reason: str, connect: Connect
) -> None:
    with answering(say(body, status)) as (url, asked), pytest.raises(kind, match=reason):
        connect(url).get("shop")
    assert len(asked) == 1


@pytest.mark.parametrize("url", ["", "localhost:3000", "ftp://host", "http://", "http:///path", "/x"])
def test_an_address_is_one_of_http(url: str, connect: Connect) -> None:
    with pytest.raises(ValueError, match="http://host:port"):
        connect(url)


def test_one_connection_carries_all_requests(stock: Catalogue, connect: Connect) -> None:
    with serving(Shop(stock)) as server:
        api = connect(f"http://127.0.0.1:{server.port}")
        api.get("shop")
        socket = api._connection.sock
        session = api.post("create", goal=0)["session"]
        with pytest.raises(UnknownGameError):
            api.post("reset", session=session, goal=99)
        api.post("step", session=session, action="search[shirt]")
        assert api._connection.sock is socket


def test_a_connection_that_the_server_has_closed_is_opened_anew(stock: Catalogue, connect: Connect) -> None:
    with serving(Shop(stock)) as server:
        api = connect(f"http://127.0.0.1:{server.port}/")
        assert api.get("shop")["api"] == 1
        api._connection.sock.shutdown(2)
        assert api.get("shop")["api"] == 1
        api.close()


def test_a_token_is_sent_to_a_server_that_asks_for_it(
    stock: Catalogue, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    with serving(Shop(stock), Settings(token="s3cret")) as server:
        url = f"http://127.0.0.1:{server.port}"
        with pytest.raises(ShopUnavailableError, match=r"refused with 401.*Authorization: Bearer"):
            connect(url).get("shop")
        monkeypatch.setenv("WEBSHOP_TOKEN", "s3cret")
        assert connect(url).get("shop")["api"] == 1
        assert RemoteGoals(connect(url), quirks=False, reward="webshop").ids("train")


@pytest.mark.parametrize("remembered", [True, False])
def test_the_goals_are_those_of_the_server(
    stock: Catalogue, monkeypatch: pytest.MonkeyPatch, connect: Connect, remembered: bool
) -> None:
    monkeypatch.setattr("webshop_server.api.MAX_GOALS", 4)  # so that lists come in pieces
    monkeypatch.setattr(remote, "_REMEMBERED", 100 if remembered else 0)
    with serving(Shop(stock)) as server:
        goals = RemoteGoals(connect(f"http://127.0.0.1:{server.port}"), quirks=False, reward="webshop")
        assert goals.ids(None) == tuple(goal.id for goal in stock.goals)
        assert goals.ids("test") == tuple(stock.goals[i].id for i in stock.goals.split("test").tolist())
        for name in (2, stock.goals[2].id):
            found = goals.assignment(name)
            assert (found.id, found.index) == (stock.goals[2].id, 2)
            assert (found.instruction, found.category) == (stock.goals[2].instruction, stock.goals[2].category)
        for unknown in (99, -1, "x", "", None, True, 1.5, [1]):
            with pytest.raises(UnknownGameError):
                goals.assignment(unknown)  # type: ignore[arg-type]
        with pytest.raises(UnknownGameError, match="no split 'nonsense'"):
            goals.ids("nonsense")


@pytest.mark.parametrize(("quirks", "reward"), [(True, "webshop"), (False, "exact")])
def test_a_server_with_other_rules_is_refused(stock: Catalogue, quirks: bool, reward: str, connect: Connect) -> None:
    with serving(Shop(stock)) as server:
        with pytest.raises(ValueError, match=r"was started with (quirks=False|reward='webshop'), not "):
            RemoteGoals(connect(f"http://127.0.0.1:{server.port}"), quirks=quirks, reward=reward)


def test_a_server_of_another_version_is_refused(connect: Connect) -> None:
    with answering(say(b'{"api": 99}')) as (url, _), pytest.raises(ShopUnavailableError, match="speaks version 99"):
        RemoteGoals(connect(url), quirks=False, reward="webshop")


def test_the_status_line_of_something_else_is_no_answer(connect: Connect) -> None:
    def nonsense(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"SSH-2.0-OpenSSH\r\n")
        handler.close_connection = True

    with answering(nonsense) as (url, _), pytest.raises(ShopUnavailableError, match=http.client.BadStatusLine.__name__):
        connect(url, retries=0).get("shop")
