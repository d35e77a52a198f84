"""Recipes: YAML files and `key=value` overrides as typed settings. A wrong key or value fails with its name."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from scpo_agents.agent import agent_kind
from scpo_agents.config import TrainConfig
from scpo_envs.errors import MissingExtraError, ScpoError
from scpo_envs.registration import parameters

T = TypeVar("T")


class ConfigError(ScpoError, ValueError):
    """Raised when a recipe or an override holds an unknown key or an unfit value; the message names the key."""


def load_config(recipe: Path | None, overrides: Iterable[str] = ()) -> TrainConfig:
    """Read a recipe, and apply overrides such as `update.lr=0.002` or `env.split=train`.

    Args:
        recipe: A YAML file with the sections of `TrainConfig`, or the name of a bundled one; None leaves all defaults.
        overrides: `key=value`; the value is read as YAML.

    Raises:
        ConfigError: A key is unknown or a value unfit.
        OSError: The recipe cannot be read.
    """
    yaml = _yaml()
    tree: Any = {}
    if recipe is not None:
        recipe = find_recipe(recipe)
        try:
            tree = yaml.safe_load(recipe.read_text("utf-8")) or {}
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ConfigError(f"{recipe} is not YAML: {error}") from error
        if not isinstance(tree, dict):
            raise ConfigError(f"{recipe} must hold sections such as `update:`, not {tree!r:.60}")
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise ConfigError(f"expected KEY=VALUE, such as update.lr=0.002, not {override!r}")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"{key}: {text!r} is not YAML: {error}") from error
        _put(tree, key, value)
    config = parse_config(tree)
    _check_environment(config)
    _check_estimator(config)
    return config


def bundled_recipes() -> dict[str, Path]:
    """The recipes that come with the package, by name: beside its modules, or in a checkout beside the package."""
    package = Path(__file__).parent
    files = [*package.parent.glob("recipes/*.yaml"), *package.glob("recipes/*.yaml")]
    return {file.stem: file for file in sorted(files)}


def find_recipe(recipe: Path) -> Path:
    """The file of a recipe: a path, or the name of a bundled one, such as alfworld-scorer-scpo.

    Raises:
        FileNotFoundError: There is neither.
    """
    if recipe.exists():
        return recipe
    bundled = bundled_recipes()
    if str(recipe) not in bundled:
        raise FileNotFoundError(f"no recipe {str(recipe)!r}: no such file, and those bundled are {', '.join(bundled)}")
    return bundled[str(recipe)]


def parse_config(tree: Mapping[str, Any]) -> TrainConfig:
    """Settings from plain sections; environment and estimator are not looked at.

    Raises:
        ConfigError: A key is unknown or a value unfit.
    """
    config = build(TrainConfig, tree)
    agent_settings(config)
    return config


def agent_settings(config: TrainConfig) -> Any:
    """The agent's own settings, as the dataclass it declares.

    Raises:
        ConfigError: The agent, a key or a value is unknown.
    """
    try:
        kind = agent_kind(config.agent.name).config_type()
    except ValueError as error:
        raise ConfigError(str(error)) from error
    return build(kind, config.agent.settings, "agent")


def plain(config: Any) -> dict[str, Any]:
    """Settings as `parse_config` takes them: nested dictionaries of JSON's types."""
    tree: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            tree[field.name] = plain(value)
        elif field.metadata.get("rest"):
            tree |= value
        elif isinstance(value, Path):
            tree[field.name] = str(value)
        else:
            tree[field.name] = list(value) if isinstance(value, tuple) else value
    return tree


def flat(tree: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Nested sections as `section.key`, empty ones left out."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        found |= flat(value, f"{where}{key}.") if isinstance(value, Mapping) else {where + key: value}
    return found


def build(kind: type[T], tree: Any, where: str = "") -> T:
    """Fill a dataclass from a mapping, section by section.

    Args:
        kind: The dataclass.
        tree: The mapping.
        where: The section's key, for messages.

    Raises:
        ConfigError: A key is unknown or a value unfit.
    """
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{where} must be a section of keys, not {tree!r:.60}")
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    rest = next((field.name for field in fields.values() if field.metadata.get("rest")), None)
    values: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{where}.{key}" if where else str(key)
        if key in fields and key != rest:
            values[key] = own = _value(hints[key], value, name)
            least = fields[key].metadata.get("least")
            if least is not None and own is not None and own < least:
                raise ConfigError(f"{name} must be at least {least}, not {own!r}")
        elif rest is not None and isinstance(key, str):
            values.setdefault(rest, {})[key] = value
        else:
            raise ConfigError(unknown_key(name, str(key), [known for known in fields if known != rest]))
    return kind(**values)


def unknown_key(name: str, key: str, known: Iterable[str]) -> str:
    """The message for a key that does not exist, with the one that looks most like it."""
    choices = sorted(known)
    near = get_close_matches(key, choices, 1)
    return f"unknown key {name!r}: " + (f"did you mean {near[0]!r}?" if near else f"there are {', '.join(choices)}")


def _value(hint: Any, value: Any, name: str) -> Any:
    """A value as its field's type wants it."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return build(hint, value, name)
    origin, choices = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return None if value is None else _value(next(one for one in choices if one is not type(None)), value, name)
    if origin is Literal:
        if value not in choices:
            raise ConfigError(f"{name}={value!r} is unknown: use one of {', '.join(map(repr, choices))}")
        return value
    if origin is tuple:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_value(choices[0], item, name) for item in items)
    if hint is float and isinstance(value, int | str) and not isinstance(value, bool):
        try:  # YAML reads 1e-3 as text
            return float(value)
        except ValueError:
            pass
    if hint is Path and isinstance(value, str):
        return Path(value)
    wanted = Mapping if origin is not None else hint
    if wanted is not Any and (not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool)):
        raise ConfigError(f"{name} must be {getattr(wanted, '__name__', wanted)}, not {value!r:.60}")
    return value


def _put(tree: dict[str, Any], key: str, value: Any) -> None:
    *sections, last = key.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"{key}: {section!r} is a value, not a section of keys")
    tree[last] = value


def _check_environment(config: TrainConfig) -> None:
    """Refuse an id that is not registered, and arguments that the environment's class does not name."""
    try:
        known = parameters(config.env.id)
    except ValueError as error:
        raise ConfigError(f"env.id: {error}") from error
    for key in config.env.arguments:
        if known is not None and key not in known:
            raise ConfigError(unknown_key(f"env.{key}", key, {*known, "id", "split", "workers"}))


def _check_estimator(config: TrainConfig) -> None:
    """Refuse an unknown estimator, options it does not have and values out of range."""
    from scpo_envs.credit import advantages

    own = config.advantage
    try:
        advantages([], own.estimator, omega=own.omega, gamma=own.gamma, alpha=own.alpha, **own.options)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"advantage: {error}") from error


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtraError("reading recipes", "train") from error
    return yaml
