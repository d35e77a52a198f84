from __future__ import annotations

import json
import re
from pathlib import Path

from scpo_envs.inspect.curves import HEIGHT, POINTS, WIDTH, Curve, is_headline, number, read_curves


def test_curves_are_read_from_a_damaged_file_too(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = [{"iteration": i, "env_steps": i, "success": i / 10, "time/total": 2, "note": "x"} for i in range(5)]
    text = "\n".join(json.dumps(line) for line in lines)
    path.write_text(f'{text}\n[1]\n{{"iteration": true, "success": 9}}\n{{"iteration": 5, "success": NaN}}\n{{"iterat')
    curves = {curve.name: curve for curve in read_curves(path)}
    assert set(curves) == {"success", "time/total"}
    assert list(curves["success"].values) == [0, 0.1, 0.2, 0.3, 0.4]
    assert read_curves(tmp_path / "nothing") == []


def test_a_curve_is_drawn_inside_its_box_and_ends_with_its_last_value() -> None:
    count = 10 * POINTS + 3
    curve = Curve("x", list(range(count)), [float(value % 7) for value in range(count)])
    points = [tuple(map(float, point.split(","))) for point in re.split("[ML]", curve.path)[1:]]
    assert len(points) <= POINTS
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
    assert points[-1][0] == WIDTH


def test_one_value_and_equal_values_are_drawn() -> None:
    assert Curve("x", [3], [0.5]).path == f"M0.0,{HEIGHT}.0"
    assert "nan" not in Curve("x", [1, 2], [0.5, 0.5]).path


def test_times_and_kinds_of_task_come_second() -> None:
    names = ["success", "success/pick", "eval/a/success", "eval/a/success/pick", "time/act", "update/kl"]
    assert [name for name in names if is_headline(Curve(name, [1], [1]))] == ["success", "eval/a/success", "update/kl"]


def test_numbers_are_short() -> None:
    assert [number(value) for value in (0, 1, 0.123456, 12345.6, -1e-5)] == ["0", "1", "0.123", "12,346", "-1e-05"]
