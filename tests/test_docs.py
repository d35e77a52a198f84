"""The documents keep their word: links lead somewhere, code runs, and prints what stands below it.

A Python block runs in the names and the folder of the blocks before it on its page; a `text` block behind it is
compared with what it printed. So is the output in a `console` block. A mark before the fence, `<!-- slow: EXTRA -->`,
leaves a block to the slow tests; `<!-- not run: REASON -->` leaves it out.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import importlib.util
import inspect
import io
import multiprocessing
import re
import shlex
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import scpo_envs
from scpo_envs import cli
from scpo_envs.alfworld.env import AlfworldEnv
from scpo_envs.credit import ESTIMATORS
from scpo_envs.webshop.env import WebShopEnv
from tests.pages import Block, blocks, session, shown_commands
from tests.webshop_server.serving import serving
from webshop_server.catalogue import Catalogue
from webshop_server.shop import Shop

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DOCUMENTS = sorted(path for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")] if "_build" not in path.parts)
EXAMPLES = sorted((DOCS / "examples").glob("own_*.py"))
MODULES = {"browser": "selenium", "models": "sentence_transformers", "plot": "matplotlib", "train": "torch"}
"""A module of each extra that a block may need."""

LANGUAGES = ("python", "console", "sh", "text", "toml", "yaml", "", "{toctree}", "{eval-rst}")
"""`python` runs; so does `console`, with `$ ` before each command; in `sh` and indented blocks commands are parsed."""

SHOP = "127.0.0.1:3000"

WIDTH = "96"
"""Columns of the terminal in which the pages' commands ran."""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def pages_with(wanted: Callable[[Block], bool]) -> list[Any]:
    return [pytest.param(page, id=name(page)) for page in DOCUMENTS if any(map(wanted, blocks(page)))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_relative_link_leads_to_a_file(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_link_to_a_heading_leads_there(path: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)]*)\)", path.read_text()):
        page = path.parent / target if target else path
        if page.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), re.M)
            assert anchor in [slug(heading) for heading in headings], f"{target}#{anchor}"


def slug(heading: str) -> str:
    """A heading's anchor, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """A folder and a module to run a page in; what its blocks register is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(gymnasium.envs.registration, "registry", gymnasium.registry.copy())
    estimators = dict(ESTIMATORS)
    method = multiprocessing.get_start_method()
    multiprocessing.set_start_method("fork", force=True)  # torchrl, once imported, has made it "spawn"
    module = types.ModuleType("my_package")
    monkeypatch.setitem(sys.modules, "my_package", module)
    yield module
    multiprocessing.set_start_method(method, force=True)
    for added in ESTIMATORS.keys() - estimators.keys():
        ESTIMATORS.pop(added)


@pytest.fixture(scope="module")
def shop_address() -> Iterator[str]:
    """Where the shop is that some pages talk to: a port of our own stands for 3000."""
    with serving(Shop(Catalogue.open())) as server:
        yield f"127.0.0.1:{server.port}"


def run_page(page: Path, module: types.ModuleType, request: pytest.FixtureRequest, *, slow: bool) -> None:
    """Run the blocks of a page, in order."""
    for block in blocks(page):
        if block.language in ("python", "console") and block.left_out is None and (slow or not block.slow):
            if SHOP in block.text:
                block.text = block.text.replace(SHOP, request.getfixturevalue("shop_address"))
            run(block, module, page)


def run(block: Block, module: types.ModuleType, page: Path) -> None:
    """Run one block and compare its output."""
    where = f"{name(page)}, line {block.line}"
    if block.language == "console":
        for command, output in session(block):
            words = shlex.split(command)
            assert words[0] == "scpo", f"{where}: only scpo runs here, not {command!r}"
            printed = run_command(words[1:], apart=block.slow)
            if block.slow:  # training differs between machines in its numbers, and in the bars drawn of them
                printed, output = (re.sub(r"[\d.,█·]*\d[\d.,█·]*|[█·]+", "0", text) for text in (printed, output))
            compare(printed, output, f"{where}: {command}")
        return
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile("\n" * block.line + block.text, str(page), "exec"), vars(module))
    if block.output is not None:
        compare(out.getvalue(), block.output, where)


