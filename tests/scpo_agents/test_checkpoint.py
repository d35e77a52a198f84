"""Checkpoints: whole or not at all, and refused with a reason where they do not fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scpo_agents.conftest import small_config

torch = pytest.importorskip("torch", reason="checkpoints need torch: pip install 'scpo-envs[train]'")

from scpo_agents.agent import agent_kind  # noqa: E402
from scpo_agents.checkpoint import (  # noqa: E402
    CheckpointError,
    check_resumable,
    clear_run,
    find_checkpoint,
    load_agent,
    load_config_of,
    load_state,
    load_weights,
    save_checkpoint,
)
from scpo_agents.recipe import agent_settings  # noqa: E402


@pytest.fixture
def config(tmp_path: Path) -> Any:
    return small_config(tmp_path)


@pytest.fixture
def agent(config: Any) -> Any:
    return agent_kind("scorer").make(agent_settings(config), seed=0)


def test_weights_settings_and_state_come_back(tmp_path: Path, config: Any, agent: Any) -> None:
    save_checkpoint(tmp_path / "last", agent, config, {"progress": {"iteration": 3}})
    again = load_agent(tmp_path / "last")
    assert torch.equal(again.module.embedding.weight, agent.module.embedding.weight)
    assert load_config_of(tmp_path / "last") == config
    assert load_state(tmp_path / "last") == {"progress": {"iteration": 3}}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last"]


def test_a_failure_while_writing_leaves_the_old_one(tmp_path: Path, config: Any, agent: Any) -> None:
    save_checkpoint(tmp_path / "last", agent, config)
    before = agent.module.embedding.weight.detach().clone()
    with torch.no_grad():
        agent.module.embedding.weight.add_(1)
    with pytest.raises(Exception, match="pickle"):
        save_checkpoint(tmp_path / "last", agent, config, {"no": lambda: None})
    assert torch.equal(load_agent(tmp_path / "last").module.embedding.weight, before)


def test_killed_between_two_renamings_the_old_one_is_found(tmp_path: Path, config: Any, agent: Any) -> None:
    save_checkpoint(tmp_path / "last", agent, config)
    (tmp_path / "last").rename(tmp_path / "last.old")
    assert find_checkpoint(tmp_path / "last") == tmp_path / "last.old"
    load_agent(tmp_path / "last")
    save_checkpoint(tmp_path / "last", agent, config)
    assert find_checkpoint(tmp_path / "last") == tmp_path / "last"


@pytest.mark.parametrize("name", ["config.json", "scorer.pt", "trainer.pt"])
@pytest.mark.parametrize("content", [b"", b"{}x", b"PK\x03\x04 damaged", b"[" * 200_000])
def test_damage_is_told_with_the_file(tmp_path: Path, config: Any, agent: Any, name: str, content: bytes) -> None:
    save_checkpoint(tmp_path / "last", agent, config, {"progress": {}})
    (tmp_path / "last" / name).write_bytes(content)
    with pytest.raises(CheckpointError, match="last"):
        load_agent(tmp_path / "last")
        load_state(tmp_path / "last")


def test_what_is_missing_or_of_another_size_is_told(tmp_path: Path, config: Any, agent: Any) -> None:
    with pytest.raises(CheckpointError, match="is no checkpoint"):
        load_agent(tmp_path / "nothing")
    save_checkpoint(tmp_path / "best", agent, config)
    with pytest.raises(CheckpointError, match="no state to go on from"):
        load_state(tmp_path / "best")
    other = agent_kind("scorer").make(agent_settings(small_config(tmp_path, agent={"width": 9})), seed=0)
    with pytest.raises(CheckpointError, match="does not fit"):
        load_weights(tmp_path / "best", other)


def test_an_agent_loads_where_its_environment_is_not_known(tmp_path: Path, config: Any, agent: Any) -> None:
    save_checkpoint(tmp_path / "best", agent, config)
    path = tmp_path / "best" / "config.json"
    tree = json.loads(path.read_text())
    tree["env"]["id"] = "Elsewhere-v7"
    path.write_text(json.dumps(tree))
    assert load_agent(tmp_path / "best").config == agent.config


def test_only_settings_that_change_nothing_may_differ_when_a_run_goes_on(
    tmp_path: Path, config: Any, agent: Any
) -> None:
    save_checkpoint(tmp_path / "last", agent, config, {})
    check_resumable(small_config(tmp_path, update={"iterations": 99}, evaluate={"every": 1}, threads=2))
    with pytest.raises(CheckpointError, match=r"update\.lr was 0\.01, not 0\.5"):
        check_resumable(small_config(tmp_path, update={"lr": 0.5}))
    with pytest.raises(CheckpointError, match=r"env\.expert was None, not True"):
        check_resumable(small_config(tmp_path, env={"expert": True}))


def test_clearing_a_run_removes_what_runs_write_and_nothing_else(tmp_path: Path, config: Any, agent: Any) -> None:
    for name in ("start", "last", "best.old"):
        save_checkpoint(tmp_path / name, agent, config)
    (tmp_path / "metrics.jsonl").write_text("{}\n")
    (tmp_path / "thesis.tex").write_text("mine")
    clear_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
