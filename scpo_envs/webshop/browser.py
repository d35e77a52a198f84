"""The shop of a server, on its site, in Chromium: forms filled in, buttons, links and labels clicked, pages read.

What is read off a page equals what the shop says in process: the site's text nodes are the page's (see
`webshop_server.html`). Since an address says where a session is, a step that fails is repeated from the page before it;
a purchase that reached the server before it failed is found there, and not made again.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from scpo_envs.errors import MissingExtraError
from scpo_envs.webshop.backend import Assignment, ObservationMode, ShopUnavailableError, Visit
from scpo_envs.webshop.remote import RETRIES, TIMEOUT, RemoteGoals, ShopApi
from webshop_server.actions import Action, InvalidAction, read_action
from webshop_server.pages import Body, Node, plain_text, rich_text
from webshop_server.shop import ShopState
from webshop_server.urls import ROUTES, path_of, read_path

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.remote.webelement import WebElement
    from selenium.webdriver.support.ui import WebDriverWait
    from urllib3.exceptions import HTTPError
except ImportError as error:
    raise MissingExtraError("a shop in a browser", "browser") from error

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_POLL = 0.02  # seconds
_FAILURES = (WebDriverException, HTTPError, OSError)
_MAX_TYPED = 1000  # characters; the search bar's limit

_READ_PAGE = """
const kinds = {BUTTON: "button", LABEL: "option"};
const nodes = [];
const kindOf = (e) => kinds[e.tagName] ?? (e.matches("a.product-link") ? "link" : "text");
const note = (e, text) => nodes.push([kindOf(e), text, e.control?.name ?? "", "clicked" in e.dataset]);
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode;
  if (node.nodeType === Node.TEXT_NODE) note(node.parentElement, node.data);
  else if (node.tagName === "LABEL" && !node.firstChild) note(node, "");
}
return {
  page: document.body.className,
  url: location.href,
  bar: document.querySelector("#search_input") !== null,
  nodes: nodes,
  checked: [...document.querySelectorAll("input[type=radio]:checked")].map((e) => [e.name, e.value]),
  reward: document.querySelector("#reward pre")?.textContent ?? null,
  parts: {...document.querySelector("#reward_info")?.dataset},
  html: arguments[0] ? document.documentElement.outerHTML : null,
};
"""
_FIND = """
const [text, group] = arguments;
const named = (selector, name) => [...document.querySelectorAll(selector)].filter((e) => name(e) === text);
const radios = named("input[type=radio]", (e) => e.value).filter((e) => e.name === group);
const found = [
  ...named(".btn", (e) => e.textContent.toLowerCase()),
  ...named("a.product-link", (e) => e.textContent.toLowerCase()),
  ...radios.map((e) => e.labels[0]),
][0];
found?.scrollIntoView({block: "center"});
return found ?? null;
"""
_HAS_ARRIVED = "return !window.leaving && document.readyState === 'complete'"


class BrowserShop:
    """One session after another on a server's site, in a Chromium of its own; a `ShopBackend`.

    Chromium and its driver are found on the PATH and start with the first session; both run on this machine and reach
    the server alone.

    Args:
        url: Where the server is: `http://host:port`.
        mode: What observations are; "html" is the page as the browser holds it.
        quirks: Whether the server must have been started with the original's back doors.
        reward: The rule by which the server must score purchases.
        timeout: How long a page may take to come, in seconds.
        retries: How often a step is repeated, each time in a new browser.

    Raises:
        FileNotFoundError: Chromium or its driver is not installed.
        ValueError: The server was started otherwise.
        ShopUnavailableError: It does not answer.
    """

    def __init__(
        self,
        url: str,
        mode: ObservationMode,
        *,
        quirks: bool,
        reward: str,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:
        self._programs = _find_programs()
        self._api = ShopApi(url, timeout=timeout, retries=retries)
        self._goals = RemoteGoals(self._api, quirks=quirks, reward=reward)
        self._base = self._api.url
        self._mode = mode
        self._quirks = quirks
        self._timeout = timeout
        self._retries = retries
        self._driver: Any = None
        self._state: ShopState | None = None
        self._page: _PageInBrowser | None = None

    def goal_ids(self, split: str | None) -> tuple[str, ...]:
        """The ids of a split's goals."""
        return self._goals.ids(split)

    def assignment(self, goal: int | str) -> Assignment:
        """A goal by index or id."""
        return self._goals.assignment(goal)

    def start(self, goal: int | str) -> Visit:
        """Begin a session."""
        return self._arrive(self._new_state(self._goals.assignment(goal).index))

    def step(self, action: str) -> Visit:
        """Act in the session."""
        page, state = self._page, self._state
        if page is None or state is None:
            raise ShopUnavailableError("the browser has no session any more")
        try:
            wanted = read_action(
                action,
                done=page.is_done,
                has_search_bar=page.body.has_search_bar,
                clickables=page.body.targets,
                quirks=self._quirks,
            )
        except InvalidAction as refusal:
            return page.visit(self._mode, invalid_reason=str(refusal))
        self._page = self._state = None  # until it is known where the step leads
        for attempt in range(self._retries + 1):
            try:
                if attempt == 0 or not self._reopened(state).is_done:
                    self._act(wanted, page, state)
                return self._look(state)
            except ShopUnavailableError:  # the site has answered, and would answer so again
                raise
            except _FAILURES as error:
                problem = error
        raise self._failed(problem)

    def snapshot(self) -> ShopState:
        """The session's state, as far as its addresses tell it."""
        if self._state is None:
            raise ShopUnavailableError("the browser has no session any more")
        return self._state

    def restore(self, snapshot: ShopState) -> Visit:
        """Go to where a session was, in a new session with the same goal."""
        return self._arrive(snapshot._replace(session=self._new_state(snapshot.goal).session))

    def close(self) -> None:
        """End the browser. The server forgets the session when it has been idle for long enough."""
        self._state = self._page = None
        self._quit()
        self._api.close()

    def _new_state(self, goal: int) -> ShopState:
        return ShopState(goal, f"fixed-{secrets.token_hex(6)}_{goal}")

    def _arrive(self, state: ShopState) -> Visit:
        """Open a new session and lead it to a state."""
        self._page = self._state = None
        for attempt in range(self._retries + 1):
            try:
                if attempt:
                    self._quit()
                self._open(path_of(ShopState(state.goal, state.session)))
                for asin in sorted(state.seen):
                    self._open(path_of(state._replace(page="item", asin=asin, options=())))
                if state.page != "search":
                    self._open(path_of(state))
                return self._look(state)
            except ShopUnavailableError:  # the site has answered, and would answer so again
                raise
            except _FAILURES as error:
                problem = error
        raise self._failed(problem)

    def _reopened(self, state: ShopState) -> _PageInBrowser:
        """The page of a state in a new browser; the done page, if a purchase has ended the session."""
        self._quit()
        return self._open(path_of(state))

    def _act(self, action: Action, page: _PageInBrowser, state: ShopState) -> None:
        verb, argument = action
        if verb == "search":
            if page.body.has_search_bar and len(argument) <= _MAX_TYPED and argument.isprintable():
                self._search(argument)
            else:
                self._open(path_of(state._replace(page="results", query=argument, number=1)))
            return
        group = page.group_to_choose(argument, quirks=self._quirks)
        self._click(argument, group)

    def _search(self, query: str) -> None:
        """Fill the search bar, by script since drivers cannot type all of Unicode, and click the button."""
        self._driver.execute_script("document.querySelector('#search_input').value = arguments[0]", query)
        self._click("search", "")

    def _click(self, text: str, group: str) -> None:
        """Click what leads to another page, a button, a link or the label of an option, and wait for that page."""
        element: WebElement | None = self._driver.execute_script(_FIND, text, group)
        if element is None:
            raise WebDriverException(f"{self._driver.current_url} has nothing named {text!r} to click")
        self._driver.execute_script("window.leaving = true")
        element.click()
        # Not by the old page's elements going stale: of those the driver at times reports an unknown error.
        wait = WebDriverWait(self._driver, self._timeout, poll_frequency=_POLL)
        wait.until(lambda driver: driver.execute_script(_HAS_ARRIVED))

    def _open(self, path: str) -> _PageInBrowser:
        if self._driver is None:
            self._driver = _start_browser(self._programs, self._base, self._timeout)
        self._driver.get(self._base + path)
        return self._check(self._driver.execute_script(_READ_PAGE, False))

    def _quit(self) -> None:
        if self._driver is not None:
            with suppress(*_FAILURES):
                self._driver.quit()
            _end_orphan(self._driver.capabilities)
            self._driver = None

    def _look(self, before: ShopState) -> Visit:
        """Read the page, note where the session stands, and say what it shows; raises as `_check` does."""
        page = self._check(self._driver.execute_script(_READ_PAGE, self._mode == "html"))
        self._page, self._state = page, _state_at(page.url, self._base, before)
        return page.visit(self._mode)

    def _check(self, read: Mapping[str, Any]) -> _PageInBrowser:
        """A page of the site.

        Raises:
            ShopUnavailableError: The site answers with an error.
            WebDriverException: The page is none of the site's.
        """
        page = _PageInBrowser(read)
        if page.kind == "page-error":
            raise ShopUnavailableError(f"the site at {self._base} answers: {plain_text(page.body.nodes)}")
        if not page.kind.startswith("page-"):
            raise WebDriverException(f"{page.url} is no page of the site")
        return page

    def _failed(self, problem: BaseException) -> ShopUnavailableError:
        self._quit()
        reason = str(problem).strip().partition("\n")[0]
        return ShopUnavailableError(
            f"the site at {self._base} failed in the browser {self._retries + 1} times; the last: "
            f"{type(problem).__name__}: {reason}"
        )


