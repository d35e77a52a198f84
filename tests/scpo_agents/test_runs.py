"""Runs read back, seeds put together, and curves on a common range."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scpo_agents.runs import RunError, band, differences, final_success, find_runs, group_runs, running_mean
from tests.scpo_agents.run_folders import write_run


def test_seeds_of_one_setting_are_put_together_and_named_by_what_differs(tmp_path: Path) -> None:
    for seed in (0, 1):
        write_run(tmp_path / f"a{seed}", seed=seed)
        write_run(tmp_path / f"b{seed}", seed=seed, advantage__estimator="gigpo", update__lr=0.002)
    settings = group_runs(find_runs([tmp_path]))
    assert {setting.label: len(setting.runs) for setting in settings} == {
        "estimator=scpo": 2,
        "estimator=gigpo": 2,
    }
    assert differences(settings) == {
        "estimator=scpo": {"advantage.estimator": "scpo", "update.lr": "0.001"},
        "estimator=gigpo": {"advantage.estimator": "gigpo", "update.lr": "0.002"},
    }


def test_a_name_has_as_many_settings_as_it_takes(tmp_path: Path) -> None:
    for estimator in ("scpo", "gigpo"):
        for lr in (0.1, 0.2):
            write_run(tmp_path / f"{estimator}{lr}", seed=0, advantage__estimator=estimator, update__lr=lr)
    labels = [setting.label for setting in group_runs(find_runs([tmp_path]))]
    assert sorted(labels) == [
        "estimator=gigpo, lr=0.1",
        "estimator=gigpo, lr=0.2",
        "estimator=scpo, lr=0.1",
        "estimator=scpo, lr=0.2",
    ]


def test_a_single_setting_is_called_by_its_folder(tmp_path: Path) -> None:
    (setting,) = group_runs(find_runs([write_run(tmp_path / "mine", seed=0)]))
    assert setting.label == "mine"


def test_a_run_without_a_checkpoint_stands_for_itself(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (write_run(tmp_path / name, seed=0) / "last" / "config.json").unlink()
    assert [setting.label for setting in group_runs(find_runs([tmp_path]))] == ["x", "y"]


def test_a_run_named_twice_is_read_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", seed=0)
    assert len(find_runs([run, tmp_path, run])) == 1


def test_below_a_folder_runs_that_have_only_just_begun_are_left_out(tmp_path: Path) -> None:
    write_run(tmp_path / "a", seed=0)
    (write_run(tmp_path / "b", seed=1) / "metrics.jsonl").write_text("")
    assert [run.folder.name for run in find_runs([tmp_path])] == ["a"]


def test_a_band_covers_what_all_seeds_have_reached(tmp_path: Path) -> None:
    runs = find_runs([write_run(tmp_path / "0", seed=0, iterations=6), write_run(tmp_path / "9", seed=9, iterations=3)])
    found = band(runs, "success")
    assert found is not None and found.runs == 2
    assert found.x[0] == 109 and found.x[-1] == 327  # the later start, the earlier end
    at = list(found.x).index(109)
    assert found.low[at] == pytest.approx(0.109) and found.high[at] == 1.0
    by_iteration = band(runs, "success", x="iteration")
    assert by_iteration is not None
    assert by_iteration.x.tolist() == [1, 2, 3]
    assert by_iteration.mean == pytest.approx([(0.1 + 1.0) / 2, (0.2 + 1.1) / 2, (0.3 + 1.2) / 2])


def test_a_measurement_that_nobody_made_has_no_band(tmp_path: Path) -> None:
    assert band(find_runs([write_run(tmp_path / "0", seed=0)]), "update/kl") is None


def test_success_at_the_end_is_the_last_evaluations_or_else_the_last_iterations(tmp_path: Path) -> None:
    (evaluated,) = find_runs([write_run(tmp_path / "a", seed=0)])
    assert final_success(evaluated) == pytest.approx({"heat": 0.6, "look": 0.6, "all": 0.45})
    (trained,) = find_runs([write_run(tmp_path / "b", seed=0, evaluate=False)])
    assert final_success(trained, last=2) == pytest.approx({"heat": 0.55, "look": 0.55, "all": 0.55})
    assert list(final_success(trained)) == ["heat", "look", "all"]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(1, 40))
def test_a_running_mean_lies_between_the_extremes_and_one_changes_nothing(values: list[float], count: int) -> None:
    given_values = np.array(values)
    mean = running_mean(given_values, count)
    assert mean.shape == given_values.shape
    assert (mean >= given_values.min() - 1e-6).all() and (mean <= given_values.max() + 1e-6).all()
    assert running_mean(given_values, 1) == pytest.approx(given_values, abs=1e-6)


def test_what_is_no_run_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        find_runs([tmp_path / "nowhere"])
    with pytest.raises(RunError, match="holds no run"):
        find_runs([tmp_path])
    run = write_run(tmp_path / "a", seed=0)
    for damage in ("[", "[]", "[" * 200_000):
        (run / "last" / "config.json").write_text(damage)
        with pytest.raises(RunError, match=r"config\.json is damaged"):
            find_runs([run])
    (run / "metrics.jsonl").write_text("")
    with pytest.raises(RunError, match="has measured nothing yet"):
        find_runs([run])


def test_a_last_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", seed=0)
    with open(run / "metrics.jsonl", "a") as file:
        file.write('{"iteration": 7, "succ')
    assert len(find_runs([run])[0].iterations) == 6


def test_a_mean_of_no_values_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        band(find_runs([write_run(tmp_path / "a", seed=0)]), "success", smooth=0)
