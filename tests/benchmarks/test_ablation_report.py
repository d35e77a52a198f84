"""What complete runs amount to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks import benchmark

ablation_report = benchmark("ablation_report")
shares = st.lists(st.floats(0, 1), min_size=2, max_size=12)


def a_result(method: str, seed: int, curve: list[list[float]], train: float = 0.5) -> dict[str, Any]:
    return {
        "world": "alfworld",
        "method": method,
        "seed": seed,
        "budget": 1000,
        "curve": curve,
        "kinds": {"pick_two": curve[-1][1]},
        "train_success": train,
    }


def write(out: Path, *results: dict[str, Any]) -> None:
    for result in results:
        path = out / "alfworld" / result["method"] / f"seed-{result['seed']}" / "result.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(result))


def test_curves_are_compared_at_equal_numbers_of_steps() -> None:
    grid = np.array([0.0, 500.0, 1000.0])
    assert ablation_report.on_grid({"curve": [[0, 0.0], [1000, 1.0]]}, grid).tolist() == [0, 0.5, 1]
    # evaluations come after whole iterations, which overshoot the budget
    assert ablation_report.on_grid({"curve": [[0, 0.2], [800, 0.4], [1200, 0.8]]}, grid)[-1] == pytest.approx(0.6)


def test_the_interval_is_students() -> None:
    low, high = ablation_report.interval(np.array([1.0, 2.0, 3.0, 4.0]))
    assert (low, high) == pytest.approx((0.4457, 4.5543), abs=1e-3)  # 2.5 -+ 3.182 * 1.291 / 2


@given(shares)
def test_the_interval_lies_around_the_mean(values: list[float]) -> None:
    own = np.array(values)
    low, high = ablation_report.interval(own)
    assert low <= own.mean() <= high
    assert high - low == pytest.approx(2 * (high - own.mean()))


def test_one_run_has_no_interval() -> None:
    assert all(np.isnan(ablation_report.interval(np.array([0.5]))))


def test_differences_are_paired_by_seed_where_both_methods_have_it() -> None:
    own, others = {2: 0.9, 0: 0.5, 7: 1.0}, {0: 0.25, 1: 0.0, 2: 0.5}
    assert ablation_report.paired(own, others) == pytest.approx([0.25, 0.4])
    assert len(ablation_report.paired(own, {})) == 0


@given(shares, st.floats(-0.5, 0.5))
def test_what_seeds_share_is_no_part_of_a_paired_difference(values: list[float], shift: float) -> None:
    own = {seed: value + shift for seed, value in enumerate(values)}
    low, high = ablation_report.interval(ablation_report.paired(own, dict(enumerate(values))))
    assert low == pytest.approx(shift, abs=1e-9)
    assert high == pytest.approx(shift, abs=1e-9)


def test_the_report_ranks_by_area_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        tmp_path,
        *(a_result("gigpo", seed, [[0, 0.0], [1000, 0.5]]) for seed in range(3)),
        *(a_result("scpo", seed, [[0, 0.0], [1000, 0.75 + seed / 100]], train=0.625) for seed in range(2)),
    )
    svg = tmp_path / "curves.svg"
    assert ablation_report.report(out=tmp_path, against="gigpo", svg=svg) == 0
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("| ")
    ]
    assert rows[1] == ["scpo", "2", "0.755", "0.691 to 0.819", "0.378", "0.346 to 0.409", "+0.128", "+0.096 to +0.159"]
    assert rows[2] == ["gigpo", "3", "0.500", "0.500 to 0.500", "0.250", "0.250 to 0.250", "", ""]
    assert ["scpo", "0.625", "0.625 to 0.625", "+0.125", "+0.125 to +0.125"] in rows
    assert ["method", "pick two"] in rows
    drawn = ElementTree.fromstring(svg.read_text())
    labels = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "scpo 0.76 (2 runs)" in labels or "scpo 0.75 (2 runs)" in labels
    assert "gigpo 0.50 (3 runs)" in labels
    assert "0.4k" in labels

    ablation_report.report(out=tmp_path, methods=("gigpo",))
    assert "scpo" not in capsys.readouterr().out


def test_a_report_of_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no run in alfworld is complete"):
        ablation_report.report(out=tmp_path)


@given(st.floats(10, 1e7))
def test_the_axis_has_a_few_round_numbers(last: float) -> None:
    ticks = ablation_report._ticks(last)
    assert 3 <= len(ticks) <= 6
    assert ticks[0] == 0
    assert ticks[-1] <= last
