"""Ids and arguments of environments, as commands and recipes take them."""

from __future__ import annotations

from collections.abc import Iterator

import gymnasium
import pytest

from scpo_envs.registration import check_arguments, parameters
from tests.toy import ToyEnv


@pytest.fixture
def anything() -> Iterator[str]:
    """An environment that takes any argument."""

    def make(**arguments: object) -> ToyEnv:
        return ToyEnv()

    gymnasium.register("TakesAll-v0", entry_point=make)
    yield "TakesAll-v0"
    del gymnasium.registry["TakesAll-v0"]


def test_the_arguments_are_those_of_the_class_and_the_step_limit() -> None:
    known = parameters("SCPO-ALFWorld-v0")
    assert known is not None
    assert {"split", "data", "dialect", "expert", "max_episode_steps"} <= known
    check_arguments("SCPO-ALFWorld-v0", ["split", "max_episode_steps"])


def test_a_package_before_a_colon_is_imported() -> None:
    assert parameters("scpo_envs:SCPO-WebShop-v0") == parameters("SCPO-WebShop-v0")


def test_an_environment_that_takes_anything_takes_anything(anything: str) -> None:
    assert parameters(anything) is None
    check_arguments(anything, ["whatever"])


@pytest.mark.parametrize("env", ["NoSuch-v0", "SCPO-ALFWorld-v9", "", "nonsense"])
def test_an_unknown_id_names_those_there_are(env: str) -> None:
    with pytest.raises(ValueError, match="there are SCPO-ALFWorld-v0, SCPO-WebShop-v0, and those of other packages"):
        parameters(env)


@pytest.mark.parametrize("env", ["no_such_package:Guess-v0", ":Guess-v0", "a b:Guess-v0"])
def test_a_package_that_cannot_be_imported_is_named(env: str) -> None:
    with pytest.raises(ValueError, match="cannot be imported"):
        parameters(env)


def test_an_unknown_argument_names_the_nearest_and_all() -> None:
    with pytest.raises(ValueError, match=r"no argument 'splt' \(did you mean 'split'\?\); it has .*dialect"):
        check_arguments("SCPO-ALFWorld-v0", ["splt"])
    with pytest.raises(ValueError, match="no argument 'zzz'; it has"):
        check_arguments("SCPO-ALFWorld-v0", ["zzz"])
