"""`SCPO-WebShop-v0` as its users meet it. The shared contract is checked in tests/test_conformance.py."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.error import ResetNeeded

import scpo_envs  # noqa: F401  (registers the ids)
from scpo_envs.errors import UnknownGameError
from scpo_envs.webshop.backend import ShopUnavailableError, Visit
from webshop_server.catalogue import Catalogue

PARTS = {"r_type", "r_att", "r_option", "r_price"}


@pytest.fixture
def env() -> Any:
    return gym.make("SCPO-WebShop-v0").unwrapped


def gold_actions(goal: int | str) -> Iterator[str]:
    """The way to the full score: search the very title, choose every option, buy."""
    catalogue = Catalogue.open()
    wanted = catalogue.goals[catalogue.goals.find(goal)]
    yield f"search[{wanted.title}]"
    yield f"click[{wanted.asin.lower()}]"
    yield from (f"click[{value}]" for value in wanted.options.values())
    yield "click[buy now]"


def test_buying_what_was_asked_for_wins(env: Any) -> None:
    for goal in env.game_ids[::200]:
        observation, info = env.reset(options={"goal": goal})
        assert observation.startswith("WebShop [SEP] Instruction: [SEP] " + info["task"])
        *way, last = gold_actions(goal)
        for action in way:
            _, reward, terminated, _, info = env.step(action)
            assert (reward, terminated, info["won"], info["invalid_reason"]) == (0.0, False, False, None), action
            assert not PARTS & set(info)
        _, reward, terminated, truncated, info = env.step(last)
        assert (reward, terminated, truncated, info["won"], info["score"]) == (1.0, True, False, True, 1.0)
        assert set(info) >= PARTS


def test_a_purchase_of_something_else_is_a_loss_with_a_partial_score(env: Any) -> None:
    env.reset(seed=0)
    _, _, _, _, info = env.step("search[table]")
    product = next(c for c in info["admissible_commands"] if c.startswith("click[g"))
    env.step(product)
    _, reward, terminated, _, info = env.step("click[buy now]")
    assert terminated
    assert not info["won"]
    assert 0 <= reward == info["score"] < 1


def test_admissible_commands_are_the_pages_clicks_then_searches(env: Any) -> None:
    _, info = env.reset(seed=0)
    assert all(command.startswith("search[") for command in info["admissible_commands"])
    assert 1 <= len(info["admissible_commands"]) <= 8
    assert info["available_actions"] == {"has_search_bar": True, "clickables": ["search"]}
    _, _, _, _, info = env.step(info["admissible_commands"][0])
    clickables = info["available_actions"]["clickables"]
    assert info["admissible_commands"] == [f"click[{target}]" for target in clickables]
    assert "/search_results/" in info["url"]


@pytest.mark.parametrize(
    ("action", "word"),
    [
        ("buy now", "search[...] or click[...]"),
        ("click[buy now]", "'buy now'"),
        ("search[]", "search"),
        ("click[search]", "query"),
        ("", "search[...]"),
        ("\ud800", "search[...]"),
    ],
)
def test_an_action_that_does_nothing_says_why(env: Any, action: str, word: str) -> None:
    before, _ = env.reset(seed=0)
    observation, reward, terminated, _, info = env.step(action)
    assert (observation, reward, terminated, info["valid_action"]) == (before, 0.0, False, False)
    assert word in info["invalid_reason"]


def test_quirks_open_the_originals_back_doors() -> None:
    for quirks, valid in ((False, False), (True, True)):
        env = gym.make("SCPO-WebShop-v0", quirks=quirks).unwrapped
        env.reset(seed=0)
        env.step("search[table]")
        assert env.step("search[chair]")[4]["valid_action"] is valid


def test_goals_by_index_id_and_category(env: Any) -> None:
    by_index = env.reset(options={"goal": 7})
    id = by_index[1]["task_id"]
    assert env.reset(options={"goal": id}) == env.reset(options={"game": id}) == by_index
    category = by_index[1]["task_type"]
    _, info = env.reset(seed=3, options={"task_type": category})
    assert info["task_type"] == category
    assert env.reset(seed=3, options={"task_type": category})[1]["game"] == info["game"]
    assert env.task_types[info["game"]] == category


@pytest.mark.parametrize("goal", ["none", -1, 10**9, 1.5, "x-00000000"])
def test_an_unknown_goal_is_refused_and_the_episode_goes_on(env: Any, goal: object) -> None:
    env.reset(seed=0)
    before = env.snapshot()
    with pytest.raises(UnknownGameError):
        env.reset(options={"goal": goal})
    assert env.snapshot().shop == before.shop


def test_splits_by_hash_never_overlap_and_the_originals_are_by_index() -> None:
    def ids(split: str | None) -> tuple[str, ...]:
        return gym.make("SCPO-WebShop-v0", split=split).unwrapped.game_ids

    train, valid, test = map(set, (ids("train"), ids("valid"), ids("test")))
    assert train | valid | test == set(ids(None))
    assert len(train) + len(valid) + len(test) == len(ids(None))
    assert ids("original-test") == ids(None)[:500]
    assert ids("original-valid") == ids(None)[500:1500]
    with pytest.raises(UnknownGameError, match="train"):
        ids("none")


def test_observation_modes() -> None:
    first = {
        mode: gym.make("SCPO-WebShop-v0", observation_mode=mode).unwrapped.reset(options={"goal": 0})[0]
        for mode in ("text", "text_rich", "url")
    }
    assert " [SEP] " in first["text"]
    assert "[button] Search [button_]" in first["text_rich"]
    assert first["url"].endswith("/0")


def test_html_shows_the_page() -> None:
    pytest.importorskip("jinja2", reason="HTML needs the extra `server`")
    html, info = gym.make("SCPO-WebShop-v0", observation_mode="html").unwrapped.reset(options={"goal": 0})
    assert 'id="search_input"' in html
    assert info["task"][:20] in html


def test_a_snapshot_restores_everything_also_in_another_environment(env: Any) -> None:
    env.reset(seed=1)
    env.step("search[table]")
    snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    here = [env.step("click[next >]"), env.reset()]
    env.restore(snapshot)
    assert [env.step("click[next >]"), env.reset()] == here
    other = gym.make("SCPO-WebShop-v0", split="test").unwrapped
    other.restore(snapshot)
    assert other.step("click[next >]") == here[0]


def test_stepping_without_a_session_is_refused(env: Any) -> None:
    with pytest.raises(ResetNeeded):
        env.step("search[x]")
    goal = env.game_ids[0]
    env.reset(options={"goal": goal})
    for action in gold_actions(goal):
        env.step(action)
    with pytest.raises(ResetNeeded, match="ended"):
        env.step("search[x]")
    env.reset(seed=0)
    with pytest.raises(TypeError, match="int"):
        env.step(3)


def test_a_shop_that_fails_truncates_the_episode_and_keeps_the_group() -> None:
    class Failing:
        """A shop whose second action gets no answer."""

        def __init__(self, shop: Any) -> None:
            self._shop, self._steps = shop, 0

        def __getattr__(self, name: str) -> Any:
            return getattr(self._shop, name)

        def step(self, action: str) -> Visit:
            self._steps += 1
            if self._steps == 2:
                raise ShopUnavailableError("http://host:1 did not answer within 5 s, 3 times")
            visit: Visit = self._shop.step(action)
            return visit

    venv: Any = gym.make_vec("SCPO-WebShop-v0", num_envs=2, group_size=2)
    venv.reset(seed=0)
    (sibling, *_) = venv.get_attr("unwrapped")
    sibling._shop = Failing(sibling._shop)
    for _ in range(15):
        _, _, terminated, truncated, infos = venv.step(["search[table]", "click[back to search]"])
        if infos["_shop_error"].any() if "_shop_error" in infos else False:
            assert truncated[0] and not terminated[0]
            assert "3 times" in infos["shop_error"][0]
    (group,) = [group for group in infos["rollouts"] if group is not None]
    assert [len(rollout) for rollout in group.rollouts] == [2, 15]
    assert group.rollouts[0].truncated


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"shop": "ftp://x"}, "local"),
        ({"observation_mode": "pixels"}, "text_rich"),
        ({"reward": "best"}, "exact"),
        ({"render_mode": "rgb_array"}, "ansi"),
        ({"shop": "http://127.0.0.1:9", "catalogue": "x"}, "catalogue"),
    ],
)
def test_wrong_arguments_fail_when_the_environment_is_made(arguments: dict[str, Any], word: str) -> None:
    from scpo_envs.webshop.env import WebShopEnv

    with pytest.raises(ValueError, match=word):
        WebShopEnv(**arguments)


def test_a_folder_that_is_no_catalogue_is_refused(tmp_path: Any) -> None:
    with pytest.raises(Exception, match=str(tmp_path)):
        gym.make("SCPO-WebShop-v0", catalogue=tmp_path)


def test_rendering_shows_the_last_exchange_one_text_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    env = gym.make("SCPO-WebShop-v0", render_mode="ansi")
    observation, info = env.reset(seed=0)
    assert env.render() == observation.replace(" [SEP] ", "\n")
    search = info["admissible_commands"][0]
    observation, *_ = env.step(search)
    assert env.render() == f"> {search}\n" + observation.replace(" [SEP] ", "\n")

    human = gym.make("SCPO-WebShop-v0", render_mode="human")
    human.reset(seed=0)
    human.step(search)
    assert capsys.readouterr().out.startswith("WebShop\nInstruction:\n")
