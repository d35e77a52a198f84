"""Several processes train what one would."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs torch: pip install 'scpo-envs[train]'")

from scpo_agents.logs import METRICS, read_metrics  # noqa: E402
from scpo_agents.processes import Processes, buckets  # noqa: E402

RECIPE = """
clone: {episodes: 12, epochs: 4}
groups: {tasks: 5, siblings: 3, max_steps: 15}
update: {iterations: 3, minibatch: 40, epochs: 2, kl: 0.1, average: rollout}
evaluate: {splits: [valid_seen], games: 7, every: 2}
save_every: 1
"""


def test_alone_everything_is_one_s_own() -> None:
    alone = Processes()
    assert (alone.rank, alone.count, alone.first) == (0, 1, True)
    assert list(alone.share(5)) == [0, 1, 2, 3, 4]
    assert alone.gather("x") == ["x"]
    alone.wait()
    alone.close()


@pytest.mark.parametrize("total", [0, 1, 5, 16])
def test_shares_follow_one_another_and_leave_nothing_out(total: int) -> None:
    fellows = [Processes() for _ in range(3)]
    for rank, fellow in enumerate(fellows):
        fellow.rank, fellow.count = rank, 3
    shares = [fellow.share(total) for fellow in fellows]
    assert [index for share in shares for index in share] == list(range(total))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_gradients_travel_in_buckets_that_leave_nothing_out() -> None:
    sizes = [3, 4, 9, 1, 1, 1, 20]
    dealt = list(buckets(sizes, 8))
    assert dealt == [[0, 1], [2], [3, 4, 5], [6]]
    assert list(buckets([], 8)) == []


@pytest.mark.slow
def test_two_processes_have_the_losses_of_one(tmp_path: Path) -> None:
    alone, together = measured_alone_and_together(RECIPE, tmp_path)
    assert [line["iteration"] for line in alone] == [0, 1, 2, 2, 3, 3]
    compare(alone, together)


def measured_alone_and_together(recipe: str, folder: Path) -> list[list[dict[str, float]]]:
    """What a recipe's run measures in one process, and in two."""
    pytest.importorskip("accelerate", reason="several processes need accelerate: pip install 'scpo-envs[train]'")
    path = folder / "recipe.yaml"
    path.write_text(recipe)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    one = [sys.executable, "-m", "scpo_envs.cli"]
    launch = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--main_process_port", port]
    two = [sys.executable, "-m", *launch, "-m", "scpo_envs.cli"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    lines = []
    for name, start in (("one", one), ("two", two)):
        out = folder / name
        done = subprocess.run(
            [*start, "train", str(path), f"out={out}"], env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr[-2000:]
        lines.append(list(read_metrics(out / METRICS)))
    return lines


def compare(alone: list[dict[str, float]], together: list[dict[str, float]], rel: float = 1e-3) -> None:
    for one, two in zip(alone, together, strict=True):
        assert one.keys() == two.keys()
        for name, value in one.items():
            if not name.startswith("time/"):
                assert two[name] == pytest.approx(value, rel=rel, abs=1e-6), (one["iteration"], name)