def run_command(arguments: list[str], *, apart: bool) -> str:
    """What a command prints; long ones run in a process of their own."""
    if apart:
        done = subprocess.run(
            [sys.executable, "-m", "scpo_envs.cli", *arguments], capture_output=True, text=True, timeout=1200
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            status = cli.main(arguments)
        except SystemExit as exit:  # --help
            status = int(exit.code or 0)
    assert status == 0, out.getvalue()
    return out.getvalue()


def compare(printed: str, expected: str, where: str) -> None:
    """Compare outputs, where `...` stands for anything."""
    if not expected.strip():
        return
    got, want = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (printed, expected))
    same = doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert same, f"{where}\n{got}"


@pytest.mark.parametrize("page", pages_with(lambda block: block.language in ("python", "console")))
def test_what_a_page_shows_runs_and_prints_that(
    page: Path, workplace: types.ModuleType, request: pytest.FixtureRequest
) -> None:
    run_page(page, workplace, request, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with(lambda block: block.slow))
def test_what_a_page_shows_runs_with_its_extras(
    page: Path, workplace: types.ModuleType, request: pytest.FixtureRequest
) -> None:
    for extra in sorted({extra for block in blocks(page) for extra in block.extras}):
        if importlib.util.find_spec(MODULES[extra]) is None:
            pytest.skip(f"{name(page)} needs the extra {extra}")
    run_page(page, workplace, request, slow=True)


@pytest.mark.parametrize("page", DOCUMENTS, ids=name)
def test_every_block_says_what_it_is(page: Path) -> None:
    found = blocks(page)
    fences = len(re.findall(r"^```", page.read_text(), re.MULTILINE))
    assert fences == 2 * sum(1 + (block.output is not None) for block in found), "a fence that nobody understands"
    for block in found:
        assert block.language in LANGUAGES, f"line {block.line}: unknown language {block.language!r}"
        assert block.mark == "" or block.slow or block.left_out, f"line {block.line}: unknown mark {block.mark!r}"


@pytest.mark.parametrize("page", DOCUMENTS, ids=name)
def test_every_command_on_a_page_is_one_that_scpo_takes(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = EntryPoint.load

    def idle(command: Callable[..., Any]) -> Callable[..., int]:
        return functools.wraps(command)(lambda *_, **__: 0)

    def load_idle(point: EntryPoint) -> Any:
        command = load(point)
        return {key: idle(one) for key, one in command.items()} if isinstance(command, dict) else idle(command)

    monkeypatch.setattr(EntryPoint, "load", load_idle)
    for arguments in shown_commands(page):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            try:
                status = cli.main(arguments)
            except SystemExit as exit:
                status = int(exit.code or 0)
        assert status == 0, f"scpo {shlex.join(arguments)}\n{out.getvalue()}"


@pytest.mark.parametrize("environment", [AlfworldEnv, WebShopEnv], ids=lambda environment: environment.__name__)
def test_an_environments_page_holds_its_docstring(environment: type) -> None:
    page = {AlfworldEnv: "alfworld.md", WebShopEnv: "webshop.md"}[environment]
    _, _, reference = inspect.cleandoc(environment.__doc__ or "").partition("\n\n")
    text = (DOCS / "environments" / page).read_text()
    for section in re.split(r"\n(?=## )", reference):
        assert section.strip() in text, f"docs/environments/{page} differs from the docstring in\n{section}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_is_short_runs_and_is_the_one_on_the_page(example: Path) -> None:
    text = example.read_text()
    assert len(text.splitlines()) < 40
    page = (DOCS / "extending.md").read_text()
    assert f"```python\n{text}```" in page, f"docs/extending.md does not show {example.name} as it is"


def test_the_citation_names_this_version() -> None:
    assert f"\nversion: {scpo_envs.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_figures_of_the_readme_are_those_of_the_benchmarks_page() -> None:
    _, _, section = (ROOT / "README.md").read_text().partition("## How fast")
    page = (DOCS / "benchmarks.md").read_text()
    tables = re.findall(r"(?:^\|.*\n)+", section.partition("\n## ")[0], re.MULTILINE)
    assert tables and [table for table in tables if table not in page] == []
