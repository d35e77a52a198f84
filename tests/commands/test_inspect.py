from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import tyro

from scpo_envs.commands.inspect import inspect
from scpo_envs.errors import MissingExtraError
from scpo_envs.inspect.server import Server
from scpo_envs.rollouts import Rollout, RolloutGroup, Step, write_groups

# a shell's background jobs, and their children, ignore Ctrl-C: here it is wanted
CODE = """
import signal, sys, tyro
from scpo_envs.commands.inspect import inspect
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(tyro.cli(inspect))
"""


@pytest.fixture
def rollouts(tmp_path: Path) -> Path:
    path = tmp_path / "some.jsonl"
    write_groups(path, [RolloutGroup("task", [Rollout([Step("you see a door", "open door", 1.0)], won=True)])])
    return path


def test_it_says_where_it_is_and_ends_with_ctrl_c(rollouts: Path) -> None:
    command = [sys.executable, "-c", CODE, str(rollouts), "--no-browser"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1", "COLUMNS": "40"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        url = re.search(r"at (http://127\.0\.0\.1:\d+/) ", line)
        assert url, line
        with urllib.request.urlopen(url[1]) as answer:
            assert b"<h1>Groups</h1>" in answer.read()
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(20) == 0
        finally:
            process.kill()
        assert process.stderr.read() == ""


def test_it_opens_the_page_in_a_browser(rollouts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    run = Server.run
    monkeypatch.setattr(Server, "run", lambda server: (server.close(), run(server)))
    assert tyro.cli(inspect, args=[str(rollouts)]) == 0
    assert len(opened) == 1 and opened[0].startswith("http://127.0.0.1:")
    assert tyro.cli(inspect, args=[str(rollouts), "--no-browser"]) == 0
    assert len(opened) == 1


def test_what_is_wrong_is_said(tmp_path: Path, rollouts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file or folder"):
        inspect(tmp_path / "nothing", browser=False)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no rollouts found"):
        inspect(tmp_path / "empty", browser=False)
    with pytest.raises(ValueError, match="not 70000"):
        inspect(rollouts, port=70000, browser=False)
    for name in [name for name in sys.modules if name.split(".")[0] == "flask"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "flask", None)
    monkeypatch.delitem(sys.modules, "scpo_envs.inspect.app", raising=False)
    with pytest.raises(MissingExtraError, match=r"scpo-envs\[server\]"):
        inspect(rollouts, browser=False)
