"""What is released: a wheel and a source distribution, complete, small, and working in an environment of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import scpo_envs
from scpo_envs.rollouts import read_groups

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
LIMIT = 10_000_000


def call(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both distributions, the wheel built from the unpacked source distribution, as indices ask."""
    out = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "build", "--outdir", out, ROOT)
    return out


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (path,) = dist.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a fresh environment that holds the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    call(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    return programs


def test_both_are_small_and_pass_twines_check(dist: Path) -> None:
    names = sorted(path.name for path in dist.iterdir())
    version = scpo_envs.__version__
    assert names == [f"scpo_envs-{version}-py3-none-any.whl", f"scpo_envs-{version}.tar.gz"]
    assert all(path.stat().st_size < LIMIT for path in dist.iterdir())
    call(sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir())


def test_the_wheel_holds_the_packages_with_all_their_data_and_nothing_else(wheel: Path) -> None:
    shipped = set(zipfile.ZipFile(wheel).namelist())
    tracked = call("git", "ls-files", "scpo_envs", "webshop_server", "agents", cwd=ROOT).splitlines()
    moved = {"agents/scpo_agents/": "scpo_agents/", "agents/recipes/": "scpo_agents/recipes/"}
    for path in tracked:
        for before, after in moved.items():
            path = after + path.removeprefix(before) if path.startswith(before) else path
        assert path in shipped, path
    assert {name.split("/")[0] for name in shipped} == {
        "scpo_envs",
        "webshop_server",
        "scpo_agents",
        f"scpo_envs-{scpo_envs.__version__}.dist-info",
    }
    for package in ("scpo_envs", "webshop_server", "scpo_agents"):
        assert f"{package}/py.typed" in shipped
    assert not [name for name in shipped if "__pycache__" in name or name.endswith((".pyc", ".orig"))]


def test_its_metadata_says_what_pip_needs(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
    metadata = message_from_bytes(archive.read(name))
    assert metadata["Version"] == scpo_envs.__version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
    base = [one for one in metadata.get_all("Requires-Dist", []) if "extra ==" not in one]
    assert len(base) < 10, base


def test_the_source_distribution_holds_what_building_and_testing_take(dist: Path) -> None:
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "CITATION.cff", "docs/index.md", "docs/conf.py")
    assert [
        name
        for name in (*wanted, "tests/test_packaging.py", "agents/recipes/alfworld-scorer-scpo.yaml")
        if name not in names
    ] == []
    assert not [name for name in names if name.startswith((".venv", "runs/", "docs/_build", ".ci"))]


def test_a_fresh_environment_rolls_out_groups(installed: Path, tmp_path: Path) -> None:
    out = call(installed / "scpo", "rollout", "--groups", "2", "--show", "1", "--out", "groups.jsonl", cwd=tmp_path)
    assert "2 groups, 16 rollouts" in out
    groups = list(read_groups(tmp_path / "groups.jsonl"))
    assert [len(group) for group in groups] == [8, 8]
    shop = ("rollout", "SCPO-WebShop-v0", "--policy", "random", "--groups", "1", "--out", "shop.jsonl")
    assert "1 groups, 8 rollouts" in call(installed / "scpo", *shop, cwd=tmp_path)


def test_a_fresh_environment_has_every_command_and_names_the_missing_extra(installed: Path, tmp_path: Path) -> None:
    overview = call(installed / "scpo", "--help", cwd=tmp_path)
    for command in ("rollout", "play", "games", "shop", "train", "plot", "completion"):
        assert f"\n  {command}" in overview
    assert "not available" not in overview
    done = subprocess.run(
        [installed / "scpo", "train", "alfworld-scorer-scpo"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "pip install 'scpo-envs[train]'" in done.stderr


def test_a_fresh_environment_finds_the_bundled_recipes(installed: Path, wheel: Path, tmp_path: Path) -> None:
    code = "import json; from scpo_agents.recipe import bundled_recipes; print(json.dumps(sorted(bundled_recipes())))"
    found = json.loads(call(installed / "python", "-c", code, cwd=tmp_path))
    shipped = [Path(name) for name in zipfile.ZipFile(wheel).namelist() if name.startswith("scpo_agents/recipes/")]
    assert found == sorted(path.stem for path in shipped)
    assert "alfworld-scorer-scpo" in found
