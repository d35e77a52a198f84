from __future__ import annotations

import json
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from scpo_envs.inspect.app import create_app
from scpo_envs.inspect.runs import Library
from scpo_envs.inspect.server import Server
from scpo_envs.rollouts import write_groups
from tests.inspect.groups import many, worked, write


def test_it_listens_on_this_machine_and_follows_what_is_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", worked())
    library = Library(path)
    server = Server(create_app(library), library)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert server.url.startswith("http://127.0.0.1:")

    def revision() -> int:
        with urllib.request.urlopen(f"{server.url}state") as answer:
            return int(json.load(answer)["revision"])

    for more in (0, 2):
        before = revision() if more else -1
        write_groups(path, many(more), append=True)
        while revision() == before or library.progress < 1:
            time.sleep(0.02)
    assert next(iter(library.runs.values())).groups == 3
    server.close()
    thread.join(10)
    assert not thread.is_alive()


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    library = Library(write(tmp_path / "a.jsonl", worked()))
    first = Server(create_app(library), library)
    port = int(first.url.rsplit(":", 1)[1].strip("/"))
    with pytest.raises(OSError, match=f"port {port}: .*in use.*--port 0"):
        Server(create_app(library), library, port)
    with pytest.raises(ValueError, match="between 0 and 65535, not 99999"):
        Server(create_app(library), library, 99999)
    first.close()
    first.run()
    first.close()  # once more, when all is closed
