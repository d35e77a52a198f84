"""Figures: what is on them, and what is refused. Drawing needs the extra `plot`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scpo_agents.plots import plot_runs
from scpo_agents.runs import find_runs, group_runs
from scpo_envs import cli
from tests.scpo_agents.run_folders import write_run

slow = pytest.mark.slow


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for seed in (0, 1):
        write_run(tmp_path / "runs" / f"a{seed}", seed=seed)
        write_run(tmp_path / "runs" / f"b{seed}", seed=seed, advantage__estimator="gigpo")
    return tmp_path / "runs"


def texts(path: Path) -> str:
    return "\n".join(re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text()))


@slow
def test_a_figure_has_every_panel_and_says_what_it_shows(runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = plot_runs(group_runs(find_runs([runs])), tmp_path / "all.svg", smooth=2)
    found = texts(out)
    for title in (
        "success while training",
        "environment steps; a point is the mean of 2 iterations",
        "success in seen",
        "success in unseen",
        "success at the end, last evaluation, all splits",
        "groups with both outcomes",
        "credited steps of failed rollouts beside a success",
        "credit of such a rollout",
        "time of an iteration, by phase",
        "estimator=gigpo (mean and range of 2 seeds)",
        "environment steps",
        "heat",
    ):
        assert title in found, title


@slow
def test_what_was_not_measured_has_no_panel(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = write_run(tmp_path / "a", seed=0, evaluate=False)
    lines = [line for line in (run / "metrics.jsonl").read_text().splitlines()]
    (run / "metrics.jsonl").write_text("\n".join(re.sub(r'"(credit|time)/\w+": [\d.]+,? ?', "", one) for one in lines))
    (run / "metrics.jsonl").write_text((run / "metrics.jsonl").read_text().replace(", }", "}") + "\n")
    found = texts(plot_runs(group_runs(find_runs([run])), tmp_path / "a.svg"))
    assert "success at the end, last iterations" in found
    assert "0.2" not in found.split()  # the place without a panel has no axes
    assert "phase" not in found and "credited" not in found and "success in" not in found


@slow
def test_a_run_that_has_only_begun_stands_beside_others(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_run(tmp_path / "a", seed=0)
    write_run(tmp_path / "b", seed=0, iterations=0, update__lr=0.5)
    found = texts(plot_runs(group_runs(find_runs([tmp_path])), tmp_path / "a.svg"))
    assert "lr=0.001" in found and "lr=0.5" in found and "time of an iteration" in found


@slow
@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_the_suffix_decides_the_format(runs: Path, suffix: str, magic: bytes) -> None:
    pytest.importorskip("matplotlib")
    out = runs / "deep" / f"figure{suffix}"
    assert cli.main(["plot", str(runs), "--out", str(out), "--x", "iteration"]) == 0
    assert out.read_bytes().startswith(magic)


@slow
def test_equal_runs_make_equal_files(runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    settings = group_runs(find_runs([runs]))
    first, second = (plot_runs(settings, tmp_path / name).read_bytes() for name in ("1.svg", "2.svg"))
    assert first == second


@slow
def test_more_settings_than_colours_are_told_apart(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for index in range(9):
        write_run(tmp_path / f"run{index}", seed=0, update__lr=index / 1000)
    found = texts(plot_runs(group_runs(find_runs([tmp_path])), tmp_path / "a.svg"))
    assert all(f"lr={index / 1000}" in found for index in range(9))


def test_another_format_is_refused_before_anything_is_drawn(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.png, \.svg, \.pdf, not as 'figure\.gif'"):
        plot_runs(group_runs(find_runs([runs])), tmp_path / "figure.gif")


def test_the_command_names_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["plot", str(tmp_path / "nowhere")]) == 1
    assert "nowhere" in capsys.readouterr().err
    assert cli.main(["plot"]) == 1
    assert "name at least one run" in capsys.readouterr().err
