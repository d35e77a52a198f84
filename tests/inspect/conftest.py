from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from scpo_envs.inspect.app import create_app
from scpo_envs.inspect.runs import Library, Run
from tests.inspect.groups import hostile, many, shaped, worked, write

Open = Callable[..., "Inspected"]


class Inspected:
    """A library and a client of its application."""

    def __init__(self, path: Path) -> None:
        self.served = Library(path)
        self.served.refresh()
        self.client: FlaskClient = create_app(self.served).test_client()

    @property
    def run(self) -> Run:
        return next(iter(self.served.runs.values()))

    def place(self, line: int = 1, file: int = 0) -> str:
        """The address of a group."""
        return f"/runs/{self.run.id}/groups/{list(self.run.files)[file]}/{line}"

    def groups(self, **arguments: Any) -> Any:
        return self.client.get(f"/runs/{self.run.id}/groups", query_string=arguments)


@pytest.fixture
def worked_file(tmp_path: Path) -> Inspected:
    return Inspected(write(tmp_path / "worked.jsonl", shaped(worked(task_type="heat"))))


@pytest.fixture
def many_groups(tmp_path: Path) -> Inspected:
    return Inspected(write(tmp_path / "many.jsonl", *many(120)))


@pytest.fixture
def hostile_file(tmp_path: Path) -> Inspected:
    return Inspected(write(tmp_path / "hostile.jsonl", hostile()))


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run as the trainer leaves it, with groups of two iterations."""
    out = tmp_path / "runs" / "mine"
    for iteration in (10, 20):
        write(out / "rollouts" / f"{iteration:06}.jsonl", *many(5))
    lines = [{"iteration": i, "env_steps": 40 * i, "success": i / 40, "time/total": 1.5} for i in range(1, 21)]
    lines += [{"iteration": 20, "env_steps": 800, "eval/valid/success": 0.5}]
    (out / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (out / "last").mkdir()
    advantage = {
        "estimator": "scpo",
        "alpha": 0.25,
        "omega": 0.5,
        "matcher": "lexical",
        "lam": 0.7,
        "order": "chronological",
    }
    (out / "last" / "config.json").write_text(json.dumps({"seed": 3, "advantage": advantage}))
    return out
