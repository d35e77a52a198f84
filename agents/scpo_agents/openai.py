"""`openai:URL`: any model behind an OpenAI-compatible chat endpoint, as a policy."""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from scpo_agents.prompts import Transcript, commands_of
from scpo_envs.errors import ScpoError
from scpo_envs.policies import Turn
from scpo_envs.text import parse_action


class EndpointError(ScpoError, RuntimeError):
    """Raised when an endpoint cannot be reached, refuses a request or answers with what is no chat completion."""


class OpenAIPolicy:
    """Asks a chat endpoint for every action, several siblings at a time.

    Args:
        target: The endpoint's base URL, such as `http://localhost:8000/v1`.
        seed: Sent with each request, for endpoints that heed it.
        model: The model's name; None takes the first that the endpoint lists.
        temperature: Of its sampling.
        max_tokens: Longest reply.
        history: How many of the last exchanges it is shown.
        parallel: Requests at once.
        timeout: Seconds a request may take.
        retries: How often a request is tried again after a failure that may pass: no connection, a timeout, or one
            of the statuses 408, 409, 429 and 5xx.
        key_variable: Environment variable that holds the key, if the endpoint wants one.

    Raises:
        EndpointError: The endpoint lists no model.
        ValueError: The URL is no http(s) URL.
    """

    def __init__(
        self,
        *,
        target: str,
        seed: int = 0,
        model: str | None = None,
        temperature: float = 0.4,
        max_tokens: int = 512,
        history: int = 5,
        parallel: int = 16,
        timeout: float = 120.0,
        retries: int = 3,
        key_variable: str = "OPENAI_API_KEY",
    ) -> None:
        if not target.startswith(("http://", "https://")):
            raise ValueError(f"an endpoint is an http(s) URL, such as openai:http://localhost:8000/v1, not {target!r}")
        self._base = target.rstrip("/")
        self._timeout, self._retries, self._history = timeout, retries, history
        self._key = os.environ.get(key_variable, "")
        self._fixed = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        self._transcripts: dict[int, Transcript] = {}
        self._pool = ThreadPoolExecutor(parallel)
        self.model = self._first_model() if model is None else model

    def act(self, turns: Sequence[Turn]) -> list[str]:
        """One action for each turn, in order: whatever the model names, admissible or not."""
        return list(self._pool.map(self._act, turns))

    def _act(self, turn: Turn) -> str:
        if turn.first:
            self._transcripts[turn.sibling] = Transcript(turn.info["task"])
        transcript = self._transcripts[turn.sibling]
        messages = transcript.messages(turn.observation, commands_of(turn.info), self._history)
        answer = self._request("/chat/completions", {"model": self.model, "messages": messages, **self._fixed})
        try:
            reply = answer["choices"][0]["message"]["content"] or ""
            action = parse_action(reply)
        except (KeyError, IndexError, TypeError) as error:
            raise EndpointError(f"{self._base} answered with no chat completion: {answer!r:.200}") from error
        transcript.exchanges.append((turn.observation, action))
        return action

    def _first_model(self) -> str:
        answer = self._request("/models")
        try:
            return str(answer["data"][0]["id"])
        except (KeyError, IndexError, TypeError) as error:
            raise EndpointError(f"{self._base} lists no model: {answer!r:.200}; name one with model=...") from error

    def _request(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Ask the endpoint, again after failures that may pass."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, headers)
        for attempt in range(self._retries + 1):
            try:
                with urllib.request.urlopen(request, timeout=self._timeout) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                why = f"status {error.code}: {error.read(300).decode(errors='replace')}"
                if error.code not in (408, 409, 429) and error.code < 500:
                    break
            except (OSError, http.client.HTTPException) as error:
                why = str(error)
            except (ValueError, RecursionError) as error:
                raise EndpointError(f"{self._base}{path} answered with no JSON: {error}") from error
            if attempt < self._retries:
                time.sleep(0.5 * 2**attempt)
        raise EndpointError(f"{self._base}{path} failed: {why}")
