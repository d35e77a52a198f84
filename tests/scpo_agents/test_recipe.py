"""Recipes: what is read, merged and refused, with the name of the key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scpo_agents.config import TrainConfig
from scpo_agents.recipe import ConfigError, agent_settings, load_config, parse_config, plain
from scpo_agents.scorer.config import ScorerConfig

pytest.importorskip("yaml", reason="recipes are YAML: pip install 'scpo-envs[train]'")

RECIPES = sorted((Path(__file__).parents[2] / "agents" / "recipes").glob("*.yaml"))


def written(folder: Path, text: str) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(text)
    return path


def test_without_a_recipe_all_is_default() -> None:
    assert load_config(None) == TrainConfig()


def test_sections_are_filled_and_overridden(tmp_path: Path) -> None:
    recipe = written(tmp_path, "update: {lr: 1e-4, iterations: 7}\nevaluate: {splits: [valid_seen]}\n")
    config = load_config(recipe, ["update.iterations=9", "evaluate.games=5", "out=runs/x", "env.data=/data"])
    assert (config.update.lr, config.update.iterations) == (1e-4, 9)
    assert (config.evaluate.splits, config.evaluate.games) == (("valid_seen",), 5)
    assert config.out == Path("runs/x")
    assert config.env.arguments == {"data": "/data"}


def test_what_a_section_does_not_name_belongs_to_environment_estimator_and_agent() -> None:
    config = load_config(None, ["env.dialect=v0.3", "advantage.order=reverse", "agent.width=8"])
    assert config.env.arguments == {"dialect": "v0.3"}
    assert config.advantage.options == {"order": "reverse"}
    assert agent_settings(config) == ScorerConfig(width=8)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("updaet.lr=1", "unknown key 'updaet': did you mean 'update'"),
        ("update.learning_rate=1", "unknown key 'update.learning_rate'"),
        ("env.dta=real", "unknown key 'env.dta': did you mean 'data'"),
        ("env.id=NoSuchWorld-v0", "NoSuchWorld"),
        ("agent.widht=3", "unknown key 'agent.widht': did you mean 'width'"),
        ("agent.name=oracle", "agent.name='oracle' is unknown"),
        ("agent.width=0", "agent.width must be at least 1"),
        ("advantage.estimator=magic", "estimator='magic' is unknown"),
        ("advantage.odrer=reverse", "odrer"),
        ("advantage.gamma=2", "gamma must be in"),
        ("update.lr=fast", "update.lr must be float, not 'fast'"),
        ("update.epochs=1.5", "update.epochs must be int, not 1.5"),
        ("update.epochs=true", "update.epochs must be int, not True"),
        ("update.average=word", "update.average='word' is unknown: use one of 'step'"),
        ("update.minibatch=0", "update.minibatch must be at least 1, not 0"),
        ("seed=-1", "seed must be at least 0"),
        ("groups=5", "groups must be a section of keys"),
        ("groups.tasks.more=5", "groups.tasks"),
        ("update.lr", "expected KEY=VALUE"),
        ("update.lr=[", "update.lr"),
    ],
)
def test_a_wrong_key_or_value_is_refused_by_name(override: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(None, [override])
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["- a\n- b\n", "update: [1", "7", b"\xff\xfe\x00"])
def test_a_file_that_is_no_recipe_is_refused_by_name(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError, match=r"recipe\.yaml"):
        load_config(path)


def test_an_empty_recipe_is_all_default(tmp_path: Path) -> None:
    assert load_config(written(tmp_path, "")) == TrainConfig()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_that_is_shipped_is_valid(recipe: Path) -> None:
    config = load_config(recipe)
    assert config.out.name == recipe.stem


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "seed": st.integers(0, 2**40),
            "env": st.fixed_dictionaries({"split": st.text()}, optional={"data": st.none() | st.text()}),
            "evaluate": st.fixed_dictionaries({"splits": st.lists(st.text()), "greedy": st.booleans()}),
            "clone": st.fixed_dictionaries({"rollouts": st.none() | st.sampled_from(["a.jsonl", "b/c"])}),
            "update": st.fixed_dictionaries({"lr": st.floats(1e-9, 1), "average": st.sampled_from(["step", "token"])}),
        },
    )
)
def test_plain_settings_come_back_as_they_were(tree: dict[str, object]) -> None:
    config = parse_config(tree)
    assert parse_config(plain(config)) == config


def test_a_bundled_recipe_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_config(Path("alfworld-scorer-scpo")) == load_config(RECIPES[0].parent / "alfworld-scorer-scpo.yaml")
    (tmp_path / "alfworld-scorer-scpo").write_text("seed: 7\n")  # a file of one's own comes first
    assert load_config(Path("alfworld-scorer-scpo")).seed == 7


def test_an_unknown_recipe_names_those_bundled(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no recipe 'alfworld-scorer'.*alfworld-scorer-scpo"):
        load_config(Path("alfworld-scorer"))
