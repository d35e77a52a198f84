"""`openai:URL` against a stand-in server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scpo_agents import openai
from scpo_agents.openai import EndpointError, OpenAIPolicy
from scpo_envs.cli import main
from scpo_envs.policies import Turn, make_policy

Answer = tuple[int, Any]


class StandIn:
    """A chat endpoint that replies with the first command of the prompt's list, unless told otherwise."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.answers: list[Answer] = []
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(200, {"data": [{"id": "stand-in"}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stand_in.requests.append(body)
                stand_in.keys.append(self.headers["Authorization"])
                command = body["messages"][-1]["content"].partition("Commands:\n")[2].split("\n")[0]
                usual = {"choices": [{"message": {"content": f"<think>…</think><action>{command}</action>"}}]}
                self._answer(*(stand_in.answers.pop(0) if stand_in.answers else (200, usual)))

            def _answer(self, status: int, body: Any) -> None:
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.setattr(openai.time, "sleep", lambda seconds: None)
    stand_in = StandIn()
    yield stand_in
    stand_in.server.shutdown()
    stand_in.server.server_close()


def turn(sibling: int, first: bool = True, commands: tuple[str, ...] = ("look", "wait")) -> Turn:
    return Turn(sibling, first, f"room {sibling}", {"task": "find it.", "admissible_commands": commands})


def test_every_sibling_is_asked_for_with_its_own_history(endpoint: StandIn) -> None:
    policy = make_policy(f"openai:{endpoint.url}", seed=5, temperature=0.1)
    assert policy.act([turn(0), turn(1, commands=("go",))]) == ["look", "go"]
    assert policy.act([turn(1, first=False)]) == ["look"]
    body = endpoint.requests[-1]
    assert (body["model"], body["seed"], body["temperature"]) == ("stand-in", 5, 0.1)
    text = body["messages"][-1]["content"]
    assert "You saw: room 1\nYou did: go" in text and "room 0" not in text


def test_a_new_episode_forgets_the_old_one(endpoint: StandIn) -> None:
    policy = OpenAIPolicy(target=endpoint.url)
    for _ in range(2):
        policy.act([turn(0)])
    assert "You did" not in endpoint.requests[-1]["messages"][-1]["content"]


def test_the_key_is_sent_where_there_is_one(endpoint: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    OpenAIPolicy(target=endpoint.url, key_variable="TEST_KEY").act([turn(0)])
    monkeypatch.setenv("TEST_KEY", "sesame")
    OpenAIPolicy(target=endpoint.url, key_variable="TEST_KEY").act([turn(0)])
    assert endpoint.keys == [None, "Bearer sesame"]


@pytest.mark.parametrize("passing", [(429, {"error": "slow down"}), (503, b"busy")])
def test_a_failure_that_passes_is_tried_again(endpoint: StandIn, passing: Answer) -> None:
    endpoint.answers = [passing, passing]
    assert OpenAIPolicy(target=endpoint.url).act([turn(0)]) == ["look"]
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([(400, {"error": "no such model"})], "status 400.*no such model"),
        ([(500, b"\xff")] * 4, "status 500"),
        ([(200, b"<html>")], "no JSON"),
        ([(200, b"[" * 200_000)], "no JSON"),
        ([(200, {"choices": []})], "no chat completion"),
        ([(200, [1])], "no chat completion"),
    ],
)
def test_other_failures_are_told_with_the_address(endpoint: StandIn, answers: list[Answer], message: str) -> None:
    endpoint.answers = answers
    with pytest.raises(EndpointError, match=message) as caught:
        OpenAIPolicy(target=endpoint.url).act([turn(0)])
    assert endpoint.url in str(caught.value)
    assert not endpoint.answers


def test_an_endpoint_that_is_not_there_is_told() -> None:
    with pytest.raises(EndpointError, match=r"127\.0\.0\.1:9"):
        OpenAIPolicy(target="http://127.0.0.1:9/v1", retries=0)
    with pytest.raises(ValueError, match=r"http\(s\) URL"):
        OpenAIPolicy(target="localhost:8000")


def test_an_empty_reply_is_an_empty_action(endpoint: StandIn) -> None:
    endpoint.answers = [(200, {"choices": [{"message": {"content": None}}]})]
    assert OpenAIPolicy(target=endpoint.url).act([turn(0)]) == [""]


def test_the_command_line_evaluates_an_endpoint(
    endpoint: StandIn, toy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Callable[..., int] = main
    assert (
        run(["evaluate", toy, "--policy", f"openai:{endpoint.url}", "--games", "3", "--policy-arg", "history=1"]) == 0
    )
    assert "toy" not in capsys.readouterr().err
    assert len(endpoint.requests) == 3 * 12
