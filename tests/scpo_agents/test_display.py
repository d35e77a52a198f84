"""What a run shows."""

from __future__ import annotations

import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from scpo_agents.display import Display, chart, level, sparkline
from tests.scpo_agents.conftest import small_config

NUMBERS = {
    "iteration": 2,
    "env_steps": 4321,
    "success": 0.5,
    "length": 12.5,
    "groups/mixed": 0.25,
    "update/entropy": 1.5,
    "time/act": 1.0,
    "time/env": 0.5,
    "time/credit": 0.25,
    "time/update": 2.0,
    "time/other": 0.25,
    "time/total": 4.0,
    "time/steps_per_second": 1000.0,
}


def shown(terminal: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=120)
    with Display(small_config(Path("runs/demo")), console) as display:
        display.note("[bold]hello[/]")
        display.epoch(0, 1.25)
        display.evaluation({"iteration": 0, "eval/all/success": 0.125})
        display.iteration(NUMBERS)
        with display.busy("evaluating"):
            pass
        display.end()
    return file.getvalue()


def test_without_a_terminal_each_iteration_is_a_line() -> None:
    lines = shown(terminal=False).splitlines()
    assert lines[:3] == [
        "[bold]hello[/]",
        "cloning, epoch 1 of 5: 1.250 nats a token",
        "evaluation after iteration 0: success all 0.125",
    ]
    assert lines[4] == (
        "iterations took 4 s: acting 25.0%, environments 12.5%, credit 6.2%, updates 50.0%, the trainer itself 6.2%"
    )
    assert lines[3] == "iteration 2 of 3: success 0.50 ██████████·········· 4,321 env steps, 4.0 s"


def test_in_a_terminal_curves_and_pace_are_live() -> None:
    text = shown(terminal=True)
    for part in (
        "runs/demo",
        "scorer, scpo, 4 x 3",
        "2/3",
        "█████",
        "4,321 env steps, 1,000 a second",
        "acting 25%",
        "the trainer itself 6%",
    ):
        assert part in text


@given(st.lists(st.floats(0, 1), max_size=200), st.integers(1, 60))
def test_a_sparkline_fits_its_width(values: list[float], width: int) -> None:
    line = sparkline(values, width)
    assert len(line) == min(len(values), width)
    assert set(line) <= set("▁▂▃▄▅▆▇█")


def test_a_sparkline_rises_with_its_values() -> None:
    assert sparkline([0, 0.5, 1]) == "▁▅█"
    assert sparkline([0.0] * 50 + [1.0] * 50, width=2) == "▁█"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200), st.integers(0, 60), st.integers(1, 8))
def test_a_chart_fits_its_place(values: list[float], width: int, height: int) -> None:
    rows = chart(values, width, height)
    assert [len(row) for row in rows] == [width] * height
    assert set("".join(rows)) <= set(" ▁▂▃▄▅▆▇█")


def test_a_chart_stacks_its_rows() -> None:
    assert chart([0, 0.25, 0.5, 0.75, 1], 5, 2) == ["   ▄█", " ▄███"]
    assert chart([0, 1], 6, 1) == ["   ███"]
    assert chart([], 6, 2) == ["", ""]


def test_a_level_is_never_longer_than_its_width() -> None:
    assert level(0.5, 4) == "██··"
    assert level(-1, 2) == "··"
    assert level(2, 2) == "██"