class _PageInBrowser:
    """A page as the browser shows it.

    Args:
        read: What the reading script gave.
    """

    def __init__(self, read: Mapping[str, Any]) -> None:
        self.kind: str = read["page"]
        self.url: str = read["url"]
        self.reward: str | None = read["reward"]
        self.body = Body((Node(*node[:3]) for node in read["nodes"]), has_search_bar=read["bar"])
        self._clicked = {Node(*node[:3]) for node in read["nodes"] if node[3]}
        self._options = [Node(*node[:3]) for node in read["nodes"] if node[0] == "option"]
        self._checked = dict(read["checked"])
        self._parts = {name.replace("-", "_"): json.loads(value) for name, value in _dashed(read["parts"]).items()}
        self._html: str | None = read["html"]

    @property
    def is_done(self) -> bool:
        """Whether it is the page after a purchase."""
        return self.reward is not None

    def visit(self, mode: ObservationMode, *, invalid_reason: str | None = None) -> Visit:
        """What the shopper sees, and what the step that led here was worth."""
        acted = invalid_reason is None and self.is_done
        return Visit(
            observation=self._observation(mode),
            url=self.url,
            has_search_bar=self.body.has_search_bar,
            clickables=self.body.clickables,
            reward=float(self.reward or 0.0) if acted else 0.0,
            done=self.is_done,
            invalid_reason=invalid_reason,
            parts=self._parts if acted else {},
        )

    def group_to_choose(self, value: str, *, quirks: bool) -> str:
        """The option group that a click on a value means: of several the first without it, or with quirks the last."""
        groups = [node.group for node in self._options if node.text == value]
        if quirks or not groups:
            return groups[-1] if groups else ""
        return next((group for group in groups if self._checked.get(group) != value), groups[0])

    def _observation(self, mode: ObservationMode) -> str:
        if mode == "text":
            return plain_text(self.body.nodes)
        if mode == "text_rich":
            return "".join(rich_text(self.body.nodes, self._clicked))
        return self.url if mode == "url" else self._html or ""


