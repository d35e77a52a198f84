"""A server's JSON API: one request at a time, and the goals of its shop.

Every request has a time limit and is repeated a bounded number of times; then `ShopUnavailableError` says what was
wrong.
"""

from __future__ import annotations

import http.client
import json
import os
import time
import weakref
from collections.abc import Mapping
from contextlib import closing
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode, urlsplit

from scpo_envs.errors import UnknownGameError
from scpo_envs.webshop.backend import Assignment, ShopUnavailableError

API_VERSION = 1
"""The version of the API that is spoken here."""
TIMEOUT = 10.0
"""How long one request may take, in seconds."""
RETRIES = 3
"""How often a request is repeated."""
TOKEN_VARIABLE = "WEBSHOP_TOKEN"
"""The environment variable that holds the token to send to servers that ask for one."""

_PAUSE = 0.2  # seconds before the second repetition; longer before each further one, none before the first
_BUSY = {429, 502, 503, 504}
_MAX_ANSWER = 256 << 20
_REMEMBERED = 100_000  # goals of a shop that are asked for once, all together


class SessionLostError(ShopUnavailableError):
    """Raised when the server does not know the session, or no longer."""


class ShopApi:
    """A client of the JSON API over one connection that is kept open; not for several threads at once.

    Args:
        url: Where the server is: `http://host:port`.
        timeout: How long one request may take, in seconds.
        retries: How often a request is repeated.
        token: The bearer token to send; by default what the environment variable `WEBSHOP_TOKEN` holds, if anything.
    """

    def __init__(self, url: str, *, timeout: float = TIMEOUT, retries: int = RETRIES, token: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"a shop's address is http://host:port, not {url!r}")
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.retries = retries
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)
        weakref.finalize(self, self._connection.close)
        self._prefix = parts.path.rstrip("/") + "/api/"
        self._headers = {"Content-Type": "application/json"}
        token = os.environ.get(TOKEN_VARIABLE)
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def post(self, operation: str, *, once: bool = False, **fields: Any) -> dict[str, Any]:
        """Ask for an operation.

        Args:
            operation: Its name.
            once: Do not repeat the request.
            **fields: What it takes; None leaves a field out.

        Raises:
            SessionLostError: The server does not know the session.
            UnknownGameError: The shop has no such goal or split.
            ShopUnavailableError: The server does not answer properly.
        """
        body = json.dumps({name: value for name, value in fields.items() if value is not None}).encode()
        return self._ask("POST", operation, body, 0 if once else self.retries)

    def get(self, resource: str, **parameters: Any) -> dict[str, Any]:
        """Ask for a resource; raises as `post` does."""
        query = urlencode({name: value for name, value in parameters.items() if value is not None}, errors="replace")
        return self._ask("GET", f"{resource}?{query}" if query else resource, None, self.retries)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self._connection.close()

    def _ask(self, method: str, path: str, body: bytes | None, retries: int) -> dict[str, Any]:
        problem = ""
        for attempt in range(retries + 1):
            if attempt > 1:
                time.sleep(_PAUSE * (attempt - 1))
            try:
                status, answer = self._exchange(method, path, body)
            except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
                self._connection.close()
                problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
                continue
            if status == 200:
                return answer
            problem = f"{status}: {message_of(answer)}"
            if status not in _BUSY:
                raise self._refusal(status, answer)
        asked = path.partition("?")[0]
        raise ShopUnavailableError(
            f"the shop at {self.url} did not answer {asked!r} in {retries + 1} tries; the last: {problem}"
        )

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, dict[str, Any]]:
        """One request; status and decoded answer.

        Raises:
            OSError, HTTPException: The connection fails or takes too long.
            ValueError: The answer is no JSON object.
        """
        deadline = time.monotonic() + self.timeout
        self._connection.request(method, self._prefix + path, body, self._headers)
        response = self._connection.getresponse()
        parts, size = [], 0
        while part := response.read1(1 << 20):
            parts.append(part)
            size += len(part)
            if time.monotonic() > deadline or size > _MAX_ANSWER:
                raise TimeoutError(f"the answer was not complete after {self.timeout:g} s or {_MAX_ANSWER >> 20} MB")
        response.read()  # nothing is left, but only this makes the connection ready for the next request
        answer = json.loads(b"".join(parts))
        if not isinstance(answer, dict):
            raise ValueError(f"the answer is no JSON object but {str(answer)[:60]!r}")
        return response.status, answer

    def _refusal(self, status: int, answer: Mapping[str, Any]) -> Exception:
        error = answer.get("error")
        code = error.get("code") if isinstance(error, Mapping) else None
        if code == "unknown_session":
            return SessionLostError(f"the shop at {self.url} has lost the session: {message_of(answer)}")
        if code == "unknown_item":
            return UnknownGameError(message_of(answer))
        return ShopUnavailableError(f"the shop at {self.url} refused with {status}: {message_of(answer)}")


