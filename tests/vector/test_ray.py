# ruff: noqa: E402 (the library is imported once it is known to be there)
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow
ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")

from ray.cluster_utils import Cluster

from scpo_envs.errors import UnknownGameError, WorkerLostError
from scpo_envs.testing import check_workers
from scpo_envs.vector import GroupVectorEnv
from tests.toy import PerilousEnv, make_perilous, make_toy
from tests.vector.play import make_expert_toy, play_out, transcript

INIT = {"num_cpus": 2, "include_dashboard": False, "log_to_driver": False}
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def local_cluster() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init("local", **INIT)
        yield
        ray.shutdown()


def perilous(**kwargs: Any) -> GroupVectorEnv:
    """Three groups of two: groups 0 and 1 on the first worker, group 2 on the second."""
    return GroupVectorEnv(make_perilous, 6, 2, workers="ray", num_workers=2, **kwargs)


def workers(venv: GroupVectorEnv) -> Any:
    return venv._workers


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("waited 30 s in vain")


def wait_for_the_end_of(pid: int) -> None:
    wait_until(lambda: not runs(pid))


# The same as other workers


@pytest.mark.parametrize("num_workers", [1, 2])
def test_transcripts_are_those_of_serial_and_process_workers(num_workers: int) -> None:
    def play(kind: Any, **kwargs: Any) -> list[Any]:
        venv = GroupVectorEnv(make_expert_toy, num_envs=12, group_size=3, workers=kind, **kwargs)
        lines = transcript(venv, seed=21) + transcript(venv, seed=4)
        venv.close()
        return lines

    serial = play("serial")
    assert play("ray", num_workers=num_workers) == serial
    assert play("process", num_workers=num_workers) == serial


def test_same_step_autoreset_and_cover_are_those_of_serial_workers() -> None:
    def play(**kwargs: Any) -> list[Any]:
        venv = GroupVectorEnv(make_toy, num_envs=5, sampler="cover", autoreset_mode="SameStep", **kwargs)
        venv.reset(seed=0)
        lines = []
        while venv.running.any():
            observations, _, _, _, info = venv.step(["open vault"] * 5)
            lines.append((observations, list(info["rollouts"]), info["exhausted"].tolist()))
        venv.close()
        return lines

    assert play(workers="ray", num_workers=2) == play()


def test_groups_stay_whole_and_a_step_is_one_message_to_each_worker_concerned() -> None:
    venv = perilous()
    assert workers(venv)._shares == [range(0, 2), range(2, 3)]
    sent: list[list[int]] = []
    exchange = workers(venv)._exchange
    workers(venv)._exchange = lambda messages: sent.append(sorted(messages)) or exchange(messages)
    venv.reset(seed=0)
    venv.step(["open vault"] * 4 + ["look"] * 2)  # groups 0 and 1 have ended
    venv.step(["look"] * 6)
    assert sent == [[0, 1], [0, 1], [1]]
    venv.close()


def test_text_and_messages_of_any_size_travel_and_a_lambda_is_a_factory() -> None:
    scale = 3.5
    venv = GroupVectorEnv(lambda: make_toy(reward_scale=scale), num_envs=2, workers="ray", num_workers=1)
    assert venv.get_attr("success_reward") == (3.5, 3.5)
    venv.reset(seed=0)
    huge = "\ud800前" * 500_000
    venv.set_attr("tag", [huge, "🗝"])
    assert venv.get_attr("tag") == (huge, "🗝")
    _, _, _, _, info = venv.step([huge, "look"])
    assert info["valid_action"].tolist() == [False, True]
    venv.close()


def test_an_error_travels_with_traceback_and_game_and_is_no_loss() -> None:
    venv = perilous()
    _, info = venv.reset(seed=1)
    with pytest.raises(Exception, match="the floor gave way") as caught:
        venv.step(["raise", *["look"] * 5])
    assert info["game"][0] in "".join(caught.value.__notes__)
    assert "in step" in str(caught.value.__cause__)
    with pytest.raises(UnknownGameError, match="no game 'nowhere'"):
        venv.reset(options={"game": "nowhere"})
    venv.reset(seed=1)
    assert len(play_out_looking(venv)) == 3
    venv.close()


def play_out_looking(venv: GroupVectorEnv) -> list[Any]:
    groups: list[Any] = []
    while venv.running.any():
        _, _, _, _, info = venv.step(["look"] * venv.num_envs)
        groups += list(info["rollouts"][info["_rollouts"]])
    return groups


def test_an_environment_that_cannot_be_made_is_an_error_of_the_constructor() -> None:
    def broken() -> PerilousEnv:
        raise FileNotFoundError("no such house")

    with pytest.raises(FileNotFoundError, match="no such house"):
        GroupVectorEnv(broken, 2, workers="ray", num_workers=2)


def test_it_conforms() -> None:
    check_workers(make_expert_toy, ["process", "ray"])
    venv = GroupVectorEnv(make_expert_toy, 8, 4, workers="ray")
    assert len(workers(venv)._shares) == 2  # by itself one for each CPU of the cluster, at most one a group
    observations, info = venv.reset(seed=0)
    assert len(play_out(venv, observations, info)) == 2
    venv.close()


# Losses