def _dashed(dataset: Mapping[str, str]) -> dict[str, str]:
    """The attributes' own names for a script's: `rType` stands for `data-r-type`."""
    return {"".join(f"-{c.lower()}" if c.isupper() else c for c in name): value for name, value in dataset.items()}


def _state_at(url: str, base: str, before: ShopState) -> ShopState:
    """Where a session stands on a page, given where it stood on the page before."""
    path = unquote(urlsplit(url).path.removeprefix(urlsplit(base).path)).removeprefix("/")
    route, slash, rest = path.partition("/")
    if not slash or route not in ROUTES:
        return ShopState(before.goal, before.session)
    address = read_path(route, rest)
    seen = before.seen | {address.asin} if address.page == "item" and address.asin else before.seen
    return before._replace(seen=seen, score=None, **address._asdict())


def _find_programs() -> tuple[str, str]:
    """Chromium and its driver."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        missing = "Chromium" if browser is None else "chromedriver"
        raise FileNotFoundError(
            f"{missing} is not on the PATH; a shop in a browser needs both Chromium and its driver "
            "(on Debian: apt-get install chromium chromium-driver)"
        )
    return browser, driver


def _start_browser(programs: tuple[str, str], base: str, timeout: float) -> Any:
    """A browser without a window that reaches the shop's host and no other."""
    browser, driver = programs
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (
        "--headless=new",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--window-size=1280,1400",
        f"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {urlsplit(base).hostname}",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),  # Chromium's sandbox refuses to run as root
    ):
        options.add_argument(argument)
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    started.set_page_load_timeout(timeout)
    started.set_script_timeout(timeout)
    started.command_executor.client_config.timeout = timeout + 5
    return started


def _end_orphan(capabilities: Mapping[str, Any]) -> None:
    """End a browser that has outlived its driver; its command line names its profile, which no other process does."""
    profile = capabilities.get("chrome", {}).get("userDataDir")
    process = capabilities.get("goog:processID")
    with suppress(OSError):
        if profile and process and profile.encode() in Path(f"/proc/{process}/cmdline").read_bytes():
            os.kill(process, signal.SIGKILL)
            shutil.rmtree(profile, ignore_errors=True)