class RemoteGoals:
    """The goals of a server, which must keep the rules that are asked for.

    Args:
        api: The server.
        quirks: Whether it must have been started with the original's back doors.
        reward: The rule by which it must score purchases.

    Raises:
        ValueError: It was started otherwise.
        ShopUnavailableError: It does not answer.
    """

    def __init__(self, api: ShopApi, *, quirks: bool, reward: str) -> None:
        self._api = api
        try:
            described = describe(api)
            _check_rules(described, api.url, quirks=quirks, reward=reward)
        except Exception:
            api.close()
            raise
        self._content = str(described.get("content_hash"))
        self._number = int(described.get("goals", 0))

    def ids(self, split: str | None) -> tuple[str, ...]:
        """The ids of a split's goals in the order of the shop's list; None admits all."""
        return _goal_ids(self._api.url, self._content, split)

    def assignment(self, goal: int | str) -> Assignment:
        """A goal by index or id."""
        if isinstance(goal, bool) or not isinstance(goal, (int, str)) or (isinstance(goal, int) and goal < 0):
            raise UnknownGameError(f"a goal is named by its id or its index, from 0; {goal!r:.60} is neither")
        if self._number <= _REMEMBERED:
            return _found(_assignments(self._api.url, self._content), goal)
        return _read_assignment(self._api.get("goal", **({"id": goal} if isinstance(goal, str) else {"index": goal})))


@lru_cache(maxsize=16)
def _goal_ids(url: str, content_hash: str, split: str | None) -> tuple[str, ...]:
    """The ids of a split's goals; by the content hash, another catalogue at the same address is asked anew."""
    return tuple(map(str, _listed(url, "ids", split=split)))


@lru_cache(maxsize=4)
def _assignments(url: str, content_hash: str) -> Mapping[int | str, Assignment]:
    """All goals, by index and by id."""
    table: dict[int | str, Assignment] = {}
    for goal in map(_read_assignment, _listed(url, "goals", details=1)):
        table[goal.index] = table[goal.id] = goal
    return table


def _found(table: Mapping[int | str, Assignment], goal: int | str) -> Assignment:
    if goal not in table:
        raise UnknownGameError(f"the shop has {len(table) // 2:,} goals, and none that is named {goal!r:.60}")
    return table[goal]


def _listed(url: str, what: str, **parameters: Any) -> list[Any]:
    """A list of goals, which the server gives in pieces."""
    listed: list[Any] = []
    with closing(ShopApi(url)) as api:
        while True:
            answer = api.get("goals", offset=len(listed), **parameters)
            piece, total = answer.get(what), answer.get("total")
            if not isinstance(piece, list) or not isinstance(total, int):
                raise ShopUnavailableError(f"the shop at {url} lists its goals in a form that is not known here")
            listed += piece
            if not piece or len(listed) >= total:
                return listed


def _read_assignment(answer: Mapping[str, Any]) -> Assignment:
    try:
        return Assignment(answer["id"], int(answer["index"]), answer["instruction"], answer["category"])
    except (KeyError, TypeError, ValueError) as error:
        raise malformed(error) from error


def _check_rules(described: Mapping[str, Any], url: str, **wanted: bool | str) -> None:
    for name, value in wanted.items():
        if described.get(name) != value:
            raise ValueError(
                f"the shop at {url} was started with {name}={described.get(name)!r}, not {name}={value!r}; "
                f"start it with other options of `scpo shop serve`, or change the environment's {name}"
            )


def describe(api: ShopApi) -> dict[str, Any]:
    """What a server says of itself.

    Raises:
        ShopUnavailableError: It does not answer, or speaks another version of the API.
    """
    described = api.get("shop")
    version = described.get("api")
    if version != API_VERSION:
        raise ShopUnavailableError(
            f"the shop at {api.url} speaks version {version!r} of the API; this release speaks {API_VERSION}"
        )
    return described


def malformed(error: Exception) -> ShopUnavailableError:
    """What to raise for an answer that cannot be read."""
    return ShopUnavailableError(f"the shop's answer is not of the form known here: {type(error).__name__}: {error}")


def message_of(answer: Mapping[str, Any]) -> str:
    """The reason in an answer that is an error."""
    error = answer.get("error")
    return str(error.get("message")) if isinstance(error, Mapping) else str(dict(answer))[:200]
