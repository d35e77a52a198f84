"""Runs that are carried out once, whatever happens between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra train")

from scpo_envs.credit import advantages, scpo
from tests.benchmarks import benchmark
from tests.credit.helpers import group, letter_matcher, rollout

ablation = benchmark("ablation")
pytestmark = pytest.mark.usefixtures("control")


SMALL = {
    "agent.rows": 512,
    "agent.width": 8,
    "agent.hidden": 8,
    "groups.tasks": 2,
    "groups.siblings": 2,
    "groups.max_steps": 5,
    "evaluate.games": 3,
    "evaluate.splits": "[valid_unseen]",
}


def a_run(out: Path, **changes: Any) -> Any:
    settings = {"world": "alfworld", "method": "scpo", "seed": 3, "settings": ablation.METHODS["scpo"], "out": out}
    return ablation.Run(**(settings | {"env_steps": 50, "evaluate_every": 1, "start": None} | changes))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ablation.SHARED, "alfworld", SMALL)


@pytest.mark.parametrize("world", ["alfworld", "webshop"])
@pytest.mark.parametrize("method", ablation.METHODS)
def test_every_method_is_a_recipe_with_equal_seeds_and_budget(world: str, method: str, tmp_path: Path) -> None:
    run = a_run(tmp_path, world=world, method=method, settings=ablation.METHODS[method])
    recipe = Path(ablation.__file__).parents[1] / "agents" / "recipes" / f"{world}-scorer-scpo.yaml"
    config = ablation.load_config(recipe, run.overrides())
    assert (config.seed, config.update.env_steps, config.clone.episodes) == (3, 50, 0)
    assert config.advantage.estimator in (method, "scpo")
    assert config.groups.balanced


def test_a_run_is_done_once_and_goes_on_where_it_was_broken_off(tmp_path: Path, small: None) -> None:
    whole, parts = a_run(tmp_path / "whole"), a_run(tmp_path / "parts")
    ablation._train(whole)
    result = json.loads((whole.out / "result.json").read_text())
    assert result["curve"][0][0] == 0
    assert result["curve"][-1][0] >= result["budget"] == 50
    assert len(result["curve"]) == len(result["scores"]) >= 3
    assert 0 <= result["train_success"] <= 1
    assert ablation._train(whole).endswith("done before")
    for change in ({"env_steps": 51}, {"settings": {"estimator": "scpo", "alpha": 0.25}}):
        with pytest.raises(ValueError, match=r"was done with .*'budget': 50.*, not with "):
            ablation._train(a_run(whole.out, **change))

    ablation._train(a_run(parts.out, env_steps=1))  # what a run leaves that is broken off early
    (parts.out / "result.json").unlink()
    ablation._train(parts)
    assert json.loads((parts.out / "result.json").read_text()) == result


def test_the_control_deals_out_scpos_credit_to_failed_steps_of_the_group() -> None:
    groups = [
        group(rollout("ABCDE", True), rollout("AXBYY", False), rollout("CZ", False)),
        group(rollout("AB", True), rollout("AB", True)),
        group(rollout("ABXYZUVW", False), rollout("AB", True)),
    ]
    credit = advantages(groups, "scpo_random", matcher=letter_matcher).credit
    moved = 0
    for own, dealt in zip(groups, credit, strict=True):
        found = scpo(own, letter_matcher).step_credit
        failed = own.failures
        assert all(not dealt[index].any() for index in own.successes)
        assert sorted(np.concatenate([[0.0], *(dealt[index] for index in failed)])) == sorted(
            np.concatenate([[0.0], *(found[index] for index in failed)])
        )
        moved += any((dealt[index] != found[index]).any() for index in failed)
    assert moved
    again = advantages(groups[::-1], "scpo_random", matcher=letter_matcher).credit
    assert [values.tolist() for values in again[-1]] == [values.tolist() for values in credit[0]]


def test_a_method_takes_its_bases_tuned_knobs_under_its_own(tmp_path: Path) -> None:
    tuned = {"gigpo": {"settings": {"omega": 0.5, "gamma": 0.9}}, "scpo": {"settings": {"alpha": 0.25}}}
    (tmp_path / "tuned-alfworld.json").write_text(json.dumps(tuned))
    whole = {"omega": 0.5, "gamma": 0.9, "alpha": 0.25}
    assert ablation._tuned(tmp_path, "alfworld", "gigpo") == {"omega": 0.5, "gamma": 0.9}
    assert ablation._tuned(tmp_path, "alfworld", "scpo_shortest") == whole
    assert ablation._tuned(tmp_path, "alfworld", "scpo_random") == whole
    assert ablation._tuned(tmp_path, "alfworld", "rloo") == {}
    assert ablation._tuned(tmp_path, "webshop", "scpo") == {}


def test_a_grid_is_every_combination_under_a_name_of_its_own() -> None:
    choices = dict(ablation._choices({"omega": (0.5, 1.0), "gamma": (0.9,)}))
    assert choices == {
        "omega-0.5-gamma-0.9": {"omega": 0.5, "gamma": 0.9},
        "omega-1.0-gamma-0.9": {"omega": 1.0, "gamma": 0.9},
    }


def test_an_unknown_method_is_named_before_anything_is_trained(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="stage 1 has no method rloo; it has scpo, gigpo"):
        ablation.run(stage=1, out=tmp_path, methods=("rloo",))
    assert not list(tmp_path.iterdir())


def test_runs_from_scratch_are_kept_apart_from_those_with_a_warm_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[Any] = []
    monkeypatch.setattr(ablation, "_in_parallel", lambda runs, jobs: planned.extend(runs))
    monkeypatch.setattr(ablation, "_warm_start", lambda out: out / "warm-start" / "start")
    ablation.run(stage=2, out=tmp_path, seeds=1, methods=("gigpo",))
    ablation.run(stage=2, out=tmp_path, seeds=1, methods=("gigpo",), scratch=True)
    assert [(str(run.out.relative_to(tmp_path)), run.start is None) for run in planned] == [
        ("alfworld/gigpo/seed-0", False),
        ("webshop/gigpo/seed-0", True),
        ("alfworld-scratch/gigpo/seed-0", True),
        ("webshop/gigpo/seed-0", True),
    ]