@pytest.mark.parametrize("how", ["dies by itself", "is killed"])
def test_raise_names_the_games_and_a_reset_recovers(how: str) -> None:
    venv = perilous()
    _, info = venv.reset(seed=4)
    before = workers(venv).pids
    actions = ["look"] * 6
    if how == "is killed":
        os.kill(before[0], signal.SIGKILL)
    else:
        actions[1] = "die"
    with pytest.raises(WorkerLostError, match=rf"Ray worker {before[0]} on node .* was lost") as caught:
        venv.step(actions)
    assert f"group 0 in game {info['game'][0]!r}, group 1 in game {info['game'][2]!r}" in str(caught.value)
    assert "group 2" not in str(caught.value)
    again, _ = venv.reset(seed=4)
    fresh, _ = GroupVectorEnv(make_perilous, 6, 2).reset(seed=4)
    assert again == fresh
    after = workers(venv).pids
    assert after[0] != before[0] and after[1] == before[1]
    venv.close()


def test_restart_begins_the_same_episodes_anew_in_mid_group() -> None:
    venv = perilous(on_worker_loss="restart")
    first, info = venv.reset(seed=6)
    venv.step(["look"] * 6)
    os.kill(workers(venv).pids[0], signal.SIGKILL)
    observations, rewards, terminated, truncated, after = venv.step(["look"] * 6)
    assert after["restarted"].tolist() == [True] * 4 + [False] * 2
    assert observations[:4] == first[:4]
    assert after["game"].tolist() == info["game"].tolist()
    assert not (terminated | truncated).any() and not rewards.any()
    groups = play_out_looking(venv)
    assert sorted(len(group.rollouts[0]) for group in groups) == [12, 12, 12]
    venv.close()


def test_drop_ends_the_groups_and_a_reset_brings_them_back() -> None:
    venv = perilous(on_worker_loss="drop")
    venv.reset(seed=6)
    os.kill(workers(venv).pids[1], signal.SIGKILL)
    _, _, _, truncated, info = venv.step(["look"] * 6)
    assert info["dropped"].tolist() == truncated.tolist() == [False] * 4 + [True] * 2
    assert not info["_rollouts"].any()
    venv.step(["look"] * 6)
    venv.reset(options={"reset_mask": info["dropped"]})
    assert venv.running.all()
    venv.close()


def test_a_hanging_worker_counts_as_lost_and_is_killed() -> None:
    venv = perilous(worker_timeout=5.0, on_worker_loss="drop")
    venv.reset(seed=0)
    pid = workers(venv).pids[1]
    _, _, _, _, info = venv.step([*["look"] * 4, "hang", "look"])
    assert info["dropped"].tolist() == [False] * 4 + [True] * 2
    wait_for_the_end_of(pid)
    venv.reset(seed=1)
    assert venv.running.all()
    venv.close()


def test_workers_that_the_cluster_has_no_room_for_are_an_error_not_a_hang() -> None:
    with pytest.raises(WorkerLostError, match=r"did not start within 3.0 s .* asks for .*9.*the cluster has"):
        GroupVectorEnv(
            make_toy, 2, workers="ray", num_workers=2, worker_timeout=3.0, worker_options={"resources": {"gold": 9}}
        )


# Ends


def test_close_ends_every_worker_and_may_be_called_again() -> None:
    venv = perilous()
    venv.reset(seed=0)
    pids = workers(venv).pids
    venv.close()
    venv.close()
    for pid in pids:
        wait_for_the_end_of(pid)


def test_an_env_that_is_forgotten_ends_its_workers() -> None:
    venv = perilous()
    pids = workers(venv).pids
    del venv
    for pid in pids:
        wait_for_the_end_of(pid)


# Clusters


def test_a_program_that_is_not_connected_gets_a_cluster_of_its_own() -> None:
    """In a program of its own: no telemetry, no dashboard, and an end without help."""
    code = (
        "import os, ray\n"
        "from scpo_envs.vector import GroupVectorEnv\n"
        "from tests.toy import make_toy\n"
        "options = {'init': {'num_cpus': 1, 'log_to_driver': False}, 'num_cpus': 0.5}\n"
        "venv = GroupVectorEnv(make_toy, 4, 2, workers='ray', worker_options=options)\n"
        "print(len(venv._workers.pids), 'RAY_USAGE_STATS_ENABLED' in os.environ)\n"
        "venv.reset(seed=0)\n"
        "print(*venv._workers.pids)\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    first, second = done.stdout.splitlines()[-2:]
    assert first == "2 False"
    for pid in second.split():
        wait_for_the_end_of(int(pid))


def test_options_for_other_workers_are_refused() -> None:
    with pytest.raises(ValueError, match="worker_options are for workers='ray', not 'serial'"):
        GroupVectorEnv(make_toy, 2, worker_options={"num_cpus": 1})


def test_workers_spread_over_the_nodes_of_a_cluster_and_a_lost_node_is_survived() -> None:
    """Two nodes beside the head, each with room for one worker; one of them vanishes in mid-group."""
    ray.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        node = cluster.add_node(num_cpus=1, resources={"env": 1})
        cluster.add_node(num_cpus=1, resources={"env": 1})
        cluster.wait_for_nodes()
        options = {"address": cluster.address, "resources": {"env": 1}, "init": {"log_to_driver": False}}
        venv = perilous(worker_options=options, on_worker_loss="restart")
        first, _ = venv.reset(seed=2)
        venv.step(["look"] * 6)
        cluster.add_node(num_cpus=1, resources={"env": 1})  # where the lost worker's successor will find room
        before = workers(venv).pids
        cluster.remove_node(node, allow_graceful=False)
        wait_until(lambda: not all(map(runs, before)))  # a worker notices by itself that its node is gone
        observations, _, _, _, info = venv.step(["look"] * 6)
        lost = info["restarted"]
        assert lost.any() and not lost.all()
        assert [observations[index] for index in np.flatnonzero(lost)] == [first[i] for i in np.flatnonzero(lost)]
        assert len(play_out_looking(venv)) == 3
        venv.close()
    finally:
        ray.shutdown()
        cluster.shutdown()
